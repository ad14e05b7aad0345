import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { textModels } from '../catalog/catalog.ts';
import type { Catalog } from '../catalog/catalog-schema.ts';
import type { Provider, ProviderTable } from '../providers/provider.ts';
import { ANY_MODEL, findLocal, type ProviderSettings } from '../providers/providers.ts';
import { fetchServedModels } from '../providers/served-models.ts';
import { liveUpstreams } from '../upstreams/routing.ts';

/** Times of fetching lists of models, milliseconds. */
export interface ListTimes {
  /** The longest that the start waits for a list. */
  listMs: number;
  /** Wait after a failure; doubled after each further one, up to `listFreshMs`. */
  listAgainMs: number;
  /** Wait after a success, because the list may change. */
  listFreshMs: number;
}

interface RefreshOptions {
  /** Changed whenever a list is new. */
  providers: Map<string, Provider>;
  table: ProviderTable;
  settings: ProviderSettings;
  catalog: Catalog;
  dispatcher: Dispatcher;
  onChange: () => void;
  times: ListTimes;
  log: Logger;
}

const UNLISTED = 'Could not list models at OPENAI_BASE_URL';

/**
 * Fetches the models of services that use names of their own: another service at `OPENAI_BASE_URL`, and an Ollama. Does so
 * once before it returns, and again later.
 */
export async function refreshServedModels(options: RefreshOptions): Promise<ServedModelsRefresh> {
  const refresh = new ServedModelsRefresh(options);
  await refresh.start();
  return refresh;
}

/** Keeps the lists of served models up to date. */
export class ServedModelsRefresh {
  readonly #options: RefreshOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  #isStopped = false;
  /** Why `OPENAI_BASE_URL` has returned no list yet. */
  #unlistedReason: string | undefined;

  constructor(options: RefreshOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { providers } = this.#options;
    await Promise.all(
      this.#servicesToList().map(async (name) => {
        // `findProviders` has just fetched the list of a local one.
        const isListed = this.#isLocal(name)
          ? providers.get(name)?.served !== undefined
          : await this.#fetch(name);
        this.#scheduleNext(name, isListed);
      }),
    );
  }

  /** Returns sentences for the operator about the names at `OPENAI_BASE_URL`. */
  notes(): string[] {
    const { catalog, providers } = this.#options;
    const names = explainNames(catalog, providers).map(({ text }) => text);
    if (this.#unlistedReason === undefined) return names;
    const failure = `${UNLISTED} (${this.#unlistedReason}). Retrying; using the catalog's model names until then.`;
    return [failure, ...names];
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #servicesToList(): string[] {
    const { providers, table, settings, catalog } = this.#options;
    // A list changes nothing if the catalog names every model.
    const usesAnyModel = textModels(catalog).some(({ upstreams }) =>
      upstreams.some(({ provider, model }) => provider === 'openai' && model === ANY_MODEL),
    );
    const isOpenaiListed = usesAnyModel && providers.get('openai')?.isElsewhere;
    const locals = Object.keys(table).filter(
      (name) => this.#isLocal(name) && (settings[name] || providers.has(name)),
    );
    return [...(isOpenaiListed ? ['openai'] : []), ...locals];
  }

  #isLocal(name: string): boolean {
    return this.#options.table[name]?.local !== undefined;
  }

  /** Returns false if the service returned no list. */
  async #fetch(name: string): Promise<boolean> {
    const { providers, onChange } = this.#options;
    const provider = providers.get(name);
    const previous = JSON.stringify(provider?.served);
    const fresh = this.#isLocal(name)
      ? await this.#fetchFromLocal(name)
      : await this.#fetchFromOpenai(provider);
    if (!fresh || this.#isStopped) return fresh !== undefined;
    providers.set(name, fresh);
    if (JSON.stringify(fresh.served) !== previous) {
      onChange();
      this.#logNames();
    }
    return true;
  }

  async #fetchFromLocal(name: string): Promise<Provider | undefined> {
    const { providers, table, settings, dispatcher, times } = this.#options;
    const profile = providers.get(name) ?? table[name];
    if (!profile) return undefined;
    const provider = { ...profile, name, ...settings[name] };
    return await findLocal(provider, { timeoutMs: times.listMs, dispatcher });
  }

  async #fetchFromOpenai(provider: Provider | undefined): Promise<Provider | undefined> {
    const { dispatcher, times } = this.#options;
    if (!provider) return undefined;
    try {
      const served = await fetchServedModels(provider, { timeoutMs: times.listMs, dispatcher });
      this.#unlistedReason = undefined;
      return { ...provider, served };
    } catch (error) {
      // A list from before still holds.
      if (provider.served === undefined) this.#warnOnce((error as Error).message);
      return undefined;
    }
  }

  #warnOnce(why: string): void {
    if (this.#unlistedReason === why || this.#isStopped) return;
    this.#unlistedReason = why;
    this.#options.log.warn({ why }, UNLISTED);
  }

  #logNames(): void {
    const { catalog, providers, log } = this.#options;
    for (const { isProblem, text } of explainNames(catalog, providers)) {
      log[isProblem ? 'warn' : 'info'](text);
    }
  }

  #scheduleNext(name: string, isListed: boolean, failures = 0): void {
    const { listFreshMs, listAgainMs } = this.#options.times;
    const ms = isListed ? listFreshMs : Math.min(listAgainMs * 2 ** failures, listFreshMs);
    const timer = setTimeout(async () => {
      this.#timers.delete(timer);
      const isListedNow = await this.#fetch(name);
      if (!this.#isStopped) this.#scheduleNext(name, isListedNow, isListed ? 0 : failures + 1);
    }, ms).unref();
    this.#timers.add(timer);
  }
}

/** Explains in sentences how the names at `OPENAI_BASE_URL` differ from the catalog; empty if they don't. Pure. */
export function explainNames(
  catalog: Catalog,
  providers: ReadonlyMap<string, Provider>,
): Array<{ isProblem: boolean; text: string }> {
  const provider = providers.get('openai');
  const { served } = provider ?? {};
  if (!served) return [];
  const isListed = (name: string) => served.some(({ id }) => id === name);
  const models = textModels(catalog);
  /** Catalog ids by the model that answers in place of the named ones, and by a named model that isn't listed. */
  const substitutes = new Map<string, string[]>();
  const missing = new Map<string, string[]>();
  const add = (map: Map<string, string[]>, key: string, id: string) =>
    map.set(key, [...(map.get(key) ?? []), id]);
  for (const model of models) {
    const names = model.upstreams.flatMap((one) => (one.provider === 'openai' ? [one.model] : []));
    // The catalog asks for any model here, so none is missing.
    if (names.every((name) => name === ANY_MODEL)) continue;
    const called = liveUpstreams(model, providers).filter((one) => one.provider === provider);
    for (const one of called) {
      if (!isListed(one.model)) add(missing, one.model, model.id);
      else if (!names.includes(one.model)) add(substitutes, one.model, model.id);
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
    ...[...substitutes].map(([name, ids]) => ({
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
