import { request } from 'undici';
import { z } from 'zod';

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

/** What the operator gave: a key makes a provider live; Ollama needs none, only to be running. */
export type ProviderSettings = {
  [Name in Exclude<ProviderName, 'ollama'>]?: { apiKey: string; baseUrl?: string };
} & { ollama?: { baseUrl: string } };

/** How a provider differs from the convention. All of it is data; one adapter serves them all. */
export interface ProviderTraits {
  /** Its name as people write it. */
  title: string;
  /** The setting that connects it. */
  setting: string;
  baseUrl: string;
  /** What it calls the limit of the answer's length. */
  maxTokensName: 'max_tokens' | 'max_completion_tokens';
  /** Takes `stream_options`; those that do not send usage in the last chunk by themselves. */
  streamOptions: boolean;
  /** The largest `n`. */
  maxChoices: number;
  /** Parameters it answers with a 400. */
  drop: readonly string[];
  /** Fields of a message it answers with a 400. */
  dropFromMessages: readonly string[];
}

/** A provider that can be called now. */
export interface Provider extends ProviderTraits {
  name: ProviderName;
  /** Absent for Ollama. */
  apiKey?: string;
  /** What it serves, where that is known; anything the catalog names, where it is not. */
  installed?: string[];
}

const plain = {
  maxTokensName: 'max_tokens',
  streamOptions: true,
  maxChoices: 1,
  drop: [],
  dropFromMessages: [],
} as const;

/** As pages on each provider's OpenAI compatibility described it in autumn 2026; none was called from here. */
const TRAITS: Record<ProviderName, ProviderTraits> = {
  openai: {
    ...plain,
    title: 'OpenAI',
    setting: 'OPENAI_API_KEY',
    baseUrl: 'https://api.openai.com/v1',
    // Its newer models refuse `max_tokens`, and its older ones take both.
    maxTokensName: 'max_completion_tokens',
    maxChoices: 128,
  },
  anthropic: {
    ...plain,
    title: 'Anthropic',
    setting: 'ANTHROPIC_API_KEY',
    baseUrl: 'https://api.anthropic.com/v1',
  },
  gemini: {
    ...plain,
    title: 'Google Gemini',
    setting: 'GEMINI_API_KEY',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
  },
  mistral: {
    ...plain,
    title: 'Mistral',
    setting: 'MISTRAL_API_KEY',
    baseUrl: 'https://api.mistral.ai/v1',
    streamOptions: false,
    maxChoices: 128,
  },
  groq: {
    ...plain,
    title: 'Groq',
    setting: 'GROQ_API_KEY',
    baseUrl: 'https://api.groq.com/openai/v1',
    drop: ['logprobs', 'logit_bias', 'top_logprobs'],
    dropFromMessages: ['name'],
  },
  xai: {
    ...plain,
    title: 'xAI',
    setting: 'XAI_API_KEY',
    baseUrl: 'https://api.x.ai/v1',
    maxChoices: 128,
  },
  deepseek: {
    ...plain,
    title: 'DeepSeek',
    setting: 'DEEPSEEK_API_KEY',
    baseUrl: 'https://api.deepseek.com',
  },
  openrouter: {
    ...plain,
    title: 'OpenRouter',
    setting: 'OPENROUTER_API_KEY',
    baseUrl: 'https://openrouter.ai/api/v1',
  },
  ollama: {
    ...plain,
    title: 'Ollama',
    setting: 'OLLAMA_BASE_URL',
    baseUrl: 'http://127.0.0.1:11434',
  },
};

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
    const traits = TRAITS[name];
    live.set(name, {
      ...traits,
      // Another service at that address knows the older name of the limit at least.
      ...(given.baseUrl && { baseUrl: trimSlash(given.baseUrl), maxTokensName: 'max_tokens' }),
      name,
      apiKey: given.apiKey,
    });
  }
  const ollama = await findOllama(settings.ollama?.baseUrl ?? TRAITS.ollama.baseUrl);
  if (ollama) live.set('ollama', ollama);
  return live;
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
