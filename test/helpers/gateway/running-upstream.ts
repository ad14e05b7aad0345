import { Agent } from 'undici';
import { onTestFinished } from 'vitest';
import type { ChatCompletionChunk, ChatRequest } from '../../../src/contracts/gateway.ts';
import type { Provider } from '../../../src/gateway/providers/provider.ts';
import type { ProviderName } from '../../../src/gateway/providers/provider-table.ts';
import { PROVIDERS } from '../../../src/gateway/providers/provider-table.ts';
import {
  createHttpUpstream,
  type UpstreamTimeouts,
} from '../../../src/gateway/upstreams/http-upstream.ts';
import type { Upstream } from '../../../src/gateway/upstreams/upstream.ts';

/** A provider of the table, as it is, but at another address. */
export function providerAt(name: ProviderName, url: string, apiKey?: string): Provider {
  return { ...PROVIDERS[name], name, baseUrl: `${url}/v1`, ...(apiKey && { apiKey }) };
}

/** A model of a provider, without the gateway around it. */
export function startUpstream(
  provider: Provider,
  model: string,
  timeouts: Partial<UpstreamTimeouts> = {},
): Upstream {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  return createHttpUpstream({
    provider,
    model,
    connect: () => agent,
    timeouts: { answerMs: 45_000, firstChunkMs: 45_000, stallMs: 45_000, ...timeouts },
  });
}

/** The whole answer, with nobody who leaves. */
export const complete = (upstream: Upstream, request: ChatRequest) =>
  upstream.complete(request, new AbortController().signal);

/** All chunks of a streamed answer. */
export async function stream(
  upstream: Upstream,
  request: ChatRequest,
): Promise<ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = [];
  const { signal } = new AbortController();
  for await (const chunk of upstream.stream({ ...request, stream: true }, signal)) {
    chunks.push(chunk);
  }
  return chunks;
}
