/** Bits of an entry that hold a cost, and the mask that leaves only them. */
export const COST_BITS = 12;
export const COST_MASK = (1 << COST_BITS) - 1;

/**
 * Returns the cost of each byte of UTF-8 after each state. Entry `state + byte` has the cost in its lowest bits, in
 * thousandths of a token, and the next state above them. States are multiples of 256; a text begins in state 0.
 * Compiled on first use, because that takes about 15 ms of CPU.
 */
export function tokenTable(): Int32Array {
  table ??= compile();
  return table;
}

let table: Int32Array | undefined;

/** The text so far, as far as it matters for the next byte. */
interface TextState {
  after: 'nothing' | 'space' | 'newline' | 'digit' | 'mark' | 'word' | Script;
  /** Count of these in a row, up to where more make no difference. */
  run: number;
  /** The last letter is a capital. */
  capital: boolean;
  /** Cost if the word ends here. */
  ending: number;
  /** Consonants at the end of the word so far. */
  consonants: number;
  /** First byte of a character, if its second byte matters. */
  lead: number;
}

type TokenStep = readonly [tokens: number, next: TextState];

function stateAfter(after: TextState['after'], run = 1, lead = 0): TextState {
  return { after, run, capital: false, ending: 0, consonants: 0, lead };
}

function step(state: TextState, sign: Sign): TokenStep {
  if (sign.is === 'inside') return [secondByte(state.lead, sign.from), { ...state, lead: 0 }];
  if (sign.is === 'letter') return letterStep(state, sign);
  const ending = state.after === 'word' && state.run >= 3 ? state.ending : 0;
  const [tokens, next] = sign.is === 'script' ? scriptStep(state, sign) : asciiStep(state, sign.is);
  return [ending + tokens, next];
}

function secondByte(lead: number, from: number): number {
  if (lead === 0xd1) return from === 0x90 ? COST.cyrillicNotRussian : 0;
  if (lead === 0xe0) return from === 0xb8 ? COST.thai : 0;
  // Vietnamese is at the end; before it Georgian, Khmer and others.
  if (lead === 0xe1) return from < 0xb8 ? COST.otherLetter : 0;
  return 0;
}

function asciiStep(
  { after, run }: TextState,
  sign: 'space' | 'newline' | 'digit' | 'mark',
): TokenStep {
  const again = after === sign;
  switch (sign) {
    case 'space':
      if (!again) return [0, stateAfter(sign)];
      return [run === 1 ? COST.secondSpace : COST.moreSpaces, stateAfter(sign, 2)];
    case 'newline':
      if (again) return [COST.moreNewlines, stateAfter(sign)];
      return [after === 'mark' ? 0 : COST.newline, stateAfter(sign)];
    case 'digit':
      if (again && run < 3) return [0, stateAfter(sign, run + 1)];
      return [COST.digits + (after === 'space' ? COST.digitsAfterSpace : 0), stateAfter(sign)];
    case 'mark':
      if (again) return [run === 1 ? COST.secondMark : COST.moreMarks, stateAfter(sign, 2)];
      if (after === 'word') return [COST.markAfterWord, stateAfter(sign)];
      return [after === 'space' ? COST.markAfterSpace : COST.mark, stateAfter(sign)];
  }
}

function scriptStep(
  state: TextState,
  { script, tokens, lead }: Sign & { is: 'script' },
): TokenStep {
  const [first, next] = SCRIPT[script];
  return [tokens + (state.after === script ? next : first), stateAfter(script, 1, lead)];
}

function letterStep(state: TextState, letter: Sign & { is: 'letter' }): TokenStep {
  const { capital = false, consonant = false, ending = 0, lead } = letter;
  const inWord = state.after === 'word';
  const hump = inWord && capital && !state.capital;
  const run = inWord && !hump ? Math.min(state.run + 1, 5) : 1;
  const consonants = consonant ? Math.min((inWord ? state.consonants : 0) + 1, 3) : 0;
  let tokens = letter.tokens + (consonants === 3 ? COST.thirdConsonant : 0);
  if (!inWord) tokens += beginningOfWord(state.after);
  else if (hump) tokens += COST.hump;
  else if (capital) tokens += COST.capital;
  else if (run === 5) tokens += COST.longWord;
  return [tokens, { after: 'word', run, capital, ending, consonants, lead }];
}

function beginningOfWord(after: TextState['after']): number {
  if (after === 'mark') return COST.wordAfterMark;
  return after === 'digit' ? COST.wordAfterDigit : COST.word;
}

function compile(): Int32Array {
  const signs = new Map<string, Sign>();
  const signNames = Array.from({ length: 256 }, (_, byte) => {
    const sign = signOf(byte);
    const name = JSON.stringify(sign);
    signs.set(name, sign);
    return name;
  });
  const states = [stateAfter('nothing')];
  const numbers = new Map(states.map((state, number) => [JSON.stringify(state), number]));
  const rows: number[][] = [];
  // The list grows during the loop, by the states that it reaches.
  for (const state of states) {
    const entries = new Map<string, number>();
    for (const [signName, sign] of signs) {
      const [tokens, next] = step(state, sign);
      const name = JSON.stringify(next);
      const number = numbers.get(name) ?? states.push(next) - 1;
      numbers.set(name, number);
      entries.set(signName, ((number * 256) << COST_BITS) | Math.round(tokens * 1000));
    }
    rows.push(signNames.map((name) => entries.get(name) ?? 0));
  }
  return Int32Array.from(rows.flat());
}

/**
 * Costs in tokens. The numbers are fitted to the tokenizer o200k_base over texts of many kinds (test/fixtures/texts/tuned)
 * and lean some percent to the high side; none of them is a rule of any tokenizer.
 */
const COST = {
  word: 0.9,
  wordAfterMark: 0.36,
  wordAfterDigit: 1.25,
  /** For each letter after the fourth. */
  longWord: 0.135,
  /** A capital inside a word of small letters, as in camelCase. */
  hump: 0.6,
  capital: 0.08,
  /** Letters and clusters that are rare in English: other languages and random strings have more tokens. */
  rareLetter: 0.47,
  thirdConsonant: 0.22,
  /** Words of three letters or more that end like few English ones. */
  endsInAOrO: 0.3,
  endsInI: 0.95,
  accent: 0.1,
  farAccent: 0.78,
  otherLetter: 0.5,
  /** For each three. */
  digits: 1.14,
  digitsAfterSpace: 0.6,
  mark: 0.65,
  markAfterWord: 0.75,
  markAfterSpace: 1.37,
  secondMark: 0.42,
  moreMarks: 0.3,
  newline: 0.83,
  moreNewlines: 0.2,
  secondSpace: 0.55,
  moreSpaces: 0.05,
  /** Cyrillic letters that Russian does not have. */
  cyrillicNotRussian: 1.5,
  thai: 0.13,
} as const;

/** Other scripts and signs: tokens of the first one in a row, and of each after it. */
const SCRIPT = {
  greek: [0.97, 0.28],
  cyrillic: [1.09, 0.12],
  hebrew: [0.94, 0.32],
  arabic: [0.9, 0.23],
  indic: [0.72, 0.26],
  kana: [0.9, 0.54],
  han: [1.2, 0.68],
  hangul: [1.23, 0.54],
  symbol: [0.88, 0.75],
  wide: [0.96, 0.96],
  emoji: [2.4, 1.42],
} as const;

type Script = keyof typeof SCRIPT;

/** Kind of a byte. All bytes of a kind are treated alike. */
type Sign =
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

/** Classifies a byte. The first byte of several decides by the most common characters that begin with it. */
function signOf(byte: number): Sign {
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

/** Returns the most common script of characters with this first byte. */
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
