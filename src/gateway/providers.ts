import { request } from 'undici';
import { z } from 'zod';
import { TRAITS } from './provider-table.ts';
import type { ProviderTraits } from './provider-traits.ts';

export const PROVIDER_NAMES = [
  'openai',
  'anthropic',
  'gemini',
  'mistral',
  'groq',
  'xai',
  'deepseek',
  'openrouter',
  'ollama',
] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** What the operator gave: a key makes a provider live; Ollama needs none, only to be running, and `false` looks for none. */
export type ProviderSettings = {
  [Name in Exclude<ProviderName, 'ollama'>]?: { apiKey: string; baseUrl?: string };
} & { ollama?: { baseUrl: string } | false };

/** The providers that the operator set up, whether they can be called now or not. */
export function providersSet(settings: ProviderSettings): Set<ProviderName> {
  return new Set(PROVIDER_NAMES.filter((name) => settings[name]));
}

/** A provider that can be called now. */
export interface Provider extends ProviderTraits {
  name: ProviderName;
  /** Absent for Ollama. */
  apiKey?: string;
  /** What it serves, where that is known; anything the catalog names, where it is not. */
  installed?: string[];
}

const OLLAMA_PROBE_MS = 300;

/** The providers that can be called now, by name. Looks once whether Ollama runs, for at most 300 ms. */
export async function findProviders(
  settings: ProviderSettings,
): Promise<Map<ProviderName, Provider>> {
  const live = new Map<ProviderName, Provider>();
  for (const name of PROVIDER_NAMES) {
    if (name === 'ollama') continue;
    const given = settings[name];
    if (!given) continue;
    const traits: ProviderTraits = TRAITS[name];
    live.set(name, {
      ...(name === 'openai' && given.baseUrl ? unlikeOpenai(traits) : traits),
      ...(given.baseUrl && { baseUrl: trimSlash(given.baseUrl) }),
      name,
      apiKey: given.apiKey,
    });
  }
  if (settings.ollama === false) return live;
  const ollama = await findOllama(settings.ollama?.baseUrl ?? TRAITS.ollama.baseUrl);
  if (ollama) live.set('ollama', ollama);
  return live;
}

/** Another service that speaks the OpenAI API knows the older name of the limit at least, and need not know newer fields. */
function unlikeOpenai(traits: ProviderTraits): ProviderTraits {
  return {
    ...traits,
    padsChunks: false,
    parameters: { ...traits.parameters, maxTokensName: 'max_tokens' },
  };
}

const InstalledModels = z.object({ data: z.array(z.object({ id: z.string() })).nullable() });

async function findOllama(address: string): Promise<Provider | undefined> {
  const baseUrl = `${trimSlash(address).replace(/\/v1$/, '')}/v1`;
  try {
    const answer = await request(`${baseUrl}/models`, {
      signal: AbortSignal.timeout(OLLAMA_PROBE_MS),
    });
    const installed = InstalledModels.parse(await answer.body.json())
      .data?.map(({ id }) => id)
      // Embedding models are installed beside the others but cannot chat.
      .filter((id) => !/embed/i.test(id));
    if (answer.statusCode !== 200 || !installed?.length) return undefined;
    return { ...TRAITS.ollama, name: 'ollama', baseUrl, installed };
  } catch {
    // It is not running, or something else is: both mean that there is no Ollama.
    return undefined;
  }
}

/** The provider's name for a model of the catalog, or `undefined` when it does not serve it. */
export function servedModel(provider: Provider, model: string): string | undefined {
  if (!provider.installed) return model;
  if (model === '*') return provider.installed[0];
  return provider.installed.find((id) => id === model || id === `${model}:latest`);
}

function trimSlash(address: string): string {
  return address.replace(/\/+$/, '');
}
