import { z } from 'zod';
import type { ChatCompletion, Usage } from '../../contracts/gateway.ts';
import type { Provider } from './provider.ts';
import { unusableError } from './provider-errors.ts';

const count = z.int().nonnegative().nullish();

/** What a message cost. Tokens read from the prompt cache and written to it are not among the input tokens. */
export const MessageUsage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
});
export type MessageUsage = z.infer<typeof MessageUsage>;

/** Whoever identifies the answer gives it its own for one that is missing. */
export const AnswerId = z.string().catch('');

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

/** A message as a whole answer. What the model thought is not part of it. */
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

/** The convention's word for why an answer ended; a reason it has no word for stays as it is. */
export function finishReasonOf(reason: string): string {
  return Object.hasOwn(FINISH_REASONS, reason) ? (FINISH_REASONS[reason] ?? reason) : reason;
}

/** The convention's count: what was read from the cache is part of the prompt. */
export function usageOf(usage: MessageUsage): Usage {
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
