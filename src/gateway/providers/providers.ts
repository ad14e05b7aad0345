import type { Dispatcher } from 'undici';
import type { Provider, ProviderName } from './provider.ts';
import { PROVIDER_NAMES } from './provider.ts';
import type { ProviderProfile } from './provider-profile.ts';
import { PROVIDERS } from './provider-table.ts';
import { fetchServedModels } from './served-models.ts';

/** What the operator gave: a key makes a provider live; Ollama needs none, only to be running, and `false` looks for none. */
export type ProviderSettings = {
  [Name in Exclude<ProviderName, 'ollama'>]?: { apiKey: string; baseUrl?: string };
} & { ollama?: { baseUrl: string } | false };

/** The providers that the operator set up, whether they can be called now or not. */
export function providersSet(settings: ProviderSettings): Set<ProviderName> {
  return new Set(PROVIDER_NAMES.filter((name) => settings[name]));
}

const OLLAMA_PROBE_MS = 300;

/** Where OpenAI itself answers. */
const OPENAI_HOST = 'api.openai.com';

/** The providers that can be called now, by name. Looks once whether Ollama runs, for at most 300 ms. */
export async function findProviders(
  settings: ProviderSettings,
): Promise<Map<ProviderName, Provider>> {
  const live = new Map<ProviderName, Provider>();
  for (const name of PROVIDER_NAMES) {
    if (name === 'ollama') continue;
    const given = settings[name];
    if (!given) continue;
    const traits: ProviderProfile = PROVIDERS[name];
    live.set(name, {
      ...(name === 'openai' && given.baseUrl && !isOpenai(given.baseUrl)
        ? unlikeOpenai(traits)
        : traits),
      ...(given.baseUrl && { baseUrl: trimSlash(given.baseUrl) }),
      ...(name === 'openai' && isElsewhere(given.baseUrl) && { isElsewhere: true }),
      name,
      apiKey: given.apiKey,
    });
  }
  if (settings.ollama === false) return live;
  const ollama = await findOllama(settings.ollama?.baseUrl ?? PROVIDERS.ollama.baseUrl);
  if (ollama) live.set('ollama', ollama);
  return live;
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
    parameters: { ...traits.parameters, maxTokensName: 'max_tokens' },
  };
}

function isElsewhere(baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && new URL(baseUrl).hostname !== OPENAI_HOST;
}

/** An Ollama that answers within so long, with a model that can chat. */
export async function findOllama(
  address: string,
  options: { timeoutMs?: number; dispatcher?: Dispatcher } = {},
): Promise<Provider | undefined> {
  const baseUrl = `${trimSlash(address).replace(/\/v1$/, '')}/v1`;
  const provider: Provider = { ...PROVIDERS.ollama, name: 'ollama', baseUrl };
  try {
    const served = await fetchServedModels(provider, { timeoutMs: OLLAMA_PROBE_MS, ...options });
    return { ...provider, served };
  } catch {
    // It is not running, or something else is: both mean that there is no Ollama.
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
