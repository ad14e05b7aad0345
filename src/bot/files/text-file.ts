import { roughTokens } from '../../contracts/tokens.ts';
import { encodingOf } from './file-kind.ts';

/** Control characters apart from tabs and line ends. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

export function decodeText(bytes: Uint8Array, { isWhole }: { isWhole: boolean }): string {
  // Decoding as a stream accepts an incomplete character at the end.
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes, { stream: !isWhole });
  return text.replace(/\r\n?/g, '\n').replace(CONTROLS, '');
}

/** Maximum for normal text, so that a long text need not be counted whole. */
const CHARACTERS_PER_TOKEN = 16;

/** The beginning of a text within a number of tokens. Pure. */
export function firstTokens(text: string, maxTokens: number): string {
  let cut = text.slice(0, Math.floor(maxTokens * CHARACTERS_PER_TOKEN));
  for (let tokens = roughTokens(cut); tokens > maxTokens; tokens = roughTokens(cut)) {
    // Characters differ in tokens, so one cut may not be enough.
    const length = Math.floor(cut.length * Math.min(0.95, maxTokens / tokens));
    cut = cut.slice(0, length);
  }
  return cut.replace(/[\ud800-\udbff]$/, '');
}
