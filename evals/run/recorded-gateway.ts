import type { GatewayClient } from '../../src/clients/gateway.ts';
import type { ChatRequest, Usage } from '../../src/contracts/gateway.ts';

/** Usage as the gateway reported it. */
export interface Used {
  tokens: number;
  /** Undefined where the gateway tells no prices. */
  dollars: number | undefined;
}

/** A gateway that keeps what it was asked, and what that cost. */
export function recordGateway(gateway: GatewayClient) {
  const requests: ChatRequest[] = [];
  const usages: Usage[] = [];
  return {
    requests: requests as readonly ChatRequest[],
    used: (): Used => usedIn(usages),
    client: {
      ...gateway,
      async *stream(...[request, options]: Parameters<GatewayClient['stream']>) {
        requests.push(request);
        let usage: Usage | undefined;
        try {
          for await (const chunk of gateway.stream(request, options)) {
            usage = chunk.usage ?? usage;
            yield chunk;
          }
        } finally {
          if (usage) usages.push(usage);
        }
      },
    } satisfies GatewayClient,
  };
}

/** Sums the usage of several calls. */
export function usedIn(usages: readonly Usage[]): Used {
  const costs = usages.map(({ cost }) => cost).filter((cost) => typeof cost === 'number');
  const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
  return {
    tokens: sum(usages.map(({ total_tokens }) => total_tokens)),
    dollars: costs.length === 0 ? undefined : sum(costs),
  };
}
