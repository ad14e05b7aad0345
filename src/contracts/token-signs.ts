import { COST, type Script } from './token-costs.ts';

/** What a byte is. Those of one kind are treated alike wherever they stand. */
export type Sign =
  | { is: 'space' | 'newline' | 'digit' | 'mark' }
  | {
      is: 'letter';
      capital?: boolean;
      consonant?: boolean;
      ending?: number;
      tokens: number;
      lead: number;
    }
  | { is: 'script'; script: Script; tokens: number; lead: number }
  | { is: 'inside'; from: number };

/** The second bytes after which characters of one first byte differ in script. */
const INSIDE_FROM = [0x80, 0x90, 0xa0, 0xb8, 0xbc];

/** Tells by one byte alone; of a character of several bytes, the first says what it mostly is. */
export function signOf(byte: number): Sign {
  if (byte === 0x20 || byte === 0x09) return { is: 'space' };
  if (byte === 0x0a || byte === 0x0d) return { is: 'newline' };
  if (byte >= 0x30 && byte <= 0x39) return { is: 'digit' };
  if (byte < 0x80) return asciiLetter(byte) ?? { is: 'mark' };
  if (byte < 0xc0) return { is: 'inside', from: INSIDE_FROM.findLast((from) => from <= byte) ?? 0 };
  // Latin letters with accents, from the nearest (é) to the farthest (ế).
  if (byte < 0xc4) return { is: 'letter', tokens: COST.accent, lead: 0 };
  if (byte < 0xce) return { is: 'letter', tokens: COST.farAccent, lead: 0 };
  if (byte === 0xe1) return { is: 'letter', tokens: 0, lead: byte };
  const tokens = byte === 0xd2 || byte === 0xd3 ? COST.cyrillicNotRussian : 0;
  const lead = byte === 0xd1 || byte === 0xe0 ? byte : 0;
  return { is: 'script', script: scriptOf(byte), tokens, lead };
}

function asciiLetter(byte: number): Sign | undefined {
  const small = String.fromCharCode(byte).toLowerCase();
  if (small < 'a' || small > 'z') return undefined;
  return {
    is: 'letter',
    capital: byte < 0x60,
    consonant: !'aeiouy'.includes(small),
    ending: wordEnding(small),
    tokens: 'jkqxz'.includes(small) ? COST.rareLetter : 0,
    lead: 0,
  };
}

function wordEnding(small: string): number {
  if (small === 'i') return COST.endsInI;
  return small === 'a' || small === 'o' ? COST.endsInAOrO : 0;
}

/** The script that a first byte of several mostly begins. */
function scriptOf(byte: number): Script {
  if (byte < 0xd0) return 'greek';
  if (byte < 0xd4) return 'cyrillic';
  if (byte < 0xd8) return 'hebrew';
  if (byte < 0xe0) return 'arabic';
  if (byte === 0xe0) return 'indic';
  if (byte === 0xe2 || byte === 0xee) return 'symbol';
  if (byte === 0xe3) return 'kana';
  if (byte < 0xea) return 'han';
  if (byte < 0xee) return 'hangul';
  return byte === 0xef ? 'wide' : 'emoji';
}
