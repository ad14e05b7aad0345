import type { ProviderProfile } from './provider-profile.ts';

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

/** A provider that can be called now. */
export interface Provider extends ProviderProfile {
  name: ProviderName;
  /** Absent for Ollama. */
  apiKey?: string;
  /** It is another service than the one of this name, so its models have names of their own. */
  isElsewhere?: true;
  /** What it serves, those with the largest context first; anything the catalog names, where that is not known. */
  served?: readonly ServedModel[];
}

/** A model that a service lists and that can chat. */
export interface ServedModel {
  id: string;
  /** Tokens of prompt and answer together, where the service tells them. */
  contextTokens?: number;
  /** Says of itself that it takes pictures. */
  takesImages: boolean;
}
