import { z } from 'zod';
import type { ChatMessage } from '../../contracts/gateway.ts';
import { type Fields, isFields } from './json.ts';
import type { Provider } from './provider.ts';
import { unsupportedError } from './provider-errors.ts';

/** A content block of the Messages API. */
export type Block = { type: string; [field: string]: unknown };

/** A function the model may call, in the convention's words. */
const FunctionTool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function').optional(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const NamedChoice = z.object({
  type: z.literal('function'),
  function: z.object({ name: z.string() }),
});

const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', none: 'none', required: 'any' };

/**
 * Tools and how they are chosen. Tools that are no functions of the convention are taken for the API's own and pass
 * through; `strict` is left out, as not all models take it. Source: Claude API docs, "Define tools", `tool_choice`.
 */
export function encodeTools(given: Fields, provider: Provider): Fields {
  const { tools, tool_choice, parallel_tool_calls } = given;
  if (tools == null || (Array.isArray(tools) && tools.length === 0)) return {};
  if (!Array.isArray(tools)) throw unsupportedError(provider, 'tools', 'takes a list of tools');
  const choice = encodeChoice(tool_choice, parallel_tool_calls === false, provider);
  return {
    tools: tools.map((tool, at) => encodeTool(tool, at, provider)),
    ...(choice && { tool_choice: choice }),
  };
}

function encodeTool(tool: unknown, at: number, provider: Provider): unknown {
  if ((tool as Fields | null)?.type !== 'function') return tool;
  const { data } = FunctionTool.safeParse(tool);
  if (!data) throw unsupportedError(provider, `tools.${at}`, 'takes functions with a name');
  const { name, description, parameters } = data.function;
  return {
    name,
    ...(description != null && { description }),
    input_schema: { type: 'object', ...parameters },
  };
}

function encodeChoice(
  choice: unknown,
  oneAtATime: boolean,
  provider: Provider,
): Fields | undefined {
  const single = oneAtATime ? { disable_parallel_tool_use: true } : {};
  if (choice == null) return oneAtATime ? { type: 'auto', ...single } : undefined;
  if (typeof choice === 'string' && Object.hasOwn(CHOICES, choice)) {
    return { type: CHOICES[choice], ...(choice !== 'none' && single) };
  }
  const { data } = NamedChoice.safeParse(choice);
  if (data) return { type: 'tool', name: data.function.name, ...single };
  throw unsupportedError(
    provider,
    'tool_choice',
    'takes auto, none, required or a function by its name',
  );
}

/** The calls in a message of the assistant. */
export function encodeToolCalls(message: ChatMessage, place: string, provider: Provider): Block[] {
  const { tool_calls } = message;
  if (tool_calls == null) return [];
  const { data } = z.array(ToolCall).safeParse(tool_calls);
  if (!data) throw unsupportedError(provider, `${place}.tool_calls`, 'takes calls of functions');
  return data.map(({ id, function: called }, at) => {
    const input = readArguments(called.arguments);
    if (input) return { type: 'tool_use', id, name: called.name, input };
    const param = `${place}.tool_calls.${at}.function.arguments`;
    throw unsupportedError(provider, param, 'takes a JSON object as arguments');
  });
}

/** What a tool said. */
export function encodeToolResult(
  { tool_call_id }: ChatMessage,
  content: Block[],
  place: string,
  provider: Provider,
): Block {
  if (typeof tool_call_id !== 'string') {
    throw unsupportedError(
      provider,
      `${place}.tool_call_id`,
      'wants to know which call it answers',
    );
  }
  return { type: 'tool_result', tool_use_id: tool_call_id, ...(content.length > 0 && { content }) };
}

function readArguments(text: string): Fields | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    // What it means is not known, so it cannot be sent on as an object.
    return undefined;
  }
}
