import { createChoiceEnds } from '../../contracts/choice-ends.ts';
import { ChatCompletion, ChatCompletionChunk } from '../../contracts/gateway.ts';
import { STREAM_DONE } from '../../contracts/server-sent-events.ts';
import { type Fields, isFields } from '../shared/fields.ts';
import { parseJson } from './dialect.ts';
import type { Provider, StreamDecoder } from './provider.ts';
import { errorInsideAnswer, unusableError } from './provider-errors.ts';

/** Reads a whole answer in the convention, and repairs where this provider deviates from it. */
export function readCompletion(value: unknown, provider: Provider, model: string): ChatCompletion {
  if (isFields(value) && value.error != null) throw errorInsideAnswer(provider, model, value.error);
  const result = ChatCompletion.safeParse(
    repaired(value, (choice) => {
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

/** Replaces the null of an empty answer by an empty text, because `content` is a string in the contract. */
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

/** Reads the chunks of a stream, and repairs where this provider deviates from the convention. */
export function createChunkReader(provider: Provider, model: string): StreamDecoder {
  /** Number of tool calls so far, by the choice's index. */
  const calls = new Map<unknown, number>();
  const ends = createChoiceEnds();
  let whole = false;

  /** Numbers tool calls without an index by their order. */
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
        repaired(value, (choice) => {
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

/** Repairs an answer: some servers write `choices: null` in the chunk with the usage, and some omit id and time. */
function repaired(value: unknown, repairChoice: (choice: Fields) => Fields): unknown {
  if (!isFields(value)) return value;
  const { id, created, choices } = value;
  return {
    ...value,
    // `identify` replaces these.
    id: typeof id === 'string' ? id : '',
    created: Number.isSafeInteger(created) ? created : 0,
    ...(choices === null && { choices: [] }),
    ...(Array.isArray(choices) && {
      choices: choices.map((choice) => (isFields(choice) ? repairChoice(choice) : choice)),
    }),
  };
}

/** Joins the text parts of an answer, without a model's thoughts. */
function plainText(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part) => (part?.type === 'text' ? String(part.text) : '')).join('');
}

/** Converts a finish reason. Some providers end an answer with tool calls with "stop", but clients wait for "tool_calls". */
function finishReason(choice: Fields, provider: Provider, called: boolean): Fields {
  const { finish_reason: reason } = choice;
  if (typeof reason !== 'string') return {};
  if (provider.brokenReasons.includes(reason)) throw unusableError(provider, 'broke off');
  if (called && reason === 'stop') return { finish_reason: 'tool_calls' };
  return Object.hasOwn(provider.finishReasons, reason)
    ? { finish_reason: provider.finishReasons[reason] }
    : {};
}
