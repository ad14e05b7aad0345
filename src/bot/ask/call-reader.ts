import { z } from 'zod';
import type { ChatCompletionChunk } from '../../contracts/gateway.ts';
import { parseUntrustedJson } from '../../contracts/parse-json.ts';
import { CommandError } from '../shared/errors.ts';

/** Limits of one round; further calls are ignored. */
const MAX_CALLS = 16;
const MAX_NAME = 200;
const MAX_ARGUMENTS = 4_000;

/** Function names that providers accept. Source: OpenAI API reference, "Create chat completion", `tools`. */
const NAME = /^[\w-]{1,64}$/;

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  /** A provider's own data that must be sent back unchanged, such as the signature of a thought. */
  extra_content?: unknown;
}

/** A part of a call. Some providers send a call whole and without an index. */
const CallDelta = z.object({
  index: z.int().nonnegative().nullish(),
  id: z.string().max(500).nullish(),
  function: z
    .object({ name: z.string().max(MAX_NAME).nullish(), arguments: z.string().nullish() })
    .nullish(),
  extra_content: z.unknown().optional(),
});

/** Joins the parts of calls from the chunks of one round. */
export function createCallReader() {
  const calls: Array<ToolCall & { index: number | undefined }> = [];

  function add(delta: z.infer<typeof CallDelta>) {
    const { index, id, function: called, extra_content } = delta;
    const isSame = (call: (typeof calls)[number]) =>
      index == null ? !id || call.id === id : call.index === index;
    let call = calls.findLast(isSame);
    if (!call) {
      if (calls.length >= MAX_CALLS) return;
      call = {
        index: index ?? undefined,
        id: id || `call_${calls.length + 1}`,
        type: 'function',
        function: { name: '', arguments: '' },
      };
      calls.push(call);
    }
    const name = called?.name ?? '';
    // Some providers split a name over deltas, others repeat the whole name in each.
    if (name !== call.function.name && call.function.name.length < MAX_NAME) {
      call.function.name += name;
    }
    if (call.function.arguments.length < MAX_ARGUMENTS) {
      call.function.arguments += called?.arguments ?? '';
    }
    if (extra_content !== undefined) call.extra_content = extra_content;
  }

  return {
    read({ delta }: ChatCompletionChunk['choices'][number]) {
      const { tool_calls: deltas } = delta;
      if (!Array.isArray(deltas)) return;
      for (const one of deltas) {
        const { data } = CallDelta.safeParse(one);
        if (data) add(data);
      }
    },
    /** The calls in order, each with a unique id. */
    calls: (): ToolCall[] =>
      calls.map(({ index: _, ...call }, at) => ({
        ...call,
        id: calls.findIndex(({ id }) => id === call.id) === at ? call.id : `${call.id}_${at}`,
      })),
  };
}

/** A call for the next request: providers refuse a conversation with a broken one. Pure. */
export function sentBack({ id, type, function: called, ...more }: ToolCall): ToolCall {
  const isWhole = isObject(parsed(called.arguments));
  const name = NAME.test(called.name) ? called.name : 'unknown';
  return { ...more, id, type, function: { name, arguments: isWhole ? called.arguments : '{}' } };
}

function parsed(text: string): unknown {
  try {
    return parseUntrustedJson(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Throws a `CommandError`. Some models send an empty text for no arguments. */
export function readArguments(text: string): object {
  const value = text.trim() === '' ? {} : parsed(text);
  if (isObject(value)) return value;
  throw new CommandError('The input is not a JSON object. Call again with a JSON object.');
}
