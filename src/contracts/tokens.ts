import type { ChatMessage, ChatRequest } from './gateway.ts';
import { COST_BITS, COST_MASK, tokenTable } from './token-table.ts';

/** Tokens that a message costs in addition to its text: role and separators. */
const TOKENS_PER_MESSAGE = 4;

/** Tokens counted for a picture, file or sound of any size. */
const TOKENS_PER_IMAGE = 800;

/**
 * Estimates the tokens of a text of UTF-8, as a fraction, so that pieces can be added up. Our choice: one pass by a table, because
 * tokenizers are quadratic on hostile text, and each provider has another one.
 */
export function roughTokens(text: string | Uint8Array): number {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const { length } = bytes;
  const table = tokenTable();
  let state = 0;
  let thousandths = 0;
  for (let at = 0; at < length; at += 1) {
    const entry = table[state | (bytes[at] as number)] as number;
    thousandths += entry & COST_MASK;
    state = entry >> COST_BITS;
  }
  return thousandths / 1000;
}

/** Samples of a long text that are counted in its place. Many short ones tell more than few long ones. */
const SAMPLES = 64;
const SAMPLE_LENGTH = 128;

/** Counts only samples of a longer text, which miss a mix of languages by up to 10 %. */
function textTokens(text: string): number {
  if (text.length <= SAMPLES * SAMPLE_LENGTH) return roughTokens(text);
  const step = (text.length - SAMPLE_LENGTH) / (SAMPLES - 1);
  const starts = Array.from({ length: SAMPLES }, (_, number) => Math.floor(number * step));
  const sampled = starts.map((start) => text.slice(start, start + SAMPLE_LENGTH)).join('');
  return roughTokens(sampled) * (text.length / sampled.length);
}

/** Fields that providers write before the messages, as text of their own format. */
const BEFORE_MESSAGES = ['tools', 'functions', 'response_format'] as const;

/** Estimates the tokens of messages, tools and schema. The gateway checks a model's context by it, and a caller trims by it. */
export function estimateRequestTokens(
  request: Pick<ChatRequest, 'messages'> & Readonly<Record<string, unknown>>,
): number {
  return BEFORE_MESSAGES.reduce(
    (sum, name) => sum + (request[name] == null ? 0 : estimateJsonTokens(request[name])),
    estimatePromptTokens(request.messages),
  );
}

/** Estimates the tokens of messages: texts, pictures and tool calls. Linear in their length. */
export function estimatePromptTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce(
    (sum, { content, tool_calls }) =>
      sum +
      TOKENS_PER_MESSAGE +
      contentTokens(content ?? '') +
      (tool_calls == null ? 0 : estimateJsonTokens(tool_calls)),
    0,
  );
}

function contentTokens(content: NonNullable<ChatMessage['content']>): number {
  if (typeof content === 'string') return Math.ceil(textTokens(content));
  return content.reduce((sum, part) => {
    if (part.type === 'text') return sum + Math.ceil(textTokens(part.text));
    return sum + (part.type === 'refusal' ? Math.ceil(textTokens(part.refusal)) : TOKENS_PER_IMAGE);
  }, 0);
}

/** Estimates the tokens of a value as JSON: its texts, and one for each value. Takes any depth. */
export function estimateJsonTokens(value: unknown): number {
  const waiting = [value];
  let tokens = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    tokens += typeof next === 'string' ? 1 + textTokens(next) : 1;
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, inner] of Object.entries(next)) {
      if (!Array.isArray(next)) tokens += textTokens(key);
      waiting.push(inner);
    }
  }
  return Math.ceil(tokens);
}
