import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { textModels } from '../catalog/catalog.ts';
import type { Catalog, TextModel } from '../catalog/catalog-schema.ts';
import type { Provider, ProviderTable } from '../providers/provider.ts';
import { PROVIDER_TABLE } from '../providers/provider-table.ts';
import { ANY_MODEL, servedModel } from '../providers/providers.ts';
import { failureForLog, UpstreamError } from '../shared/upstream-error.ts';
import { createIdentifyAnswer, type IdentifyAnswer } from './answer-identity.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { createHttpUpstream, type UpstreamTimeouts } from './http-upstream.ts';
import { offlineEngine } from './offline.ts';
import type { Upstream } from './upstream.ts';

export type Routing = ReturnType<typeof createRouting>;

/**
 * Finds the live upstreams of every text model. The offline engine answers only if no provider is set up at all, because its
 * answers would be mistaken for a real model's.
 */
export function createRouting(options: {
  catalog: Catalog;
  providers: ReadonlyMap<string, Provider>;
  /** Providers that the operator set up; the live ones if absent. */
  set?: ReadonlySet<string>;
  table?: ProviderTable;
  /** Returns the connections to an origin. */
  connect: (origin: string) => Dispatcher;
  timeouts: UpstreamTimeouts;
}) {
  const { catalog, providers, set = new Set(providers.keys()), table, ...calls } = options;
  const upstreams = new Map<string, Upstream[]>();
  /** Identifies the answers of a provider's model; kept when the upstreams are renewed. */
  const identifies = new Map<string, IdentifyAnswer>();

  /** Finds the live upstreams again; calls in progress continue. */
  function renew(): void {
    for (const model of textModels(catalog)) upstreams.set(model.id, upstreamsFor(model));
  }

  function upstreamsFor(model: TextModel): Upstream[] {
    return liveUpstreams(model, providers).map(({ provider, model }) => {
      const name = `${provider.name} ${model}`;
      const identify = identifies.get(name) ?? createIdentifyAnswer();
      identifies.set(name, identify);
      return createHttpUpstream({ provider, model, identify, ...calls });
    });
  }

  renew();
  const isOffline = providers.size + set.size === 0;
  /** Returns the upstreams in the order they are tried; empty if no provider serves the model. */
  const upstreamsOf = ({ id }: TextModel): readonly Upstream[] => {
    const live = upstreams.get(id) ?? [];
    return live.length === 0 && isOffline ? [offlineEngine] : live;
  };
  return {
    renew,
    upstreamsOf,
    /** Returns the tokens of prompt and answer together: the provider's number if it lists one, else the catalog's. */
    contextOf: (model: TextModel): number =>
      upstreamsOf(model)[0]?.contextTokens ?? model.context_length,
    /**
     * Returns the provider's model that answers first. If no provider is set up at all, the one that the catalog would ask first,
     * because the offline engine has nothing to compare.
     */
    answersFirst: (model: TextModel): { provider: string; model: string } | undefined =>
      isOffline ? model.upstreams[0] : upstreamsOf(model)[0],
    /** Explains why no provider serves a model, and which settings would change that; `undefined` if one does. */
    unservedReason(model: TextModel): string | undefined {
      if (upstreamsOf(model).length > 0) return undefined;
      return unservedSentence(model, { providers, set, table });
    },
  };
}

/** Returns the catalog's upstreams of a model that can be called, in order, with the provider's own names. */
export function liveUpstreams(
  { upstreams, input }: TextModel,
  providers: ReadonlyMap<string, Provider>,
): Array<{ provider: Provider; model: string }> {
  return upstreams.flatMap(({ provider: name, model: wanted }) => {
    const provider = providers.get(name);
    if (!provider) return [];
    const alternatives = upstreams.flatMap((one) => (one.provider === name ? [one.model] : []));
    const withImages = input.includes('image');
    const model = servedModel(provider, wanted, { alternatives, withImages });
    return model === undefined ? [] : [{ provider, model }];
  });
}

/** Says which settings would make a provider serve a model. */
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
    ...(missing.length > 0 ? [`set ${eitherOf(missing.map(settingOf))}`] : []),
    ...(lacking.length > 0 ? ['correct ASKWATCH_CATALOG'] : []),
  ];
  const found = lacking.length > 0 ? ` ${lacking.join('; ')}.` : '';
  return `${nobody}${found} The gateway's operator can ${eitherOf(todo)}.`;
}

/** Writes a list as `a, b or c`. */
function eitherOf(list: readonly string[]): string {
  return list.length < 2 ? list.join() : `${list.slice(0, -1).join(', ')} or ${list.at(-1)}`;
}

/** Further rounds for upstreams whose failure may pass by itself. */
const EXTRA_ROUNDS = 2;
/**
 * Longest wait before the first extra round; twice that before the next. The actual wait is a random part of it, so that
 * clients that failed together don't come back together.
 */
const BACKOFF_MS = 250;
/** Longest sum of waits that upstreams ask for, while the client waits as well. */
const MAX_RETRY_AFTER_MS = 2_000;

/**
 * Asks the upstreams in order until one answers. Upstreams with an open circuit come last, and after a failure the next one is
 * asked at once if it may do better. If all fail, those whose failure may pass by itself are asked again, at most twice and
 * with less than 3 s of waiting in all, unless their circuits are open by then. `attempt` may only reject with an
 * `UpstreamError` while nothing of the answer has reached the client. Throws the signal's reason as soon as it aborts, and in
 * the end the failure that helps the client most.
 */
export async function askInOrder<T>(options: {
  upstreams: readonly Upstream[];
  circuitBreaker: CircuitBreaker;
  signal: AbortSignal;
  attempt: (upstream: Upstream) => Promise<T>;
  log: Logger;
  random?: () => number;
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}): Promise<{ upstream: Upstream; answer: T }> {
  const {
    upstreams,
    circuitBreaker,
    signal,
    attempt,
    log,
    random = Math.random,
    pause = wait,
  } = options;
  let failures: Map<Upstream, UpstreamError> | undefined;
  let asking = upstreams;
  let leftMs = MAX_RETRY_AFTER_MS;
  for (let round = 0; ; round += 1) {
    const evenOpen = round === 0;
    let left = asking;
    for (;;) {
      signal.throwIfAborted();
      const upstream = circuitBreaker.choose(left, evenOpen);
      if (!upstream) break;
      const asked = circuitBreaker.attempt(upstream);
      try {
        const answer = await attempt(upstream);
        asked.answered();
        return { upstream, answer };
      } catch (error) {
        if (signal.aborted || !(error instanceof UpstreamError)) {
          asked.cancelled();
          throw signal.aborted ? signal.reason : error;
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
    asking = asking.filter((upstream) => mayPass(failures?.get(upstream), leftMs));
    if (asking.length === 0 || round === EXTRA_ROUNDS) {
      throw mostTelling([...(failures?.values() ?? [])]);
    }
    const waitsMs = asking.map((upstream) => failures?.get(upstream)?.retryAfterMs ?? 0);
    const waitMs = Math.min(...waitsMs);
    leftMs -= waitMs;
    await pause(waitMs + random() * BACKOFF_MS * 2 ** round, signal);
  }
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    // The client left, and the signal is checked next.
  }
}

/** Returns true if the same upstream may answer soon. A timeout has cost enough already, and an account won't change. */
function mayPass(error: UpstreamError | undefined, leftMs: number): boolean {
  if (error?.retryAfterMs !== undefined) return error.retryAfterMs <= leftMs;
  return error?.kind === 'connection' || error?.kind === 'server';
}

/**
 * Chooses the failure to report: the earliest time to come back; else one that a repeat may help, the first upstream's before
 * others; then a refusal of the request; last one of the gateway's own account, which only its operator can fix.
 */
function mostTelling(failures: UpstreamError[]): Error {
  const rank = ({ kind, retryAfterMs }: UpstreamError) =>
    retryAfterMs !== undefined ? 0 : kind === 'account' ? 3 : kind === 'request' ? 2 : 1;
  const [reported] = failures.sort(
    (a, b) => rank(a) - rank(b) || (a.retryAfterMs ?? 0) - (b.retryAfterMs ?? 0),
  );
  return reported ?? new Error('There was no upstream to ask.');
}
