/**
 * What text costs in tokens, by what stands where. The numbers are fitted to the tokenizer o200k_base over texts of many
 * kinds (test/fixtures/texts/tuned) and lean some percent to the high side; none of them is a rule of any tokenizer.
 */
export const COST = {
  word: 0.9,
  wordAfterMark: 0.36,
  wordAfterDigit: 1.25,
  /** For each letter after the fourth. */
  longWord: 0.135,
  /** A capital inside a word of small letters, as in camelCase. */
  hump: 0.6,
  capital: 0.08,
  /** Letters and clusters that English has few of: other languages and random strings are made of more tokens. */
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

/** Other scripts and signs: tokens of the first of several on end, and of each after it. */
export const SCRIPT = {
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

export type Script = keyof typeof SCRIPT;
