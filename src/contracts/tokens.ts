import type { ChatMessage } from './gateway.ts';

/** Tokens that a message costs beside its text: role and separators. */
const TOKENS_PER_MESSAGE = 4;

/** Tokens counted for one picture, whatever its size. */
const TOKENS_PER_IMAGE = 800;

/**
 * About how many tokens a text is.
 * Our choice: a quarter of its UTF-8 bytes, rounded up. Real tokenizers are quadratic on hostile text, so the
 * context limit and the trimming of histories use this linear estimate; usage comes from the provider.
 */
export function estimateTextTokens(text: string): number {
  return estimateTokensOfBytes(Buffer.byteLength(text));
}

/** About how many tokens so many bytes of UTF-8 text are. */
export function estimateTokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** About how many tokens a conversation is as a prompt. Linear in its length. */
export function estimatePromptTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + TOKENS_PER_MESSAGE + contentTokens(message), 0);
}

function contentTokens({ content }: ChatMessage): number {
  if (typeof content === 'string') return estimateTextTokens(content);
  return content.reduce(
    (sum, part) => sum + (part.type === 'text' ? estimateTextTokens(part.text) : TOKENS_PER_IMAGE),
    0,
  );
}
