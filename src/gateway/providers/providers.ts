import type { Dispatcher } from 'undici';
import type { Provider, ProviderProfile, ProviderTable } from './provider.ts';
import { PROVIDER_TABLE } from './provider-table.ts';
import { fetchServedModels } from './served-models.ts';

/**
 * The operator's settings, by name of the provider. A key makes a provider live. A local one needs no key; the gateway
 * searches for it unless this is `false`.
 */
export type ProviderSettings = Readonly<
  Record<string, { apiKey?: string; baseUrl?: string } | false>
>;

/** Returns the providers that the operator set up, live or not. */
export function configuredProviders(settings: ProviderSettings): Set<string> {
  return new Set(Object.keys(settings).filter((name) => settings[name]));
}

const LOCAL_PROBE_MS = 300;

const OPENAI_HOST = 'api.openai.com';

/** Returns the providers that can be called now, by name. Searches for a local one for at most 300 ms. */
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
      live.set(name, connect({ ...profile, name }, { ...given, apiKey: given.apiKey }));
    }
  }
  return live;
}

/** Adds the operator's key and address to a provider. */
function connect(
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

/** Returns true for OpenAI itself and its regions. Source: OpenAI docs, "Data residency". */
function isOpenai(baseUrl: string): boolean {
  return /(?:^|\.)openai\.com$/i.test(new URL(baseUrl).hostname);
}

/**
 * Removes OpenAI's own rules for another service with its API: such a service knows at least the older name of the limit,
 * and maybe no newer fields, and its model names may mean other models.
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

/** Returns a local provider that lists a chat model in time. Its address may end with `/v1`. */
export async function findLocal(
  { baseUrl: address, ...profile }: Provider,
  options: { timeoutMs?: number; dispatcher?: Dispatcher } = {},
): Promise<Provider | undefined> {
  const provider = { ...profile, baseUrl: `${trimSlash(address).replace(/\/v1$/, '')}/v1` };
  try {
    const served = await fetchServedModels(provider, { timeoutMs: LOCAL_PROBE_MS, ...options });
    return { ...provider, served };
  } catch {
    // It isn't running, or something else is at its address.
    return undefined;
  }
}

/** Any model of a provider that lists its models, in a catalog. */
export const ANY_MODEL = '*';

/**
 * Returns the provider's name for a model of the catalog, or `undefined` if it doesn't serve it. `alternatives` are all names
 * that the catalog has for that model with this provider.
 */
export function servedModel(
  { served, isElsewhere }: Provider,
  wanted: string,
  { alternatives, withImages }: { alternatives: readonly string[]; withImages: boolean },
): string | undefined {
  if (!served) return wanted === ANY_MODEL ? undefined : wanted;
  const listed = (name: string) =>
    served.find(({ id }) => id === name || id === `${name}:latest`)?.id;
  if (wanted !== ANY_MODEL) {
    // Only Ollama's list is sure to be complete, so a name without an alternative is tried anyway.
    return (
      listed(wanted) ?? (isElsewhere && !alternatives.includes(ANY_MODEL) ? wanted : undefined)
    );
  }
  if (isElsewhere && alternatives.some((name) => listed(name) !== undefined)) return undefined;
  const seeing = withImages ? served.find(({ takesImages: sees }) => sees) : undefined;
  return (seeing ?? served[0])?.id;
}

function trimSlash(address: string): string {
  return address.replace(/\/+$/, '');
}
