import { z } from 'zod';
import { plainWords } from './plain-words.ts';

/** Paths of the model gateway. Source: gateway contract, "Endpoints". */
export const GatewayPath = {
  models: '/v1/models',
  chatCompletions: '/v1/chat/completions',
  /** Our choice: an addition, see `UsageReport`. */
  usage: '/v1/usage',
} as const;

/**
 * Headers with a key's limits by the minute; a limit that it doesn't have has none. The reset is a time such as `8.64s` or `6m0s`.
 * Our choice, because the contract leaves them open. Source: OpenAI API reference, "Rate limits in headers".
 */
export const LimitHeader = {
  limitRequests: 'x-ratelimit-limit-requests',
  remainingRequests: 'x-ratelimit-remaining-requests',
  resetRequests: 'x-ratelimit-reset-requests',
  limitTokens: 'x-ratelimit-limit-tokens',
  remainingTokens: 'x-ratelimit-remaining-tokens',
  resetTokens: 'x-ratelimit-reset-tokens',
} as const;

/**
 * Our choice: parameters that a model doesn't support are left out and listed in `dropped`, such as `temperature,messages.name`.
 * With `strict: true` the request is refused with a 400 instead.
 */
export const ParameterHeader = {
  dropped: 'x-askwatch-dropped',
  strict: 'x-askwatch-strict',
} as const;

/** The real model, as `provider/model`, each encoded as in a URI. Our choice: the contract's `model` is the id of the catalog. */
export const UPSTREAM_HEADER = 'x-askwatch-upstream';

/** The contract's optional parameters. Source: gateway contract, parameter table. */
export const OPTIONAL_PARAMETERS = [
  'temperature',
  'max_tokens',
  'top_p',
  'n',
  'stream',
  'stop',
  'presence_penalty',
  'frequency_penalty',
] as const;

/** Ranks within a catalog: 1 is the slowest, the plainest or the cheapest. Our choice: the contract ranks models but shows no field. */
export const ModelRanks = z.object({
  speed: z.int().min(1),
  quality: z.int().min(1),
  cost: z.int().min(1),
});
export type ModelRanks = z.infer<typeof ModelRanks>;

/** Provider of models for which the built-in engine answers instead of a language model. */
export const OFFLINE_PROVIDER = 'askwatch';

/** One model of the catalog. Our choice: all fields but the contract's first four are optional, so that other gateways work, too. */
export const Model = z.object({
  id: z.string().min(1),
  object: z.literal('model'),
  /** Unix time, seconds. */
  created: z.int(),
  owned_by: z.string(),
  kind: z.enum(['text', 'image']).optional(),
  /** Tokens of prompt and reply together; text models. */
  context_length: z.int().positive().optional(),
  /** Kinds of content in a message; text models. */
  input: z.array(z.enum(['text', 'image'])).optional(),
  /** Smallest to largest picture, such as `256x256`; image models. */
  resolutions: z.array(z.string().regex(/^\d+x\d+$/)).optional(),
  ranks: ModelRanks.optional(),
  /** The contract's optional parameters that it supports, and `tools` if it does; text models. */
  supported_parameters: z.array(z.string()).optional(),
  description: z.string().optional(),
  /** The provider's own model that is asked first. If the provider lists its context, that is the limit. */
  upstream: z
    .object({ model: z.string(), context_length: z.int().positive().optional() })
    .optional(),
  /** False for a text model that no provider serves now; a chat with it is a 503. */
  available: z.boolean().optional(),
  /** Why it isn't available, and which settings would change that. */
  unavailable_reason: z.string().optional(),
});
export type Model = z.infer<typeof Model>;

export const ModelList = z.object({ object: z.literal('list'), data: z.array(Model) });
export type ModelList = z.infer<typeof ModelList>;

/** Our choice: the contract's three, `developer`, which newer clients send for `system`, and `tool` for results of calls. */
export const Role = z.enum(['user', 'assistant', 'system', 'developer', 'tool']);

/** Our choice: the convention's content parts, because the contract has a model that accepts images. Unnamed fields pass through. */
export const ContentPart = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text'), text: z.string() }),
    z.looseObject({
      type: z.literal('image_url'),
      image_url: z.looseObject({ url: z.string() }),
    }),
    z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
    z.looseObject({ type: z.literal('file'), file: z.looseObject({}) }),
    z.looseObject({
      type: z.literal('input_audio'),
      input_audio: z.looseObject({ data: z.string() }),
    }),
  ],
  {
    error: (issue) =>
      issue.code === 'invalid_union'
        ? 'must be text, image_url, refusal, file or input_audio'
        : undefined,
  },
);
export type ContentPart = z.infer<typeof ContentPart>;

/** Checks items without a copy and reports only the first bad one, because reports of a million would cost more than the items. */
function listOf<Item extends z.ZodType>(item: Item): z.ZodArray<Item> {
  const list = z.array(z.unknown()).check(({ value, issues }) => {
    for (const [at, input] of value.entries()) {
      // The caller's error map isn't passed down to here.
      const { error } = item.safeParse(input, { error: plainWords });
      if (!error) continue;
      const first = error.issues.map((issue) => ({ ...issue, path: [at, ...issue.path], input }));
      issues.push(...(first as z.core.$ZodRawIssue[]));
      return;
    }
  });
  const { $schema: _, ...items } = z.toJSONSchema(item, { io: 'input' });
  return list.meta({ items }) as z.ZodType as z.ZodArray<Item>;
}

/** Fields that an assistant's turn may have instead of content. Source: OpenAI API reference, assistant message, `content`. */
const INSTEAD_OF_CONTENT = ['tool_calls', 'function_call', 'refusal', 'audio'];

/** One turn of a conversation. Our choice: an assistant's may lack content if it calls tools or refuses. Unnamed fields pass through. */
export const ChatMessage = z
  .looseObject({
    role: Role,
    content: z.union([z.string(), listOf(ContentPart).min(1)]).nullish(),
  })
  .check(({ value, issues }) => {
    if (value.content != null) return;
    if (value.role === 'assistant' && INSTEAD_OF_CONTENT.some((field) => value[field] != null))
      return;
    const message = 'must be a string or a list';
    issues.push({ code: 'custom', message, path: ['content'], input: value.content });
  });
export type ChatMessage = z.infer<typeof ChatMessage>;

/** Accepts `null` for absent, because widely used clients send it. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

const replyTokens = optional(z.int().min(1));

/**
 * Body of POST /v1/chat/completions. Source: gateway contract, parameter table. Our choice: the limits of `top_p`, `stop` and `n`,
 * `max_completion_tokens`, and that unnamed fields pass through.
 */
export const ChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: listOf(ChatMessage).min(1),
  temperature: optional(z.number().min(0).max(2)),
  max_tokens: replyTokens,
  max_completion_tokens: replyTokens,
  top_p: optional(z.number().min(0).max(1)),
  n: optional(z.int().min(1).max(128)),
  stream: optional(z.boolean()),
  stream_options: optional(z.looseObject({ include_usage: optional(z.boolean()) })),
  stop: optional(z.union([z.string().min(1), z.array(z.string().min(1)).max(4)])),
  presence_penalty: optional(z.number().min(-2).max(2)),
  frequency_penalty: optional(z.number().min(-2).max(2)),
});
export type ChatRequest = z.infer<typeof ChatRequest>;

/** Longest silence in a stream, milliseconds: of a provider, and by default of the gateway. Our choice: the caller gives up first. */
export const StreamStallMs = { provider: 90_000, gateway: 60_000 } as const;

export const Usage = z.looseObject({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative(),
});
export type Usage = z.infer<typeof Usage>;

/** Our choice: we send `stop`, `length`, `content_filter` and `tool_calls`, and read any text. */
export const FinishReason = z.string();

/** The answer to a call that is not streamed. Source: gateway contract, "Chat completion (response)". */
export const ChatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int().nonnegative(),
      message: z.looseObject({ role: z.literal('assistant'), content: z.string().nullable() }),
      finish_reason: FinishReason.nullable(),
    }),
  ),
  usage: Usage.optional(),
});
export type ChatCompletion = z.infer<typeof ChatCompletion>;

/** One event of a streamed answer; `choices` is empty in the one that carries `usage`. */
export const ChatCompletionChunk = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int().nonnegative(),
      delta: z.looseObject({
        role: z.literal('assistant').nullish(),
        content: z.string().nullish(),
      }),
      finish_reason: FinishReason.nullish(),
    }),
  ),
  usage: Usage.nullish(),
});
export type ChatCompletionChunk = z.infer<typeof ChatCompletionChunk>;

const limit = z.int().nonnegative().optional();

/** Limits of a key by their names in the API; an absent one doesn't apply. */
const Limits = z.object({
  requests_per_minute: limit,
  tokens_per_minute: limit,
  tokens_per_day: limit,
  tokens_per_month: limit,
});

/** Days that `GET /v1/usage` covers by default and at most. */
export const USAGE_DAYS = { default: 30, max: 400 } as const;

/**
 * Usage of the caller's own key. Our choice: the contract shows usage only in the account area, with no field. Days are UTC, oldest
 * first, without empty ones.
 */
export const UsageReport = z.object({
  object: z.literal('usage'),
  key: z.object({ id: z.string(), name: z.string() }),
  from: z.iso.date(),
  to: z.iso.date(),
  limits: Limits,
  /** Remaining amount of each limit. */
  remaining: Limits,
  data: z.array(
    z.object({
      date: z.iso.date(),
      /** `unknown` for requests that named no model of the catalog. */
      model: z.string(),
      requests: z.int(),
      ends: z.object({
        complete: z.int(),
        client_gone: z.int(),
        upstream_error: z.int(),
        refused: z.int(),
      }),
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      total_tokens: z.int(),
      /** Requests whose tokens the gateway estimated, because the provider sent no count. */
      estimated_requests: z.int(),
    }),
  ),
});
export type UsageReport = z.infer<typeof UsageReport>;
