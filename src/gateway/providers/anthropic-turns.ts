import type { ChatMessage } from '../../contracts/gateway.ts';
import { type Block, encodeToolCalls, encodeToolResult } from './anthropic-tools.ts';
import type { Provider } from './provider.ts';
import { unsupportedError } from './provider-errors.ts';

/** Where in the caller's request each message stands, for naming it in a refusal. */
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
