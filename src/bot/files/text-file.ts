import { roughTokens } from '../../contracts/tokens.ts';
import { encodingOf } from './file-kind.ts';

/** What stands in no text that somebody wrote, apart from white space. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

/** The text of a file, or of its beginning. Pure. */
export function decodeText(bytes: Uint8Array, { isWhole }: { isWhole: boolean }): string {
  // Where it is cut, the last character may not be there whole.
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes, { stream: !isWhole });
  return text.replace(/\r\n?/g, '\n').replace(CONTROLS, '');
}

/** Characters of a token, at most, but for texts that say nothing: what is longer need not be counted whole. */
const CHARACTERS_PER_TOKEN = 16;

/** As much of the beginning of a text as takes no more than so many tokens. Pure. */
export function firstTokens(text: string, maxTokens: number): string {
  let cut = text.slice(0, Math.floor(maxTokens * CHARACTERS_PER_TOKEN));
  for (let tokens = roughTokens(cut); tokens > maxTokens; tokens = roughTokens(cut)) {
    // The cost of a character differs, so that one cut may not do.
    const length = Math.floor(cut.length * Math.min(0.95, maxTokens / tokens));
    cut = cut.slice(0, length);
  }
  return cut.replace(/[\ud800-\udbff]$/, '');
}
