import type { Dispatcher } from 'undici';
import type { Provider, ProviderProfile, ProviderTable } from './provider.ts';
import { PROVIDER_TABLE } from './provider-table.ts';
import { fetchServedModels } from './served-models.ts';

/**
 * What the operator gave, by the names of the table: a key makes a provider live; a local one needs none, only to be
 * running, and is looked for unless it is `false`.
 */
export type ProviderSettings = Readonly<
  Record<string, { apiKey?: string; baseUrl?: string } | false>
>;

/** The providers that the operator set up, whether they can be called now or not. */
export function providersSet(settings: ProviderSettings): Set<string> {
  return new Set(Object.keys(settings).filter((name) => settings[name]));
}

const LOCAL_PROBE_MS = 300;

/** Where OpenAI itself answers. */
const OPENAI_HOST = 'api.openai.com';

/** The providers that can be called now, by name. Checks once whether a local one runs, for at most 300 ms. */
export async function findProviders(
  settings: ProviderSettings,
  table: ProviderTable = PROVIDER_TABLE,
): Promise<Map<string, Provider>> {
  const live = new Map<string, Provider>();
  for (const [name, profile] of Object.entries(table)) {
    const given = settings[name];
    if (profile.local) {
      const found = given === false ? undefined : await findLocal({ ...profile, name, ...given });
      if (found) live.set(name, found);
    } else if (given && given.apiKey !== undefined) {
      live.set(name, connected({ ...profile, name }, { ...given, apiKey: given.apiKey }));
    }
  }
  return live;
}

/** A provider with the operator's key, at the operator's address. */
function connected(
  provider: Provider,
  { apiKey, baseUrl }: { apiKey: string; baseUrl?: string },
): Provider {
  if (baseUrl === undefined) return { ...provider, apiKey };
  const profile =
    provider.name === 'openai' && !isOpenai(baseUrl) ? unlikeOpenai(provider) : provider;
  return {
    ...profile,
    name: provider.name,
    apiKey,
    baseUrl: trimSlash(baseUrl),
    ...(provider.name === 'openai' && isElsewhere(baseUrl) && { isElsewhere: true }),
  };
}

/** OpenAI itself, one of its regions among them. Source: OpenAI docs, "Data residency". */
function isOpenai(baseUrl: string): boolean {
  return /(?:^|\.)openai\.com$/i.test(new URL(baseUrl).hostname);
}

/**
 * Another service that speaks the OpenAI API knows the older name of the limit at least, and need not know newer fields.
 * What a name says of a model holds at OpenAI alone.
 */
function unlikeOpenai(traits: ProviderProfile): ProviderProfile {
  return {
    ...traits,
    padsChunks: false,
    models: [],
    maxTokensName: 'max_tokens',
  };
}

function isElsewhere(baseUrl: string): boolean {
  return new URL(baseUrl).hostname !== OPENAI_HOST;
}

/** A local provider that lists, within so long, a model that can chat. Its address may be with `/v1` or without. */
export async function findLocal(
  { baseUrl: address, ...profile }: Provider,
  options: { timeoutMs?: number; dispatcher?: Dispatcher } = {},
): Promise<Provider | undefined> {
  const provider = { ...profile, baseUrl: `${trimSlash(address).replace(/\/v1$/, '')}/v1` };
  try {
    const served = await fetchServedModels(provider, { timeoutMs: LOCAL_PROBE_MS, ...options });
    return { ...provider, served };
  } catch {
    // It is not running, or something else is: both mean that there is none.
    return undefined;
  }
}

/** In a catalog: whatever model the provider serves, where it is one that lists its own. */
export const ANY_MODEL = '*';

/**
 * The provider's name for a model of the catalog, or `undefined` when it does not serve it. `beside` are all the names that
 * the catalog has for that model with this provider.
 */
export function servedModel(
  { served, isElsewhere }: Provider,
  wanted: string,
  { beside, withImages }: { beside: readonly string[]; withImages: boolean },
): string | undefined {
  if (!served) return wanted === ANY_MODEL ? undefined : wanted;
  const listed = (name: string) =>
    served.find(({ id }) => id === name || id === `${name}:latest`)?.id;
  if (wanted !== ANY_MODEL) {
    // A list need not be complete, but for Ollama's: a name that nothing stands beside is tried.
    return listed(wanted) ?? (isElsewhere && !beside.includes(ANY_MODEL) ? wanted : undefined);
  }
  if (isElsewhere && beside.some((name) => listed(name) !== undefined)) return undefined;
  const seeing = withImages ? served.find(({ takesImages: sees }) => sees) : undefined;
  return (seeing ?? served[0])?.id;
}

function trimSlash(address: string): string {
  return address.replace(/\/+$/, '');
}
