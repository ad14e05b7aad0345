import type { ParameterRules, ProviderProfile } from './provider-profile.ts';

const parameters: ParameterRules = {
  maxTokensName: 'max_tokens',
  drop: [],
  maxValues: {},
  rename: {},
  ownStops: false,
  greedyAlone: false,
  dropFromMessages: [],
  developerRole: false,
  strictTurns: false,
};

const CONVENTION = {
  dialect: 'openai',
  keyHeader: 'authorization',
  headers: {},
  parts: [],
  maxChoices: 1,
  streamOptions: true,
  padsChunks: false,
  repairStreams: false,
  finishReasons: {},
  brokenReasons: [],
  moderatesWith403: false,
  accountRefusals: [],
  parameters,
  models: [],
} as const satisfies Partial<ProviderProfile>;

/**
 * The providers as their public pages and the errors they are reported to send describe them in November 2026; none was
 * called from here. What stands under no source is the convention's, and unverified.
 */
export const PROVIDERS = {
  openai: {
    ...CONVENTION,
    title: 'OpenAI',
    setting: 'OPENAI_API_KEY',
    baseUrl: 'https://api.openai.com/v1',
    // Source: OpenAI API reference, chat completions, content parts of user and assistant.
    parts: ['refusal', 'file', 'input_audio'],
    // An upper bound is not in its reference: unverified.
    maxChoices: 128,
    // Source: OpenAI API reference, chat completions, `stream_options.include_obfuscation`.
    padsChunks: true,
    // Source: OpenAI API reference: `max_tokens` is deprecated, and older models take both; `developer` stands for
    // `system` in newer ones, which take both.
    parameters: { ...parameters, maxTokensName: 'max_completion_tokens', developerRole: true },
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
    dialect: 'anthropic',
    // Source: Claude API reference, "API overview", authentication and versions.
    keyHeader: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
    repairStreams: true,
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
    // Source: Gemini API docs, "OpenAI compatibility", audio understanding.
    parts: ['input_audio'],
    // `stream_options` and `n` are in its reference, but whether streams give several choices is unverified. Source:
    // Gemini API reference, "OpenAI compatibility".
    // Streamed tool calls end with "stop" and have no index. Source: googleapis/python-genai#2868.
    repairStreams: true,
    // Source: brunnurs/valuenet#12 and others quote the body; a refused key is a 400 here.
    accountRefusals: [{ message: /^API key (?:not valid|not found|expired)/i, status: 401 }],
    parameters: {
      ...parameters,
      // "Unknown name \"frequency_penalty\"". Source: n4ze3m/page-assist#418, BerriAI/litellm#26108.
      drop: ['presence_penalty', 'frequency_penalty'],
    },
  },
  mistral: {
    ...CONVENTION,
    title: 'Mistral',
    setting: 'MISTRAL_API_KEY',
    baseUrl: 'https://api.mistral.ai/v1',
    // `n` is in its reference without an upper bound, and refused with a temperature of 0.
    // A 422 for `include_usage`; the usage comes without it. Source: avante.nvim#2347, dnakov/anon-kode#53.
    streamOptions: false,
    // Reasoning models answer in parts. Source: Mistral API reference, "Chat", finish reasons and content chunks.
    repairStreams: true,
    finishReasons: { model_length: 'length' },
    brokenReasons: ['error'],
    parameters: {
      ...parameters,
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
  },
  groq: {
    ...CONVENTION,
    title: 'Groq',
    setting: 'GROQ_API_KEY',
    baseUrl: 'https://api.groq.com/openai/v1',
    // Source: Groq API reference: `stream_options` is taken.
    parameters: {
      ...parameters,
      // Source: Groq docs, "OpenAI compatibility", currently unsupported features; `n` must be 1.
      drop: ['logprobs', 'logit_bias', 'top_logprobs'],
      dropFromMessages: ['name'],
    },
  },
  xai: {
    ...CONVENTION,
    title: 'xAI',
    setting: 'XAI_API_KEY',
    baseUrl: 'https://api.x.ai/v1',
    // More than one is known to work, an upper bound is not known: unverified beyond a few.
    maxChoices: 8,
    // "Incorrect API key provided" is a 400 here. Source: continuedev/continue#10778.
    accountRefusals: [{ message: /^Incorrect API key/, status: 401 }],
    parameters: {
      ...parameters,
      // All present models: "Model grok-4.6 does not support parameter presencePenalty". Source: NativeTavern#83.
      drop: ['presence_penalty', 'frequency_penalty'],
    },
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
    // "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`". Source: theia#15144.
    // "interrupted due to insufficient resource of the inference system"; `stream_options` is taken, `n` is not known,
    // and parameters that thinking does not heed are no error. Source: DeepSeek API docs, "Create chat completion".
    repairStreams: true,
    brokenReasons: ['insufficient_system_resource'],
  },
  openrouter: {
    ...CONVENTION,
    title: 'OpenRouter',
    setting: 'OPENROUTER_API_KEY',
    baseUrl: 'https://openrouter.ai/api/v1',
    // Source: OpenRouter docs, "PDF inputs" and "Audio inputs".
    parts: ['file', 'input_audio'],
    // Source: OpenRouter docs, "Errors and debugging": errors also come with a 200, in mid-stream as a chunk with a
    // finish reason; a 403 is flagged input. Parameters a model does not take are ignored there.
    repairStreams: true,
    brokenReasons: ['error'],
    moderatesWith403: true,
  },
  ollama: {
    ...CONVENTION,
    title: 'Ollama',
    setting: 'OLLAMA_BASE_URL',
    // Source: Ollama docs, "OpenAI compatibility": `stream_options` is taken, `n` is not.
    baseUrl: 'http://127.0.0.1:11434',
  },
} as const satisfies Record<string, ProviderProfile>;
