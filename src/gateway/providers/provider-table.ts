import { anthropicDialect } from './anthropic-dialect.ts';
import { openaiDialect } from './openai-dialect.ts';
import type { CatalogModels, ProviderProfile, ProviderTable } from './provider.ts';

/** A provider that follows the convention in everything; a row says where it differs. */
export const CONVENTION = {
  dialect: openaiDialect,
  keyCheckPath: '/models',
  keyHeader: 'authorization',
  headers: {},
  parts: [],
  maxChoices: 1,
  streamOptions: true,
  padsChunks: false,
  finishReasons: {},
  brokenReasons: [],
  moderatesWith403: false,
  accountRefusals: [],
  maxTokensName: 'max_tokens',
  drop: [],
  maxValues: {},
  rename: {},
  ownStops: false,
  greedyAlone: false,
  dropFromMessages: [],
  developerRole: false,
  strictTurns: false,
  models: [],
} as const satisfies Partial<ProviderProfile>;

/**
 * The providers as their public pages and the errors they are reported to send describe them in November 2026; none was
 * called from here. Values without a source are the convention's, and unverified.
 *
 * Everything about a provider follows from its row: its settings, its place in the shipped catalog, the checks of doctor, and
 * its name in errors. `docs/providers.md` also has a row for each; a test checks that.
 *
 * Models of the catalog were looked up on 2026-11-21, and their figures on 2026-11-23; none was called or measured from here.
 * OpenAI: its deprecation page names these as successors. GPT-6 is newer, but takes no tools over chat completions.
 * Anthropic: "Models overview". Opus 5.5 and Sonnet 5.5 are newer, but think before every answer, out of its length.
 * DeepSeek: "Your first API call"; `deepseek-v4-pro` is answered by the newer Flash for the time being.
 * xAI: "Models" and its May 2026 retirement notice. Google: "What's new in Gemini 3.6" and the guide to 3.8 Flash.
 * Groq: "Deprecations". Mistral: its `-latest` aliases, in client libraries of 2026.
 * Speed and quality: OpenAI's and Google's model pages, Anthropic's "Models overview" (comparative latency), Groq's
 * "Supported models" (tokens a second), xAI's "Models".
 * A name that a provider no longer has is passed over for the next upstream; aliases that move by themselves are taken
 * where a provider has them. An operator's own catalog names others.
 */
export const PROVIDERS = {
  openai: {
    ...CONVENTION,
    title: 'OpenAI',
    setting: 'OPENAI_API_KEY',
    baseUrl: 'https://api.openai.com/v1',
    address: {
      setting: 'OPENAI_BASE_URL',
      about: 'base URL of another service with an OpenAI-compatible API',
    },
    catalog: {
      names: { light: 'gpt-5.6-luna', middle: 'gpt-5.6-terra', best: 'gpt-5.6-sol' },
      takesLongPrompts: true,
      takesImages: true,
      figures: {
        'gpt-5.6-luna': { speed: 8, quality: 5, price: [0.2, 1.2] },
        'gpt-5.6-terra': { speed: 6, quality: 7, price: [2, 12] },
        'gpt-5.6-sol': { speed: 4, quality: 9, price: [5, 30] },
      },
    },
    // Source: OpenAI API reference, chat completions, content parts of user and assistant.
    parts: ['refusal', 'file', 'input_audio'],
    // An upper bound is not in its reference: unverified.
    maxChoices: 128,
    // Source: OpenAI API reference, chat completions, `stream_options.include_obfuscation`.
    padsChunks: true,
    // Source: OpenAI API reference: `max_tokens` is deprecated, and older models take both; `developer` stands for
    // `system` in newer ones, which take both.
    maxTokensName: 'max_completion_tokens',
    developerRole: true,
    models: [
      {
        // Reasoning models: "Unsupported parameter: 'stop' is not supported with this model", and so on for the others.
        // Source: OpenAI API reference, `stop`; errors quoted in huggingface/smolagents#1893, johny-b/llmcomp#69,
        // nextai-translator#1781, TraceApps/nutritrace#115 (gpt-5.6), ChatGPTBox#1062 (gpt-6).
        models: /^(?:openai\/)?(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d))(?!.*-chat)/,
        maxTokensName: 'max_completion_tokens',
        drop: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'],
        ownStops: true,
      },
    ],
  },
  anthropic: {
    ...CONVENTION,
    title: 'Anthropic',
    setting: 'ANTHROPIC_API_KEY',
    baseUrl: 'https://api.anthropic.com/v1',
    catalog: {
      names: { light: 'claude-haiku-5-5', middle: 'claude-sonnet-5', best: 'claude-opus-5' },
      takesLongPrompts: true,
      takesImages: true,
      figures: {
        'claude-haiku-5-5': { speed: 9, quality: 5, price: [0.1, 0.5] },
        'claude-sonnet-5': { speed: 6, quality: 7, price: [2, 10] },
        'claude-opus-5': { speed: 4, quality: 9, price: [5, 25] },
      },
    },
    dialect: anthropicDialect,
    // Source: Claude API reference, "API overview", authentication and versions.
    keyHeader: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
    // Source: Claude API docs, "Errors" (a spend limit is a 400); anthropics/claude-code#66314 for the sentence.
    accountRefusals: [
      { message: /^Your credit balance is too low|^You have reached your/, status: 402 },
    ],
  },
  gemini: {
    ...CONVENTION,
    title: 'Google Gemini',
    setting: 'GEMINI_API_KEY',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    catalog: {
      names: {
        light: 'gemini-3.5-flash-lite',
        middle: 'gemini-3.8-flash',
        best: 'gemini-3.8-flash',
      },
      takesLongPrompts: true,
      takesImages: true,
      figures: {
        // The previous Flash-Lite's price: unverified.
        'gemini-3.5-flash-lite': { speed: 9, quality: 4, price: [0.25, 1.5] },
        'gemini-3.8-flash': { speed: 7, quality: 7, price: [0.75, 3.75] },
      },
    },
    // Source: Gemini API docs, "OpenAI compatibility", audio understanding.
    parts: ['input_audio'],
    // `stream_options` and `n` are in its reference, but whether streams give several choices is unverified. Source:
    // Gemini API reference, "OpenAI compatibility".
    // Streamed tool calls end with "stop" and have no index. Source: googleapis/python-genai#2868.
    // Source: brunnurs/valuenet#12 and others quote the body; a refused key is a 400 here.
    accountRefusals: [{ message: /^API key (?:not valid|not found|expired)/i, status: 401 }],
    // "Unknown name \"frequency_penalty\"". Source: n4ze3m/page-assist#418, BerriAI/litellm#26108.
    drop: ['presence_penalty', 'frequency_penalty'],
  },
  mistral: {
    ...CONVENTION,
    title: 'Mistral',
    setting: 'MISTRAL_API_KEY',
    baseUrl: 'https://api.mistral.ai/v1',
    catalog: {
      names: {
        light: 'mistral-small-latest',
        middle: 'mistral-medium-latest',
        best: 'mistral-large-latest',
      },
      takesLongPrompts: false,
      takesImages: false,
      figures: {
        'mistral-small-latest': { speed: 8, quality: 4, price: [0.1, 0.3] },
        'mistral-medium-latest': { speed: 6, quality: 6, price: [1.5, 7.5] },
        // Newer than the middle one, better, and cheaper by list price.
        'mistral-large-latest': { speed: 5, quality: 7, price: [1.36, 4.18] },
      },
    },
    // `n` is in its reference without an upper bound, and refused with a temperature of 0.
    // A 422 for `include_usage`; the usage comes without it. Source: avante.nvim#2347, dnakov/anon-kode#53.
    streamOptions: false,
    // Reasoning models answer in parts. Source: Mistral API reference, "Chat", finish reasons and content chunks.
    finishReasons: { model_length: 'length' },
    brokenReasons: ['error'],
    // Source: Mistral API reference, "Chat": `random_seed` stands for `seed`, and nothing else is taken ("Extra
    // inputs are not permitted").
    rename: { seed: 'random_seed' },
    drop: ['user'],
    // Source: SillyTavern#4856, measured: 1.5 is the most.
    maxValues: { temperature: 1.5 },
    // "top_p must be 1 when using greedy sampling". Source: DevoxxGenieIDEAPlugin#338.
    greedyAlone: true,
    // Source: nomtek/mistralai_client_dart#44.
    dropFromMessages: ['name'],
    // "Unexpected role 'system' after role 'assistant'", "Expected last role User or Tool". Source:
    // swarmauri-sdk#162, smolagents#757.
    strictTurns: true,
  },
  groq: {
    ...CONVENTION,
    title: 'Groq',
    setting: 'GROQ_API_KEY',
    baseUrl: 'https://api.groq.com/openai/v1',
    catalog: {
      names: {
        light: 'openai/gpt-oss-20b',
        middle: 'openai/gpt-oss-120b',
        best: 'openai/gpt-oss-120b',
      },
      takesLongPrompts: false,
      takesImages: false,
      figures: {
        'openai/gpt-oss-20b': { speed: 10, quality: 3, price: [0.075, 0.3] },
        'openai/gpt-oss-120b': { speed: 9, quality: 5, price: [0.15, 0.6] },
      },
    },
    // Source: Groq API reference: `stream_options` is taken.
    // Source: Groq docs, "OpenAI compatibility", currently unsupported features; `n` must be 1.
    drop: ['logprobs', 'logit_bias', 'top_logprobs'],
    dropFromMessages: ['name'],
  },
  xai: {
    ...CONVENTION,
    title: 'xAI',
    setting: 'XAI_API_KEY',
    baseUrl: 'https://api.x.ai/v1',
    catalog: {
      names: { light: 'grok-4.3', middle: 'grok-4.3', best: 'grok-4.6' },
      takesLongPrompts: true,
      takesImages: false,
      figures: {
        'grok-4.3': { speed: 7, quality: 6, price: [1.25, 2.5] },
        'grok-4.6': { speed: 5, quality: 8, price: [2, 6] },
      },
    },
    // More than one is known to work, an upper bound is not known: unverified beyond a few.
    maxChoices: 8,
    // "Incorrect API key provided" is a 400 here. Source: continuedev/continue#10778.
    accountRefusals: [{ message: /^Incorrect API key/, status: 401 }],
    // All present models: "Model grok-4.6 does not support parameter presencePenalty". Source: NativeTavern#83.
    drop: ['presence_penalty', 'frequency_penalty'],
    models: [
      { models: /non-reasoning/ },
      // Source: xAI docs, "Reasoning": presencePenalty, frequencyPenalty and stop are errors with reasoning models.
      { models: /^/, ownStops: true },
    ],
  },
  deepseek: {
    ...CONVENTION,
    title: 'DeepSeek',
    setting: 'DEEPSEEK_API_KEY',
    baseUrl: 'https://api.deepseek.com',
    catalog: {
      names: { light: 'deepseek-flash', middle: 'deepseek-flash', best: 'deepseek-v4-pro' },
      takesLongPrompts: true,
      takesImages: false,
      figures: {
        'deepseek-flash': { speed: 7, quality: 6, price: [0.14, 0.28] },
        // Answered by the Flash, and billed as it, for the time being.
        'deepseek-v4-pro': { speed: 7, quality: 6, price: [0.14, 0.28] },
      },
    },
    // "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`". Source: theia#15144.
    // "interrupted due to insufficient resource of the inference system"; `stream_options` is taken, `n` is not known,
    // and parameters that thinking does not heed are no error. Source: DeepSeek API docs, "Create chat completion".
    brokenReasons: ['insufficient_system_resource'],
  },
  openrouter: {
    ...CONVENTION,
    title: 'OpenRouter',
    setting: 'OPENROUTER_API_KEY',
    baseUrl: 'https://openrouter.ai/api/v1',
    // The list needs no key. Source: its API reference, "Get current API key".
    keyCheckPath: '/key',
    catalog: {
      names: { light: 'openrouter/auto', middle: 'openrouter/auto', best: 'openrouter/auto' },
      takesLongPrompts: true,
      takesImages: false,
      figures: {},
    },
    // Source: OpenRouter docs, "PDF inputs" and "Audio inputs".
    parts: ['file', 'input_audio'],
    // Source: OpenRouter docs, "Errors and debugging": errors also come with a 200, in mid-stream as a chunk with a
    // finish reason; a 403 is flagged input. Parameters a model does not take are ignored there.
    brokenReasons: ['error'],
    moderatesWith403: true,
  },
  ollama: {
    ...CONVENTION,
    title: 'Ollama',
    setting: 'OLLAMA_BASE_URL',
    // Source: Ollama docs, "OpenAI compatibility": `stream_options` is taken, `n` is not.
    baseUrl: 'http://127.0.0.1:11434',
    address: {
      setting: 'OLLAMA_BASE_URL',
      about: 'URL of a running Ollama; it is found automatically on its default port',
    },
    local: { howToStart: 'Start it and pull a model: ollama pull llama3.2' },
    catalog: {
      names: { light: '*', middle: '*', best: '*' },
      takesLongPrompts: true,
      takesImages: false,
      figures: {},
    },
  },
} as const satisfies Record<string, ProviderProfile & { catalog: CatalogModels }>;

/** The table for code that knows no provider by name. */
export const PROVIDER_TABLE: ProviderTable = PROVIDERS;

export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[];
