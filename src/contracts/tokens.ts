import type { ChatMessage } from './gateway.ts';
import { COST_BITS, COST_MASK, tokenTable } from './token-table.ts';

/** Tokens that a message costs beside its text: role and separators. */
const TOKENS_PER_MESSAGE = 4;

/** Tokens counted for one picture, file or sound, whatever its size. */
const TOKENS_PER_IMAGE = 800;

/**
 * About how many tokens a text is, as a fraction, so that the pieces of a stream can be added up. Bytes are UTF-8.
 * Our choice: an estimate in one pass over the bytes, by a table. Real tokenizers are quadratic on hostile text, and each
 * provider has another one; so the context limit and the trimming of histories use this, and usage comes from the provider.
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

/** Counts the tokens of one text; a caller that holds texts in another form brings its own. */
type Count = (text: string) => number;

/**
 * About how many tokens a conversation is as a prompt: texts, pictures, and calls of tools. Linear in its length. What
 * stands beside the messages, such as the tools themselves, is for `estimateJsonTokens`.
 */
export function estimatePromptTokens(
  messages: readonly ChatMessage[],
  count: Count = roughTokens,
): number {
  return messages.reduce(
    (sum, { content, tool_calls }) =>
      sum +
      TOKENS_PER_MESSAGE +
      contentTokens(content ?? '', count) +
      (tool_calls == null ? 0 : estimateJsonTokens(tool_calls, count)),
    0,
  );
}

function contentTokens(content: NonNullable<ChatMessage['content']>, count: Count): number {
  if (typeof content === 'string') return Math.ceil(count(content));
  return content.reduce((sum, part) => {
    if (part.type === 'text') return sum + Math.ceil(count(part.text));
    return sum + (part.type === 'refusal' ? Math.ceil(count(part.refusal)) : TOKENS_PER_IMAGE);
  }, 0);
}

/** About how many tokens a value is as JSON: its texts, and one for each value beside them. Takes any depth. */
export function estimateJsonTokens(value: unknown, count: Count = roughTokens): number {
  const left = [value];
  let tokens = 0;
  while (left.length > 0) {
    const next = left.pop();
    tokens += typeof next === 'string' ? 1 + count(next) : 1;
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, inner] of Object.entries(next)) {
      if (!Array.isArray(next)) tokens += count(key);
      left.push(inner);
    }
  }
  return Math.ceil(tokens);
}
