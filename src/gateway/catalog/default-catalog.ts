import type { ProviderName } from '../providers/provider.ts';
import type { CatalogInput, UpstreamName } from './catalog-schema.ts';

const K = 1024;

/** A provider's own name for a model, by provider in the order they are tried. */
type Tier = Record<ProviderName, string>;

/*
 * Which of a provider's models stands behind a role. Looked up on 2026-11-21, none of them called from here.
 * OpenAI: its deprecation page names these as successors. GPT-6 is newer, but takes no tools over chat completions.
 * Anthropic: "Models overview". Opus 5.5 and Sonnet 5.5 are newer, but think before every answer, out of its length.
 * DeepSeek: "Your first API call"; `deepseek-v4-pro` is answered by the newer Flash for the time being.
 * xAI: "Models" and its May 2026 retirement notice. Google: "What's new in Gemini 3.6" and the guide to 3.8 Flash.
 * Groq: "Deprecations". Mistral: its `-latest` aliases, in client libraries of 2026.
 * A name that a provider no longer has is passed over for the next upstream; aliases that move by themselves are taken
 * where a provider has them. An operator's own catalog names others.
 */
const light: Tier = {
  openai: 'gpt-5.6-luna',
  anthropic: 'claude-haiku-5-5',
  gemini: 'gemini-3.5-flash-lite',
  mistral: 'mistral-small-latest',
  groq: 'openai/gpt-oss-20b',
  xai: 'grok-4.3',
  deepseek: 'deepseek-flash',
  openrouter: 'openrouter/auto',
  ollama: '*',
};
const middle: Tier = {
  openai: 'gpt-5.6-terra',
  anthropic: 'claude-sonnet-5',
  gemini: 'gemini-3.8-flash',
  mistral: 'mistral-medium-latest',
  groq: 'openai/gpt-oss-120b',
  xai: 'grok-4.3',
  deepseek: 'deepseek-flash',
  openrouter: 'openrouter/auto',
  ollama: '*',
};
const best: Tier = {
  anthropic: 'claude-opus-5',
  openai: 'gpt-5.6-sol',
  gemini: 'gemini-3.8-flash',
  mistral: 'mistral-large-latest',
  groq: 'openai/gpt-oss-120b',
  xai: 'grok-4.6',
  deepseek: 'deepseek-v4-pro',
  openrouter: 'openrouter/auto',
  ollama: '*',
};

/** Providers whose models of these tiers take 200K tokens; a local model's context is what its owner gave it. */
const LONG: ProviderName[] = [
  'anthropic',
  'openai',
  'gemini',
  'xai',
  'deepseek',
  'openrouter',
  'ollama',
];

/** Providers whose models of the middle tier accept pictures. */
const SEEING: ProviderName[] = ['openai', 'anthropic', 'gemini'];

/** The address of OpenAI can be another service's, which need not have any of these names. */
function upstreams(tier: Tier, only?: ProviderName[]): UpstreamName[] {
  return (Object.keys(tier) as ProviderName[])
    .filter((provider) => only?.includes(provider) ?? true)
    .flatMap((provider) => {
      const named = { provider, model: tier[provider] };
      return provider === 'openai' ? [named, { provider, model: '*' }] : [named];
    });
}

/**
 * The shipped catalog: nine text and four image models with exactly the contract's context sizes, resolutions and order.
 * Our choice: 8K is 8 x 1024 tokens and so on up to 32K, and 200K is 200,000. Ranks are not written here: they follow from
 * the model that answers, see `models/ranks.ts`, which has to know each one that is named here.
 */
export const defaultCatalog: CatalogInput = {
  models: [
    {
      id: 'fast-8k',
      kind: 'text',
      context_length: 8 * K,
      description: 'Quick answers to everyday questions.',
      upstreams: upstreams(light),
    },
    {
      id: 'balanced-32k',
      kind: 'text',
      context_length: 32 * K,
      description: 'Good answers at a middling price, for conversations that go on.',
      upstreams: upstreams(middle),
    },
    {
      id: 'small-4k',
      kind: 'text',
      context_length: 4 * K,
      description: 'Fast and cheap, for short questions.',
      upstreams: upstreams(light),
    },
    {
      id: 'chat-16k',
      kind: 'text',
      context_length: 16 * K,
      description: 'Cheap, with room for a longer conversation.',
      upstreams: upstreams(light),
    },
    {
      id: 'long-200k-fast',
      kind: 'text',
      context_length: 200_000,
      description: 'Long documents and logs, quickly.',
      upstreams: upstreams(light, LONG),
    },
    {
      id: 'long-200k',
      kind: 'text',
      context_length: 200_000,
      description: 'Long documents and logs, with care.',
      upstreams: upstreams(middle, LONG),
    },
    {
      id: 'long-200k-best',
      kind: 'text',
      context_length: 200_000,
      description: 'High quality at a high cost, for long and hard questions.',
      upstreams: upstreams(best, LONG),
    },
    {
      id: 'best-32k',
      kind: 'text',
      context_length: 32 * K,
      description: 'High quality for hard questions of normal length.',
      upstreams: upstreams(best),
    },
    {
      id: 'vision-16k',
      kind: 'text',
      context_length: 16 * K,
      input: ['text', 'image'],
      description: 'Answers questions about pictures.',
      upstreams: upstreams(middle, SEEING),
    },
    {
      id: 'image-wide',
      kind: 'image',
      resolutions: ['1024x1024', '1792x1024'],
      description: 'Square to wide pictures.',
    },
    {
      id: 'image-small',
      kind: 'image',
      resolutions: ['256x256', '1024x1024'],
      description: 'Small to middle-sized pictures.',
    },
    {
      id: 'image-square',
      kind: 'image',
      resolutions: ['1024x1024'],
      description: 'Square pictures of one size.',
    },
    {
      id: 'image-large',
      kind: 'image',
      resolutions: ['1024x1024', '2048x2048'],
      description: 'Large square pictures.',
    },
  ],
};
