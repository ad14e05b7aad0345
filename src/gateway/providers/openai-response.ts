import { createChoiceEnds } from '../../contracts/choice-ends.ts';
import { ChatCompletion, ChatCompletionChunk } from '../../contracts/gateway.ts';
import { STREAM_DONE } from '../../contracts/server-sent-events.ts';
import { isCommonCompletion } from '../shared/common-shapes.ts';
import { type Fields, isFields } from '../shared/fields.ts';
import { parseJson } from './dialect.ts';
import type { Provider, StreamDecoder } from './provider.ts';
import { errorInsideAnswer, unusableError } from './provider-errors.ts';

/** A whole answer of a provider that speaks the convention, with the provider's own turns of phrase put right. */
export function readCompletion(value: unknown, provider: Provider, model: string): ChatCompletion {
  if (isFields(value) && value.error != null) throw errorInsideAnswer(provider, model, value.error);
  if (!provider.repairStreams) {
    if (isCommonCompletion(value)) return value;
    // Nearly all need no mending.
    const asItCame = ChatCompletion.safeParse(value);
    if (asItCame.success) return withText(asItCame.data);
  }
  const result = ChatCompletion.safeParse(
    mended(value, (choice) => {
      const message = isFields(choice.message) ? choice.message : {};
      return {
        ...choice,
        message: { ...message, content: plainText(message.content) ?? null },
        ...finishReason(choice, provider, false),
      };
    }),
  );
  if (!result.success) throw unusableError(provider, 'has the wrong shape', result.error);
  return withText(result.data);
}

/** An answer that ended by itself and holds nothing is an empty text: by the contract `content` is a string. */
function withText(completion: ChatCompletion): ChatCompletion {
  const { choices } = completion;
  const isNothing = ({ message, finish_reason }: (typeof choices)[number]) =>
    message.content === null && finish_reason === 'stop';
  if (!choices.some(isNothing)) return completion;
  return {
    ...completion,
    choices: choices.map((choice) =>
      isNothing(choice) ? { ...choice, message: { ...choice.message, content: '' } } : choice,
    ),
  };
}

/** Reads the chunks of a stream, with the provider's own turns of phrase put right. */
export function createChunkReader(provider: Provider, model: string): StreamDecoder {
  /** Tool calls seen so far, by the choice's index. */
  const calls = new Map<unknown, number>();
  const ends = createChoiceEnds();
  let whole = false;

  /** Some number their tool calls by nothing but the order they come in. */
  function numbered(toolCalls: unknown, index: unknown): unknown {
    if (!Array.isArray(toolCalls)) return toolCalls;
    return toolCalls.map((call) => {
      if (!isFields(call)) return call;
      const seen = calls.get(index) ?? 0;
      const at =
        typeof call.index === 'number' ? call.index : Math.max(0, seen - (call.id ? 0 : 1));
      calls.set(index, Math.max(seen, at + 1));
      return { ...call, index: at };
    });
  }

  return {
    get whole() {
      return whole;
    },
    get mayEnd() {
      return ends.all();
    },
    read(data) {
      if (data === STREAM_DONE) {
        whole = true;
        return [];
      }
      const value = parseJson(data, provider);
      if (isFields(value) && value.error != null)
        throw errorInsideAnswer(provider, model, value.error);
      const result = ChatCompletionChunk.safeParse(
        mended(value, (choice) => {
          const delta = isFields(choice.delta) ? choice.delta : {};
          const { content, tool_calls } = delta;
          return {
            ...choice,
            delta: {
              ...delta,
              ...(content !== undefined && { content: plainText(content) }),
              ...(tool_calls != null && { tool_calls: numbered(tool_calls, choice.index) }),
            },
            ...finishReason(choice, provider, calls.has(choice.index)),
          };
        }),
      );
      if (!result.success) throw unusableError(provider, 'has the wrong shape', result.error);
      for (const { index, finish_reason } of result.data.choices) ends.note(index, finish_reason);
      return [result.data];
    },
  };
}

/** Some servers write `choices: null` in the chunk that carries the usage, and some leave out what tells answers apart. */
function mended(value: unknown, mend: (choice: Fields) => Fields): unknown {
  if (!isFields(value)) return value;
  const { id, created, choices } = value;
  return {
    ...value,
    // Whoever identifies the answer gives it its own for these.
    id: typeof id === 'string' ? id : '',
    created: Number.isSafeInteger(created) ? created : 0,
    ...(choices === null && { choices: [] }),
    ...(Array.isArray(choices) && {
      choices: choices.map((choice) => (isFields(choice) ? mend(choice) : choice)),
    }),
  };
}

/** Models that think aloud answer in parts; what they thought is not the answer. */
function plainText(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part) => (part?.type === 'text' ? String(part.text) : '')).join('');
}

/** Some end an answer with "stop" though it calls a tool, and clients wait for the other word. */
function finishReason(choice: Fields, provider: Provider, called: boolean): Fields {
  const { finish_reason: given } = choice;
  if (typeof given !== 'string') return {};
  if (provider.brokenReasons.includes(given)) throw unusableError(provider, 'broke off');
  if (called && given === 'stop') return { finish_reason: 'tool_calls' };
  return Object.hasOwn(provider.finishReasons, given)
    ? { finish_reason: provider.finishReasons[given] }
    : {};
}
