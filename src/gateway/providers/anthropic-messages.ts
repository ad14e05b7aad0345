import { z } from 'zod';
import type { ChatMessage } from '../../contracts/gateway.ts';
import { parseUntrustedJson } from '../../contracts/parse-json.ts';
import { type Fields, isFields } from '../shared/fields.ts';
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
 * Converts tools and their choice. Tools that aren't functions of the convention pass through as the API's own; `strict` is
 * left out, because not all models accept it. Source: Claude API docs, "Define tools", `tool_choice`.
 */
export function encodeTools(given: Fields, provider: Provider): Fields {
  const { tools, tool_choice, parallel_tool_calls } = given;
  if (tools == null || (Array.isArray(tools) && tools.length === 0)) return {};
  if (!Array.isArray(tools)) throw unsupportedError(provider, 'tools', 'expects a list of tools');
  const choice = encodeChoice(tool_choice, parallel_tool_calls === false, provider);
  return {
    tools: tools.map((tool, at) => encodeTool(tool, at, provider)),
    ...(choice && { tool_choice: choice }),
  };
}

function encodeTool(tool: unknown, at: number, provider: Provider): unknown {
  if ((tool as Fields | null)?.type !== 'function') return tool;
  const { data } = FunctionTool.safeParse(tool);
  if (!data) throw unsupportedError(provider, `tools.${at}`, 'expects functions with a name');
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
    'accepts auto, none, required or the name of a function',
  );
}

function encodeToolCalls(message: ChatMessage, place: string, provider: Provider): Block[] {
  const { tool_calls } = message;
  if (tool_calls == null) return [];
  const { data } = z.array(ToolCall).safeParse(tool_calls);
  if (!data) throw unsupportedError(provider, `${place}.tool_calls`, 'accepts only function calls');
  return data.map(({ id, function: called }, at) => {
    const input = readArguments(called.arguments);
    if (input) return { type: 'tool_use', id, name: called.name, input };
    const param = `${place}.tool_calls.${at}.function.arguments`;
    throw unsupportedError(provider, param, 'expects a JSON object as arguments');
  });
}

function encodeToolResult(
  { tool_call_id }: ChatMessage,
  content: Block[],
  place: string,
  provider: Provider,
): Block {
  if (typeof tool_call_id !== 'string') {
    throw unsupportedError(
      provider,
      `${place}.tool_call_id`,
      'needs the ID of the call that this message answers',
    );
  }
  return { type: 'tool_result', tool_use_id: tool_call_id, ...(content.length > 0 && { content }) };
}

function readArguments(text: string): Fields | undefined {
  if (text.trim() === '') return {};
  try {
    const value = parseUntrustedJson(text);
    return isFields(value) ? value : undefined;
  } catch {
    // Arguments that can't be parsed can't be sent as an object.
    return undefined;
  }
}

/** Fields of a message that the API doesn't have, or has under other names. */
const UNSUPPORTED_FIELDS = ['function_call', 'audio'];

/** Source: Claude API docs, "Vision", supported formats. */
const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/i;

/** A message in content blocks; without blocks if it is only white space. */
export interface Spoken {
  role: string;
  content: Block[];
}

/** Joins messages into turns: neighbours with one role become one turn, as the API itself reads them. */
export function joinTurns(spoken: readonly Spoken[]): Spoken[] {
  const turns: Spoken[] = [];
  for (const { role: speaker, content } of spoken) {
    // The API has two roles; tool results belong to the user's.
    const role = speaker === 'assistant' ? 'assistant' : 'user';
    let turn = turns.at(-1);
    if (turn?.role !== role) {
      turn = { role, content: [] };
      turns.push(turn);
    }
    for (const block of content) turn.content.push(block);
  }
  for (const { content } of turns) content.sort(resultsFirst);
  return turns;
}

/** Sorts tool results to the beginning of the user's turn, where the API wants them. */
function resultsFirst(a: Block, b: Block): number {
  return Number(b.type === 'tool_result') - Number(a.type === 'tool_result');
}

/** Converts a message; `place` is its path in the client's request, for refusals. */
export function encodeMessage(message: ChatMessage, place: string, provider: Provider): Spoken {
  const { role, refusal } = message;
  const unsupported = UNSUPPORTED_FIELDS.find((field) => message[field] != null);
  if (unsupported)
    throw unsupportedError(provider, `${place}.${unsupported}`, 'does not support this');
  const content = message.content ?? (typeof refusal === 'string' ? refusal : []);
  const parts: Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const blocks = parts.flatMap((part, at) => {
    const words = part.type === 'refusal' ? { type: 'text', text: part.refusal } : part;
    if (words.type === 'text') return isBlank(String(words.text)) ? [] : [words];
    if (part.type === 'image_url' && role === 'user') {
      return [encodeImage(part, `${place}.content.${at}`, provider)];
    }
    const why = `does not accept ${part.type} in a message with the role ${role}`;
    throw unsupportedError(provider, `${place}.content.${at}`, why);
  });
  const encoded =
    role === 'tool'
      ? [encodeToolResult(message, blocks, place, provider)]
      : [...blocks, ...encodeToolCalls(message, place, provider)];
  return { role, content: encoded };
}

function encodeImage(part: Block, place: string, provider: Provider): Block {
  const { image_url, ...others } = part;
  const url = (image_url as { url: string }).url;
  return { ...others, type: 'image', source: imageSource(url, `${place}.image_url.url`, provider) };
}

function imageSource(url: string, place: string, provider: Provider): Record<string, string> {
  if (/^https?:/i.test(url)) return { type: 'url', url };
  const [head, type = '', flags = ''] = DATA_URL.exec(url.slice(0, 200)) ?? [];
  const media_type = type.toLowerCase() === 'image/jpg' ? 'image/jpeg' : type.toLowerCase();
  if (head === undefined || !/;base64$/i.test(flags) || !IMAGE_TYPES.has(media_type)) {
    const why =
      'accepts images as http or https URLs, or as base64 data URLs of JPEG, PNG, GIF or WebP';
    throw unsupportedError(provider, place, why);
  }
  return { type: 'base64', media_type, data: url.slice(head.length) };
}

function isBlank(text: string): boolean {
  return !/\S/.test(text);
}
