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
 * Headers with the limits by the minute of the caller's key, and what remains of them.
 * Our choice: the contract leaves limits open ("not shown"); these are the names and forms that clients of the convention
 * read. The reset is the time until the full limit is available again, such as `12ms`, `8.64s` or `6m0s`. A limit that the
 * key doesn't have has no headers. Source: OpenAI API reference, "Rate limits", "Rate limits in headers".
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
 * Headers for parameters that the model doesn't support.
 * Our choice: the contract doesn't say what happens to them. Most callers want the answer anyway, so the gateway leaves
 * them out and lists them in `dropped`, such as `temperature,top_p`; fields of messages are listed as `messages.name`. A
 * request with `strict: true` is refused with a 400 instead.
 */
export const ParameterHeader = {
  dropped: 'x-askwatch-dropped',
  strict: 'x-askwatch-strict',
} as const;

/**
 * Names the model that answered, as `provider/model`, each encoded as in a URI.
 * Our choice: the contract's `model` is the id of the catalog; this header names the real model.
 */
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

/**
 * How models compare within a catalog: 1 is the slowest, the plainest or the cheapest; equal ones have the same rank.
 * Our choice: the contract says the catalog ranks text models by relative speed, quality and cost but shows no field.
 */
export const ModelRanks = z.object({
  speed: z.int().min(1),
  quality: z.int().min(1),
  cost: z.int().min(1),
});
export type ModelRanks = z.infer<typeof ModelRanks>;

/** Provider of models for which the built-in engine answers instead of a language model. */
export const OFFLINE_PROVIDER = 'askwatch';

/**
 * One model of the catalog. `id`, `object`, `created`, `owned_by` are the contract's.
 * Our choice: the other fields are additions, all optional, so that a client of the bare contract notices nothing and the
 * bot works with a gateway that has none of them.
 */
export const Model = z.object({
  id: z.string().min(1),
  object: z.literal('model'),
  /** Unix time, seconds. */
  created: z.int(),
  /** Provider name, lower case. */
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

/**
 * Role of a message.
 * Our choice: the contract's three, and `developer`, which newer clients send for `system`, and `tool`, for the result of a
 * tool call. A provider that doesn't know one of them refuses it itself.
 */
export const Role = z.enum(['user', 'assistant', 'system', 'developer', 'tool']);

/**
 * One part of a message that is more than text.
 * Our choice: the contract shows `content` as text only but has a model that accepts images; the convention's content
 * parts carry them, and `refusal` carries the assistant's words when it refused. Files and sound go to providers that
 * accept them. Fields not named here pass through.
 */
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

/**
 * A list that reports its first bad item only, because of a million bad ones each report would cost more than the item.
 * Items are checked, not copied.
 */
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

/**
 * One turn of a conversation.
 * Our choice: `content` may be null or absent if the assistant only calls tools or refuses, as clients send such turns
 * back. Fields not named here, such as `name`, `tool_calls` and `tool_call_id`, pass through.
 */
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
 * The body of POST /v1/chat/completions. Source: gateway contract, parameter table.
 * Our choice: `top_p` is 0 to 1; `stop` takes up to four sequences, none of them empty, and an empty list is none; `n` goes
 * up to 128, as the convention does; `max_completion_tokens` is the newer name of `max_tokens`; `stream_options` is
 * honoured; fields not named here pass through to the provider untouched.
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

/**
 * Longest silence between two chunks of a stream, milliseconds: of a provider towards the gateway, and by default of the
 * gateway towards its caller. Our choice: the caller gives up first, because it has a person waiting and its own setting.
 */
export const StreamStallMs = { provider: 90_000, gateway: 60_000 } as const;

export const Usage = z.looseObject({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative(),
});
export type Usage = z.infer<typeof Usage>;

/**
 * Why generation ended. The contract shows `stop` and leaves the set open.
 * Our choice: we send `stop`, `length`, `content_filter` and `tool_calls`; a reader keeps any other text as it is.
 */
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
 * The answer to GET /v1/usage: usage of the caller's own key.
 * Our choice: the contract shows usage per key only in the account area ("Authentication" 5), with no field; here the owner
 * of a key sees the same for that key. Days follow the UTC calendar, oldest first; a day and model without requests has no
 * entry.
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
