import { z } from 'zod';

/** Paths of the model gateway. Source: gateway contract, "Endpoints". */
export const GatewayPath = {
  models: '/v1/models',
  chatCompletions: '/v1/chat/completions',
} as const;

/**
 * How models compare within a catalog: 1 is the slowest, the plainest or the cheapest.
 * Our choice: the contract says the catalog ranks text models by relative speed, quality and cost but shows no field.
 */
export const ModelRanks = z.object({
  speed: z.int().min(1),
  quality: z.int().min(1),
  cost: z.int().min(1),
});

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
  /** What it makes. */
  kind: z.enum(['text', 'image']).optional(),
  /** Tokens of prompt and reply together; text models. */
  context_length: z.int().positive().optional(),
  /** What a message may hold; text models. */
  input: z.array(z.enum(['text', 'image'])).optional(),
  /** Smallest to largest picture, such as `256x256`; image models. */
  resolutions: z.array(z.string().regex(/^\d+x\d+$/)).optional(),
  ranks: ModelRanks.optional(),
  description: z.string().optional(),
});
export type Model = z.infer<typeof Model>;

export const ModelList = z.object({ object: z.literal('list'), data: z.array(Model) });
export type ModelList = z.infer<typeof ModelList>;

export const Role = z.enum(['user', 'assistant', 'system']);

/**
 * One part of a message that is more than text.
 * Our choice: the contract shows `content` as text only but has a model that accepts images; the convention's content
 * parts carry them. Fields not named here pass through.
 */
export const ContentPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({
    type: z.literal('image_url'),
    image_url: z.looseObject({ url: z.string() }),
  }),
]);

export const ChatMessage = z.looseObject({
  role: Role,
  content: z.union([z.string(), z.array(ContentPart).min(1)]),
});
export type ChatMessage = z.infer<typeof ChatMessage>;

/** `null` means absent for every optional field: widely used clients send it. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

/**
 * The body of POST /v1/chat/completions. Source: gateway contract, parameter table.
 * Our choice: `stop` takes up to four sequences and `n` up to 128, as the convention does; `stream_options` is honoured;
 * fields not named here pass through to the provider untouched.
 */
export const ChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(ChatMessage).min(1),
  temperature: optional(z.number().min(0).max(2)),
  max_tokens: optional(z.int().min(1)),
  top_p: optional(z.number().min(0).max(1)),
  n: optional(z.int().min(1).max(128)),
  stream: optional(z.boolean()),
  stream_options: optional(z.looseObject({ include_usage: optional(z.boolean()) })),
  stop: optional(z.union([z.string().min(1), z.array(z.string().min(1)).max(4)])),
  presence_penalty: optional(z.number().min(-2).max(2)),
  frequency_penalty: optional(z.number().min(-2).max(2)),
});
export type ChatRequest = z.infer<typeof ChatRequest>;

export const Usage = z.looseObject({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative(),
});
export type Usage = z.infer<typeof Usage>;

/**
 * Why generation ended. The contract shows `stop` and leaves the set open.
 * Our choice: `stop`, `length` and `content_filter` are what we give; a reader keeps any other text as it is.
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
