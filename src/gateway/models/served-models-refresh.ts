import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { textModels } from '../catalog/catalog.ts';
import type { Catalog } from '../catalog/catalog-schema.ts';
import type { Provider, ProviderTable } from '../providers/provider.ts';
import { ANY_MODEL, findLocal, type ProviderSettings } from '../providers/providers.ts';
import { fetchServedModels } from '../providers/served-models.ts';
import { liveUpstreams } from '../upstreams/routing.ts';

/** Times of asking, milliseconds. */
export interface ListTimes {
  /** The longest that the start waits for a list. */
  listMs: number;
  /** Until a service is asked again that gave no list; twice that each further time, up to the time below. */
  listAgainMs: number;
  /** Until a service is asked again that gave one: what it serves changes. */
  listFreshMs: number;
}

const UNLISTED = 'Could not list models at OPENAI_BASE_URL';

/**
 * Asks services that serve models under names of their own which those are: another one at `OPENAI_BASE_URL`, and an Ollama.
 * Once before this resolves, and again later; `providers` is changed, and `onChange` called, whenever something is new.
 */
export async function refreshServedModels(options: {
  providers: Map<string, Provider>;
  table: ProviderTable;
  settings: ProviderSettings;
  catalog: Catalog;
  dispatcher: Dispatcher;
  onChange: () => void;
  times: ListTimes;
  log: Logger;
}) {
  const { providers, table, settings, catalog, dispatcher, onChange, times, log } = options;
  const timers = new Set<NodeJS.Timeout>();
  let stopped = false;
  /** Why `OPENAI_BASE_URL` gave no list yet. */
  let unlisted: string | undefined;

  /** Whether it gave a list now. */
  async function ask(name: string): Promise<boolean> {
    const provider = providers.get(name);
    const before = JSON.stringify(provider?.served);
    const fresh = isLocal(name) ? await fetchFromLocal(name) : await fetchFromOpenai(provider);
    if (!fresh || stopped) return fresh !== undefined;
    providers.set(name, fresh);
    if (JSON.stringify(fresh.served) !== before) {
      onChange();
      tell();
    }
    return true;
  }

  const isLocal = (name: string) => table[name]?.local !== undefined;

  async function fetchFromLocal(name: string): Promise<Provider | undefined> {
    const profile = providers.get(name) ?? table[name];
    return profile
      ? await findLocal(
          { ...profile, name, ...settings[name] },
          { timeoutMs: times.listMs, dispatcher },
        )
      : undefined;
  }

  async function fetchFromOpenai(provider: Provider | undefined): Promise<Provider | undefined> {
    if (!provider) return undefined;
    try {
      const served = await fetchServedModels(provider, { timeoutMs: times.listMs, dispatcher });
      unlisted = undefined;
      return { ...provider, served };
    } catch (error) {
      // Known already, it has only not answered this time.
      if (provider.served === undefined) warnOnce((error as Error).message);
      return undefined;
    }
  }

  function warnOnce(why: string) {
    if (unlisted === why || stopped) return;
    unlisted = why;
    log.warn({ why }, UNLISTED);
  }

  function tell() {
    for (const { isProblem, text } of explainNames(catalog, providers)) {
      log[isProblem ? 'warn' : 'info'](text);
    }
  }

  /** Asks again after a while: soon, but ever later, where it gave no list. */
  function later(name: string, isListed: boolean, failures = 0) {
    const ms = isListed
      ? times.listFreshMs
      : Math.min(times.listAgainMs * 2 ** failures, times.listFreshMs);
    const timer = setTimeout(async () => {
      timers.delete(timer);
      const isListedNow = await ask(name);
      if (!stopped) later(name, isListedNow, isListed ? 0 : failures + 1);
    }, ms).unref();
    timers.add(timer);
  }

  const asked: string[] = [];
  // What it lists changes nothing where every model is named.
  const asksForAny = textModels(catalog).some(({ upstreams }) =>
    upstreams.some(({ provider, model }) => provider === 'openai' && model === ANY_MODEL),
  );
  if (asksForAny && providers.get('openai')?.isElsewhere) asked.push('openai');
  asked.push(
    ...Object.keys(table).filter(
      (name) => isLocal(name) && (settings[name] || providers.has(name)),
    ),
  );
  await Promise.all(
    asked.map(async (name) => {
      const isKnown = providers.get(name)?.served !== undefined;
      // A local one was looked for when the providers were.
      later(name, isLocal(name) ? isKnown : await ask(name));
    }),
  );
  return {
    /** What is to be known of the names at `OPENAI_BASE_URL`, in sentences. */
    notes(): string[] {
      const names = explainNames(catalog, providers).map(({ text }) => text);
      return unlisted === undefined
        ? names
        : [
            `${UNLISTED} (${unlisted}). Retrying; using the catalog's model names until then.`,
            ...names,
          ];
    },
    stop(): void {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** What is to be known of the names at `OPENAI_BASE_URL`, in sentences; nothing where all are as the catalog has them. Pure. */
export function explainNames(
  catalog: Catalog,
  providers: ReadonlyMap<string, Provider>,
): Array<{ isProblem: boolean; text: string }> {
  const provider = providers.get('openai');
  const { served } = provider ?? {};
  if (!served) return [];
  const isListed = (name: string) => served.some(({ id }) => id === name);
  const models = textModels(catalog);
  /** Ids of the catalog by the model that stands in, and by a name that is not listed. */
  const standIns = new Map<string, string[]>();
  const missing = new Map<string, string[]>();
  const note = (map: Map<string, string[]>, key: string, id: string) =>
    map.set(key, [...(map.get(key) ?? []), id]);
  for (const model of models) {
    const names = model.upstreams.flatMap((one) => (one.provider === 'openai' ? [one.model] : []));
    // Where only any model is asked for, none stands in for another.
    if (names.every((name) => name === ANY_MODEL)) continue;
    const called = liveUpstreams(model, providers).filter((one) => one.provider === provider);
    for (const one of called) {
      if (!isListed(one.model)) note(missing, one.model, model.id);
      else if (!names.includes(one.model)) note(standIns, one.model, model.id);
    }
  }
  const all = (ids: string[]) =>
    ids.length === models.length && ids.length > 1
      ? `all ${ids.length} text models`
      : ids.join(', ');
  const contextOf = (name: string) => {
    const tokens = served.find(({ id }) => id === name)?.contextTokens;
    return tokens === undefined ? '' : ` (${tokens} tokens of context)`;
  };
  return [
    ...[...standIns].map(([name, ids]) => ({
      isProblem: false,
      text: `OPENAI_BASE_URL does not list the catalog's model names, so ${name}${contextOf(name)} answers for ${all(ids)}.`,
    })),
    ...[...missing].map(([name, ids]) => ({
      isProblem: true,
      text: `OPENAI_BASE_URL does not list ${name}, which the catalog uses for ${all(ids)}. It lists ${some(served)}. Set one of these in ASKWATCH_CATALOG, or "${ANY_MODEL}" for any.`,
    })),
  ];
}

function some(served: readonly { id: string }[]): string {
  const names = served.slice(0, 5).map(({ id }) => id.slice(0, 60));
  return served.length > names.length
    ? `${names.join(', ')} and ${served.length - names.length} more`
    : names.join(', ');
}
