import type { ChatMessage, ChatRequest, ContentPart } from '../../contracts/gateway.ts';
import { orderTurns } from './dialect.ts';
import { createChunkReader, readCompletion } from './openai-response.ts';
import type { Dialect, Provider } from './provider.ts';
import { unsupportedError } from './provider-errors.ts';

/** Fields that `adaptRequest` handles one by one. */
const HANDLED_FIELDS = new Set(['max_tokens', 'stream_options', 'messages', 'stop']);

/** The chat-completions convention of OpenAI and most others. */
export const openaiDialect: Dialect = {
  path: '/chat/completions',
  encode: adaptRequest,
  ownStops,
  dropped,
  decode: readCompletion,
  openStream: createChunkReader,
};

/** Returns the headers of a call: the provider's own, and our key. */
export function providerHeaders(provider: Provider): Record<string, string> {
  const { apiKey, keyHeader, headers } = provider;
  if (apiKey === undefined) return { ...headers };
  return { ...headers, [keyHeader]: keyHeader === 'authorization' ? `Bearer ${apiKey}` : apiKey };
}

/** Converts a request for this provider. Unknown fields pass through; `null` means absent. */
export function adaptRequest(
  request: ChatRequest,
  provider: Provider,
  model: string,
): Record<string, unknown> {
  const { max_tokens, stream_options, messages, stop } = request;
  const stops = provider.ownStops || stop?.length === 0 ? null : stop;
  const body: Record<string, unknown> = {};
  for (const name in request) {
    const value = request[name];
    if (value === null || HANDLED_FIELDS.has(name) || provider.drop.includes(name)) continue;
    body[own(provider.rename, name) ?? name] = capped(value, own(provider.maxValues, name));
  }
  if (provider.greedyAlone && body.temperature === 0) delete body.top_p;
  body.model = model;
  body.messages = adaptMessages(messages, provider);
  if (max_tokens != null) body[provider.maxTokensName] = max_tokens;
  if (stops != null) body.stop = stops;
  if (request.stream && provider.streamOptions) {
    // The usage is always requested, because limits and reports count by it.
    const options: Record<string, unknown> = { ...stream_options, include_usage: true };
    if (provider.padsChunks) options.include_obfuscation = false;
    body.stream_options = options;
  }
  return body;
}

function ownStops({ stop }: ChatRequest, provider: Provider): readonly string[] {
  return provider.ownStops ? [stop ?? []].flat() : [];
}

function dropped(request: ChatRequest, provider: Provider): readonly string[] {
  const { drop, greedyAlone, dropFromMessages } = provider;
  return [
    ...drop.filter((name) => request[name] != null),
    ...(greedyAlone && request.temperature === 0 && request.top_p != null ? ['top_p'] : []),
    ...dropFromMessages
      .filter((name) => request.messages.some((message) => message[name] != null))
      .map((name) => `messages.${name}`),
  ];
}

function adaptMessages(
  messages: ChatRequest['messages'],
  provider: Provider,
): Record<string, unknown>[] {
  const { strictTurns, dropFromMessages, developerRole } = provider;
  const isTaken = (message: ChatMessage) =>
    (message.role !== 'developer' || developerRole) &&
    typeof message.content === 'string' &&
    !dropFromMessages.some((name) => name in message);
  if (!strictTurns && messages.every(isTaken)) return messages;
  const taken = messages.map((message, at) => withParts(message, `messages.${at}`, provider));
  const { system, turns } = strictTurns
    ? orderTurns(taken, userSays)
    : { system: [], turns: taken };
  return [...system, ...turns].map((message) => {
    const kept = without(message, dropFromMessages);
    return kept.role === 'developer' && !developerRole ? { ...kept, role: 'system' } : kept;
  });
}

const userSays = (content: string): ChatMessage => ({ role: 'user', content });

/** Converts content parts for a provider; a refusal becomes text if it isn't supported. Throws for other unsupported parts. */
function withParts(message: ChatMessage, place: string, provider: Provider): ChatMessage {
  const { content } = message;
  if (!Array.isArray(content) || content.every(isCommon)) return message;
  const parts = content.map((part, at): ContentPart => {
    if (isCommon(part) || provider.parts.includes(part.type)) return part;
    if (part.type === 'refusal') return { type: 'text', text: part.refusal };
    throw unsupportedError(provider, `${place}.content.${at}`, `takes no ${part.type}`);
  });
  return { ...message, content: parts };
}

const isCommon = ({ type }: ContentPart) => type === 'text' || type === 'image_url';

function without(message: Record<string, unknown>, names: readonly string[]) {
  if (!names.some((name) => name in message)) return message;
  return Object.fromEntries(Object.entries(message).filter(([name]) => !names.includes(name)));
}

function capped(value: unknown, cap: number | undefined): unknown {
  return typeof value === 'number' && cap !== undefined ? Math.min(value, cap) : value;
}

/** Looks a name up without inherited properties, because the names come from clients. */
function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
