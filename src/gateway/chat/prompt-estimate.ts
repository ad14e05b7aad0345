import type { ChatRequest } from '../../contracts/gateway.ts';
import { estimateJsonTokens, estimatePromptTokens, roughTokens } from '../../contracts/tokens.ts';
import type { RequestBody } from './request-body.ts';

/** Of a longer text only samples are counted: a long conversation would cost more to count than to pass on. */
const COUNTED_WHOLE_BYTES = 32 * 1024;
const SAMPLES = 16;
const SAMPLE_BYTES = 1024;

const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;
const LETTER_U = 0x75;
const NEWLINE = 0x0a;
/** Stands for a \u escape, which is mostly a letter beyond ASCII. */
const LETTER_BEYOND_ASCII = [0xc3, 0xa9];

/** What providers put before the messages, as text of their own format. */
const BESIDE_MESSAGES = ['tools', 'functions', 'response_format'] as const;

/** About how many tokens a request's messages are, with the tools and the schema that the model is told of. */
export function estimatePrompt(request: ChatRequest, body: RequestBody): number {
  const count = (text: string) => {
    const long = body.longText(text);
    return long ? roughTokensOfEscaped(long) : roughTokens(text);
  };
  return BESIDE_MESSAGES.reduce(
    (sum, name) => {
      const beside = request[name];
      return beside == null ? sum : sum + estimateJsonTokens(beside, count);
    },
    estimatePromptTokens(request.messages, count),
  );
}

/** About how many tokens a text is that stands in JSON, in parts. */
function roughTokensOfEscaped(parts: readonly Buffer[]): number {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length <= COUNTED_WHOLE_BYTES) return roughTokens(unescapeRoughly(Buffer.concat(parts)));
  let tokens = 0;
  let counted = 0;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const start = Math.floor(((length - SAMPLE_BYTES) * sample) / (SAMPLES - 1));
    const bytes = bytesAt(parts, start);
    tokens += roughTokens(unescapeRoughly(bytes));
    counted += bytes.length;
  }
  return tokens * (length / counted);
}

/** A sample, cut where a part ends. */
function bytesAt(parts: readonly Buffer[], start: number): Buffer {
  let before = 0;
  for (const part of parts) {
    if (start < before + part.length) {
      return part.subarray(start - before, start - before + SAMPLE_BYTES);
    }
    before += part.length;
  }
  return Buffer.alloc(0);
}

/** The text without JSON's escapes, near enough to be counted; a cut may go through one. */
function unescapeRoughly(text: Buffer): Uint8Array {
  const plain = new Uint8Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] as number;
    if (byte !== BACKSLASH) {
      plain[length++] = byte;
      continue;
    }
    at += 1;
    const letter = text[at] ?? 0;
    if (letter === LETTER_U) {
      plain.set(LETTER_BEYOND_ASCII, length);
      length += LETTER_BEYOND_ASCII.length;
      at += 4;
    } else {
      plain[length++] = letter === LETTER_N ? NEWLINE : letter;
    }
  }
  return plain.subarray(0, length);
}
