import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { textModels } from '../catalog/catalog.ts';
import type { Catalog, TextModel } from '../catalog/catalog-schema.ts';
import type { Provider, ProviderTable } from '../providers/provider.ts';
import { PROVIDER_TABLE } from '../providers/provider-table.ts';
import { ANY_MODEL, servedModel } from '../providers/providers.ts';
import type { ClientCancellation } from '../shared/client-cancellation.ts';
import { failureForLog, UpstreamError } from '../shared/upstream-error.ts';
import { createIdentify, type Identify } from '../streaming/response-identity.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { createHttpUpstream, type UpstreamTimeouts } from './http-upstream.ts';
import { offlineEngine } from './offline.ts';
import type { Upstream } from './upstream.ts';

/** Knows who answers for each model now. */
export type Routing = ReturnType<typeof createRouting>;

/**
 * Finds the upstreams of every text model that are live. The offline engine answers only where no provider is set up at
 * all: among answers of real models it would be taken for one.
 */
export function createRouting(options: {
  catalog: Catalog;
  providers: ReadonlyMap<string, Provider>;
  /** Those that the operator set up; those that are live when absent. */
  set?: ReadonlySet<string>;
  table?: ProviderTable;
  /** The connections to an origin. */
  connect: (origin: string) => Dispatcher;
  timeouts: UpstreamTimeouts;
}) {
  const { catalog, providers, set = new Set(providers.keys()), table, ...calls } = options;
  const upstreams = new Map<string, Upstream[]>();
  /** What judges the answers of a provider's model; kept when it is looked at again who is live. */
  const identifies = new Map<string, Identify>();

  /** Looks again who is live and what each serves; calls under way are not disturbed. */
  function renew(): void {
    for (const model of textModels(catalog)) upstreams.set(model.id, upstreamsFor(model));
  }

  function upstreamsFor(model: TextModel): Upstream[] {
    return liveUpstreams(model, providers).map(({ provider, model }) => {
      const name = `${provider.name} ${model}`;
      const identify = identifies.get(name) ?? createIdentify();
      identifies.set(name, identify);
      return createHttpUpstream({ provider, model, identify, ...calls });
    });
  }

  renew();
  const isOffline = providers.size + set.size === 0;
  /** In the order they are tried; empty when nobody serves the model. */
  const upstreamsOf = ({ id }: TextModel): readonly Upstream[] => {
    const live = upstreams.get(id) ?? [];
    return live.length === 0 && isOffline ? [offlineEngine] : live;
  };
  return {
    renew,
    upstreamsOf,
    /** Tokens of prompt and answer together: those that the provider lists, else the catalog's. */
    contextOf: (model: TextModel): number =>
      upstreamsOf(model)[0]?.contextTokens ?? model.context_length,
    /**
     * The provider's model that answers first. Where no provider is set up at all, the one that the catalog would ask first:
     * there is nothing to compare in the offline engine.
     */
    answersFirst: (model: TextModel): { provider: string; model: string } | undefined =>
      isOffline ? model.upstreams[0] : upstreamsOf(model)[0],
    /** Why nobody serves a model, and which settings would change that; `undefined` when somebody does. */
    unservedReason(model: TextModel): string | undefined {
      if (upstreamsOf(model).length > 0) return undefined;
      return unservedSentence(model, { providers, set, ...(table && { table }) });
    },
  };
}

/** Who of those the catalog names for a model can be called, in their order, and their own names for it. */
export function liveUpstreams(
  { upstreams, input }: TextModel,
  providers: ReadonlyMap<string, Provider>,
): Array<{ provider: Provider; model: string }> {
  return upstreams.flatMap(({ provider: name, model: wanted }) => {
    const provider = providers.get(name);
    if (!provider) return [];
    const beside = upstreams.filter((one) => one.provider === name).map(({ model }) => model);
    const withImages = input.includes('image');
    const model = servedModel(provider, wanted, { beside, withImages });
    return model === undefined ? [] : [{ provider, model }];
  });
}

/** Names the settings that would have a model served which nobody serves. */
export function unservedSentence(
  { id, upstreams }: TextModel,
  {
    providers,
    set,
    table = PROVIDER_TABLE,
  }: {
    providers: ReadonlyMap<string, Provider>;
    set: ReadonlySet<string>;
    table?: ProviderTable;
  },
): string {
  const nobody = `No connected provider serves the model '${id}'.`;
  if (upstreams.length === 0) {
    return `${nobody} The gateway's operator can add upstreams for it in ASKWATCH_CATALOG.`;
  }
  const names = [...new Set(upstreams.map(({ provider }) => provider))];
  const missing = names.filter((name) => !providers.has(name) && !set.has(name));
  const silent = names.filter((name) => !providers.has(name) && set.has(name));
  const lacking = upstreams.flatMap(({ provider: name, model }) => {
    const provider = providers.get(name);
    return provider && model !== ANY_MODEL ? [`${provider.title} does not have ${model}`] : [];
  });
  const settingOf = (name: string) => table[name]?.setting ?? name;
  const todo = [
    ...silent.map((name) => `start the service at ${settingOf(name)} (it does not answer)`),
    ...(missing.length > 0 ? [`set ${alternatives(missing.map(settingOf))}`] : []),
    ...(lacking.length > 0 ? ['correct ASKWATCH_CATALOG'] : []),
  ];
  const found = lacking.length > 0 ? ` ${lacking.join('; ')}.` : '';
  return `${nobody}${found} The gateway's operator can ${alternatives(todo)}.`;
}

/** Several as one reads them: `a, b or c`. */
function alternatives(list: readonly string[]): string {
  return list.length < 2 ? list.join() : `${list.slice(0, -1).join(', ')} or ${list.at(-1)}`;
}

/** Rounds after the first, for upstreams whose failure passes by itself. */
const EXTRA_ROUNDS = 2;
/**
 * The longest wait before the first extra round; twice that before the next. A wait is any part of it, so that clients
 * who failed together do not come back together.
 */
const BACKOFF_MS = 250;
/** Waits that upstreams ask for are kept while the client is on the line, up to this sum. */
const MAX_WISHED_MS = 2_000;

/**
 * Asks the upstreams in order until one answers: those whose circuit is open come last, and a failure that another may do better
 * leads to the next one at once. When all have failed, those whose failure passes by itself are asked again, twice at
 * most and after less than 3 s of waiting in all, unless their circuits are open by then. `attempt` rejects with an `UpstreamError`
 * only while nothing of the answer has reached the client. Throws the client's reason as soon as it has left,
 * and in the end the failure that tells the client most.
 */
export async function askInOrder<T>(options: {
  upstreams: readonly Upstream[];
  circuitBreaker: CircuitBreaker;
  cancellation: Pick<ClientCancellation, 'cancelled' | 'reason' | 'signal'>;
  attempt: (upstream: Upstream) => Promise<T>;
  log: Logger;
  random?: () => number;
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}): Promise<{ upstream: Upstream; answer: T }> {
  const {
    upstreams,
    circuitBreaker,
    cancellation,
    attempt,
    log,
    random = Math.random,
    pause = wait,
  } = options;
  let failures: Map<Upstream, UpstreamError> | undefined;
  let asking = upstreams;
  let leftMs = MAX_WISHED_MS;
  for (let round = 0; ; round += 1) {
    const evenOpen = round === 0;
    let left = asking;
    for (;;) {
      if (cancellation.cancelled) throw cancellation.reason;
      const upstream = circuitBreaker.choose(left, evenOpen);
      if (!upstream) break;
      const asked = circuitBreaker.attempt(upstream);
      try {
        const answer = await attempt(upstream);
        asked.answered();
        return { upstream, answer };
      } catch (error) {
        if (cancellation.cancelled || !(error instanceof UpstreamError)) {
          asked.cancelled();
          throw cancellation.cancelled ? cancellation.reason : error;
        }
        asked.failed(error);
        if (!error.tryNext) throw error;
        left = left.filter((other) => other !== upstream);
        failures ??= new Map();
        failures.set(upstream, error);
        const { provider, model } = upstream;
        log.debug(
          { provider, model, round, ...failureForLog(error) },
          'an upstream did not answer',
        );
      }
    }
    asking = asking.filter((upstream) => passesByItself(failures?.get(upstream), leftMs));
    if (asking.length === 0 || round === EXTRA_ROUNDS) {
      throw mostTelling([...(failures?.values() ?? [])]);
    }
    const wishesMs = asking.map((upstream) => failures?.get(upstream)?.retryAfterMs ?? 0);
    const wishedMs = Math.min(...wishesMs);
    leftMs -= wishedMs;
    await pause(wishedMs + random() * BACKOFF_MS * 2 ** round, cancellation.signal);
  }
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    // The client left, which is checked next.
  }
}

/** Whether asking the same upstream again soon may help. A time-out has cost enough already; an account stays as it is. */
function passesByItself(error: UpstreamError | undefined, leftMs: number): boolean {
  if (error?.retryAfterMs !== undefined) return error.retryAfterMs <= leftMs;
  return error?.kind === 'connection' || error?.kind === 'server';
}

/**
 * Of several failures the one to tell: the earliest time to come back; else one that a repeat may help, of the first
 * choice before others; a refusal of the request by some before one of the gateway's own account, which only its
 * operator can mend.
 */
function mostTelling(failures: UpstreamError[]): Error {
  const rank = ({ kind, retryAfterMs }: UpstreamError) =>
    retryAfterMs !== undefined ? 0 : kind === 'account' ? 3 : kind === 'request' ? 2 : 1;
  const [told] = failures.sort(
    (a, b) => rank(a) - rank(b) || (a.retryAfterMs ?? 0) - (b.retryAfterMs ?? 0),
  );
  return told ?? new Error('There was no upstream to ask.');
}
