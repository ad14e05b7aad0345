import { z } from 'zod';
import type { ChatCompletion, ChatCompletionChunk, Usage } from '../../contracts/gateway.ts';
import { isFields } from '../shared/fields.ts';
import { parseJson } from './dialect.ts';
import type { Provider, StreamDecoder } from './provider.ts';
import { errorOfResponse, unusableError } from './provider-errors.ts';

const count = z.int().nonnegative().nullish();

/** Tokens of a message. `input_tokens` doesn't include tokens read from the prompt cache or written to it. */
const MessageUsage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
});
type MessageUsage = z.infer<typeof MessageUsage>;

/** Empty if missing; `identify` replaces it then. */
const AnswerId = z.string().catch('');

const Message = z.looseObject({
  id: AnswerId,
  type: z.literal('message'),
  model: z.string(),
  content: z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().optional(),
      id: z.string().optional(),
      name: z.string().optional(),
      input: z.unknown().optional(),
    }),
  ),
  stop_reason: z.string(),
  usage: MessageUsage,
});

/** Source: Claude API docs, "Stop reasons and fallback". */
const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** Reads a message as a whole answer, without the model's thoughts. */
export function readMessage(value: unknown, provider: Provider): ChatCompletion {
  const { data, error } = Message.safeParse(value);
  if (!data) throw unusableError(provider, 'has the wrong shape', error);
  const text = data.content.map((block) => (block.type === 'text' ? (block.text ?? '') : ''));
  const calls = data.content.filter(({ type }) => type === 'tool_use');
  return {
    id: data.id,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: data.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text.join('') || (calls.length > 0 ? null : ''),
          ...(calls.length > 0 && { tool_calls: calls.map(asToolCall) }),
        },
        finish_reason: finishReasonOf(data.stop_reason),
      },
    ],
    usage: usageOf(data.usage),
  };
}

/** Converts a stop reason; one without a counterpart stays as it is. */
function finishReasonOf(reason: string): string {
  return Object.hasOwn(FINISH_REASONS, reason) ? (FINISH_REASONS[reason] ?? reason) : reason;
}

/** Converts the usage: in the convention, cached tokens are part of the prompt. */
function usageOf(usage: MessageUsage): Usage {
  const cached_tokens = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  const prompt_tokens = (usage.input_tokens ?? 0) + cached_tokens + written;
  const completion_tokens = usage.output_tokens ?? 0;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens },
  };
}

function asToolCall({ id, name, input }: z.infer<typeof Message>['content'][number]) {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}

/** Events of a streamed message. Source: Claude API docs, "Streaming messages". */
const StreamEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message_start'),
    message: z.object({ id: AnswerId, model: z.string(), usage: MessageUsage }),
  }),
  z.object({
    type: z.literal('content_block_start'),
    index: z.int(),
    content_block: z.looseObject({
      type: z.string(),
      id: z.string().optional(),
      name: z.string().optional(),
      text: z.string().optional(),
    }),
  }),
  z.object({
    type: z.literal('content_block_delta'),
    index: z.int(),
    delta: z.looseObject({
      type: z.string(),
      text: z.string().optional(),
      partial_json: z.string().optional(),
    }),
  }),
  z.object({ type: z.literal('content_block_stop') }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: z.string().nullish() }),
    usage: MessageUsage.nullish(),
  }),
  z.object({ type: z.literal('message_stop') }),
  z.object({
    type: z.literal('error'),
    error: z.looseObject({ type: z.string() }),
  }),
]);

const KNOWN = new Set<unknown>(StreamEvent.options.map(({ shape }) => shape.type.value));

/** Statuses of errors inside a stream. Source: Claude API docs, "Errors". */
const ERROR_STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: 529,
};

type Delta = ChatCompletionChunk['choices'][number]['delta'];

/** Reads the events of a streamed message as chunks of the convention. */
export function createEventReader(provider: Provider, model: string): StreamDecoder {
  const created = Math.floor(Date.now() / 1000);
  /** Number of each tool call, by the index of its block. */
  const calls = new Map<number, number>();
  let started: { id: string; model: string } | undefined;
  let usage: MessageUsage = {};
  let stopReason: string | undefined;
  let begun = false;
  let whole = false;

  function chunk(choices: ChatCompletionChunk['choices'], told?: ReturnType<typeof usageOf>) {
    if (!started) throw unusableError(provider, 'has the wrong shape');
    return {
      ...started,
      object: 'chat.completion.chunk' as const,
      created,
      choices,
      usage: told,
    };
  }
  /** The answer begins with its first text, so that another provider can be asked until then. */
  function say(delta: Delta, finish_reason: string | null = null): ChatCompletionChunk[] {
    const first = begun ? [] : [{ index: 0, delta: OPENING, finish_reason: null }];
    begun = true;
    return [...first, { index: 0, delta, finish_reason }].map((choice) => chunk([choice]));
  }
  function call(at: number, fields: Record<string, unknown>): ChatCompletionChunk[] {
    return say({ tool_calls: [{ index: calls.get(at) ?? 0, ...fields }] });
  }

  return {
    get whole() {
      return whole;
    },
    // A whole stream always ends with `message_stop`.
    mayEnd: false,
    read(data) {
      const value = parseJson(data, provider);
      // The API may add kinds of events at any time, and a ping carries nothing.
      if (isFields(value) && typeof value.type === 'string' && !KNOWN.has(value.type)) {
        return undefined;
      }
      const { data: event, error } = StreamEvent.safeParse(value);
      if (!event) throw unusableError(provider, 'has the wrong shape', error);
      switch (event.type) {
        case 'message_start':
          started = { id: event.message.id, model: event.message.model };
          usage = event.message.usage;
          return [];
        case 'content_block_start': {
          const { type, id, name, text } = event.content_block;
          if (type === 'text') return text ? say({ content: text }) : [];
          if (type !== 'tool_use') return [];
          calls.set(event.index, calls.size);
          return call(event.index, { id, type: 'function', function: { name, arguments: '' } });
        }
        case 'content_block_delta': {
          const { type, text, partial_json } = event.delta;
          if (type === 'text_delta' && text) return say({ content: text });
          if (type !== 'input_json_delta' || !partial_json || !calls.has(event.index)) return [];
          return call(event.index, { function: { arguments: partial_json } });
        }
        case 'content_block_stop':
          return [];
        case 'message_delta':
          stopReason = event.delta.stop_reason ?? stopReason;
          usage = { ...usage, ...withoutNulls(event.usage ?? {}) };
          return [];
        case 'message_stop':
          if (stopReason === undefined) throw unusableError(provider, 'ended without a reason');
          whole = true;
          return [...say({}, finishReasonOf(stopReason)), chunk([], usageOf(usage))];
        case 'error': {
          const status = ERROR_STATUSES[event.error.type] ?? 500;
          throw errorOfResponse(provider, model, { status, headers: {}, body: data });
        }
      }
    },
  };
}

const OPENING: Delta = { role: 'assistant', content: '' };

/** Drops absent counts. Those at the end are for the whole message; absent ones keep their value from the beginning. */
function withoutNulls(usage: MessageUsage): MessageUsage {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value != null));
}
