import { z } from 'zod';
import type { ChatMessage } from '../../contracts/gateway.ts';
import { type Fields, isFields } from './dialect.ts';
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
function encodeToolCalls(message: ChatMessage, place: string, provider: Provider): Block[] {
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

/** Where in the client's request each message stands, for naming it in a refusal. */
type Places = ReadonlyMap<ChatMessage, string>;

/** Ways to speak that the API knows by other names, or not at all. */
const UNSAYABLE = ['function_call', 'audio'];

/** Source: Claude API docs, "Vision", supported formats. */
const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/i;

/** The system's words, in their order: the API takes them apart from the conversation. */
export function encodeSystem(system: readonly ChatMessage[], places: Places, provider: Provider) {
  return system.flatMap((message) => encodeContent(message, places, provider));
}

/**
 * Whether a message is nothing but white space. The API refuses those, and they say nothing, so they are left out.
 * Source: measured in experientiallabs/experiential#804.
 */
export function saysNothing(message: ChatMessage): boolean {
  const { role, content, tool_calls, refusal } = message;
  if (role === 'tool' || UNSAYABLE.some((field) => message[field] != null)) return false;
  if (tool_calls != null || typeof refusal === 'string') return false;
  return typeof content === 'string' ? isBlank(content) : (content ?? []).every(isBlankPart);
}

/** The turns of a conversation. Neighbours of one role become one turn, as the API itself reads them. */
export function encodeTurns(turns: readonly ChatMessage[], places: Places, provider: Provider) {
  const encoded: { role: string; content: Block[] }[] = [];
  for (const message of turns) {
    // The API has two roles: what a tool said is the user's to tell.
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = encodeContent(message, places, provider);
    let turn = encoded.at(-1);
    if (turn?.role !== role) {
      turn = { role, content: [] };
      encoded.push(turn);
    }
    for (const block of content) turn.content.push(block);
  }
  for (const { content } of encoded) content.sort(resultsFirst);
  return encoded;
}

/** The API wants the results of tools at the beginning of the user's turn. */
function resultsFirst(a: Block, b: Block): number {
  return Number(b.type === 'tool_result') - Number(a.type === 'tool_result');
}

function encodeContent(message: ChatMessage, places: Places, provider: Provider): Block[] {
  const place = places.get(message) ?? 'messages';
  const { role, content, refusal } = message;
  const unsayable = UNSAYABLE.find((field) => message[field] != null);
  if (unsayable) throw unsupportedError(provider, `${place}.${unsayable}`, 'has nothing like it');
  const said = content ?? (typeof refusal === 'string' ? refusal : []);
  const parts: Block[] = typeof said === 'string' ? [{ type: 'text', text: said }] : said;
  const blocks = parts.flatMap((part, at) => {
    if (part.type === 'text') return isBlankPart(part) ? [] : [part];
    if (part.type === 'refusal') {
      const said = { type: 'text', text: String(part.refusal) };
      return isBlankPart(said) ? [] : [said];
    }
    if (part.type === 'image_url' && role === 'user') {
      return [encodeImage(part, `${place}.content.${at}`, provider)];
    }
    const why = `takes no ${part.type} in a message of the ${role}`;
    throw unsupportedError(provider, `${place}.content.${at}`, why);
  });
  if (role === 'tool') return [encodeToolResult(message, blocks, place, provider)];
  return [...blocks, ...encodeToolCalls(message, place, provider)];
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
      'takes pictures as http addresses, or as data URLs of JPEG, PNG, GIF or WebP in base64';
    throw unsupportedError(provider, place, why);
  }
  return { type: 'base64', media_type, data: url.slice(head.length) };
}

function isBlankPart({ type, text }: { type: string; text?: unknown }): boolean {
  return type === 'text' && isBlank(String(text));
}

function isBlank(text: string): boolean {
  return !/\S/.test(text);
}
