import { english } from './languages/english.ts';
import { german } from './languages/german.ts';
import { spanish } from './languages/spanish.ts';
import { type Concept, listOf, type Vocabulary } from './languages/vocabulary.ts';
import { distance, maskOf } from './typos.ts';

/** A folded word of a question and its place in the text, from 0. */
export interface Word {
  text: string;
  from: number;
  to: number;
}

/** Words in a row that mean something together; no concept if they are unknown. */
export interface Term {
  /** Numbers of its words. */
  from: number;
  to: number;
  concepts: readonly Concept[];
  /** The place in a list such as `months`. */
  group: number;
}

/** Longer texts are cut: a question is short, and what follows is a log or a quote. */
export const MAX_CHARACTERS = 600;
const MAX_WORDS = 80;

const ADDRESS = String.raw`https?:\/\/[^\s<>"'“”]+|(?:[\p{L}\d_-]+\.)+\p{L}{2,}(?::\d+)?(?:\/[^\s<>"'“”?]*)?|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?`;
const TIME = String.raw`(?<=\b(?:am|el)\s)\d{1,2}\/\d{1,2}(?:\/\d{4})?|\d{4}-\d{2}-\d{2}|\d{1,2}\.\d{1,2}\.(?:\d{4})?|\d{1,2}:\d{2}(?:\s?[ap]m\b)?|\d{1,2}\s?[ap]m\b`;
const WORD = new RegExp(
  String.raw`${ADDRESS}|${TIME}|\d+(?:st|nd|rd|th)?(?![\p{L}\d])|\d+|\p{L}[\p{L}\p{M}\p{N}]*(?:['’]\p{L}+)*`,
  'giu',
);

const ADDRESS_ONLY = new RegExp(`^(?:${ADDRESS})$`, 'iu');

/** An address without punctuation behind it; `undefined` for other words. */
export const addressIn = (text: string): string | undefined =>
  ADDRESS_ONLY.test(text) ? text.replace(/[.,;:!?)\]]+$/, '') : undefined;

/** A text as words are compared. Pure. */
export function folded(text: string): string {
  const lower = text.toLowerCase().replace(WE_ARE, 'we').replace(/['’]/g, '');
  if (PLAIN.test(lower)) return lower;
  return lower
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss');
}

/** Without the apostrophe it would be the past “were”. */
const WE_ARE = /\bwe['’]re\b/;

/** Most texts have no accents, and folding those is slow. */
const PLAIN = /^[ -~]*$/;

/** The words of a text. Pure. */
export function wordsIn(text: string): Word[] {
  const words: Word[] = [];
  for (const { 0: found, index } of text.slice(0, MAX_CHARACTERS).matchAll(WORD)) {
    const [to, before] = [index + found.length, text.slice(Math.max(0, index - 6), index)];
    const word = { text: ON_DAY.test(before) ? dateOf(found) : folded(found), from: index, to };
    const [, day, part] = CLOCK.test(text.slice(to)) ? [] : (DAY_PART.exec(word.text) ?? []);
    if (day === undefined || part === undefined) words.push(word);
    else words.push({ ...word, text: day }, { text: part, from: to - part.length, to });
    if (words.length >= MAX_WORDS) break;
  }
  return words.filter((word) => word.text !== '');
}

/** Begins “am 17.” and “el 24/11”, but not “I am 5 minutes late”. */
const ON_DAY = /(?<!\p{L}|\bi )(?:am|el)\s$/iu;

/** Days without a month are read like “17th”. */
const dateOf = (text: string) =>
  /^\d\d?$/.test(text) ? `${text}th` : folded(text).replace(/^(\d+)\/(\d+)\/?/, '$1.$2.');

/** “Dienstagabend”, but not “Dienstagabend um 20 Uhr”, whose part of the day says nothing more. */
const DAY_PART =
  /^(\w{3,7}tag|mittwoch|sonnabend)(frueh|fruh|morgen|vormittag|mittag|nachmittag|abend|nacht)s?$/;
const CLOCK = /^\s*(?:um|gegen|zwischen|von|ab|bis)?\s*\d/i;

interface Phrase {
  words: string[];
  isStem: boolean;
  concept: Concept;
  group: number;
}

/** Number of first letters that stems are indexed by. */
const STEM = 3;

/** Reads the words of one language. */
class Language {
  private readonly phrases = new Map<string, Phrase[]>();
  private readonly stems = new Map<string, Phrase[]>();
  private readonly longWords: Array<{ word: string; mask: number; isStem: boolean }> = [];

  constructor(vocabulary: Vocabulary) {
    for (const [concept, list] of Object.entries(vocabulary) as Array<[Concept, string]>) {
      for (const [group, texts] of list.split('|').entries()) {
        for (const text of texts.split(',')) {
          this.add(text.trim(), concept, group);
          if (/[äöü]/.test(text)) this.add(withoutUmlauts(text.trim()), concept, group);
        }
      }
    }
  }

  /** The longest term that begins at a word; with `undefined` if the word is unknown. */
  termAt(words: readonly string[], at: number): Term | undefined {
    const word = words[at] ?? '';
    const candidates = [
      ...(this.phrases.get(word) ?? []),
      ...(this.stems.get(word.slice(0, STEM)) ?? []),
    ];
    let longest: Phrase[] = [];
    for (const phrase of candidates) {
      const length = longest[0]?.words.length ?? 0;
      if (phrase.words.length < length || !isAt(phrase, words, at)) continue;
      if (phrase.words.length > length) longest = [];
      longest.push(phrase);
    }
    const [first] = longest;
    if (!first) return undefined;
    const concepts = longest.map(({ concept }) => concept);
    const group = Math.max(...longest.map((phrase) => phrase.group));
    return { from: at, to: at + first.words.length, concepts, group };
  }

  /** Meanings of one word. A filler counts only if it is whole: `wär*` also begins names. */
  meaningsOf(word: string): Concept[] {
    const stems = this.stems.get(word.slice(0, STEM)) ?? [];
    return [...(this.phrases.get(word) ?? []), ...stems.filter((one) => one.concept !== 'filler')]
      .filter((phrase) => isAt(phrase, [word], 0))
      .map(({ concept }) => concept);
  }

  /** A known word that is one typo away, or two if it is long. */
  corrected(word: string): string | undefined {
    const isNear = (one: (typeof this.longWords)[number]) => {
      const text = one.isStem ? word.slice(0, one.word.length) : word;
      const max = !one.isStem && word.length >= MIN_TWICE ? 2 : 1;
      return distance(text, maskOf(text), one.word, one.mask, max) <= max;
    };
    return this.longWords.find(isNear)?.word;
  }

  private add(text: string, concept: Concept, group: number): void {
    if (text === '') return;
    const isStem = text.endsWith('*');
    const words = folded(isStem ? text.slice(0, -1) : text).split(/[\s-]+/);
    const [first = '', ...others] = words;
    const index = isStem && others.length === 0 ? this.stems : this.phrases;
    const key = index === this.stems ? first.slice(0, STEM) : first;
    const phrases = index.get(key) ?? [];
    phrases.push({ words, isStem, concept, group });
    index.set(key, phrases);
    const isLong = others.length === 0 && first.length >= (isStem ? MIN_STEM : MIN_CORRECTED);
    if (!isLong || NOT_CORRECTED.includes(concept)) return;
    this.longWords.push({ word: first, mask: maskOf(first), isStem });
  }
}

/** The spelling of umlauts on keyboards that lack them. */
const withoutUmlauts = (text: string) =>
  text.replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue');

/** A typo must not request anything. */
const NOT_CORRECTED = listOf('filler pause resume snooze remove acknowledge watch test rename set');

/** Shorter words are often other words. */
const MIN_CORRECTED = 6;
const MIN_STEM = 8;
const MIN_TWICE = 11;

function isAt({ words, isStem }: Phrase, all: readonly string[], at: number): boolean {
  return words.every((word, place) => {
    const found = all[at + place] ?? '';
    return isStem && place === words.length - 1 ? found.startsWith(word) : found === word;
  });
}

let languages: Language[] | undefined;

/** Created at the first question. */
const allLanguages = () => {
  languages ??= [english, german, spanish].map((vocabulary) => new Language(vocabulary));
  return languages;
};

/** The meanings of a word in all languages. */
export const conceptsOf = (word: string): Concept[] =>
  allLanguages().flatMap((language) => language.meaningsOf(word));

export const isKnownWord = (word: string): boolean => conceptsOf(word).length > 0;

/**
 * The terms of a question in order. The language that knows most of the words is asked first, the others for the rest.
 * `isTaken` words, such as the ones of names, belong to no term. Pure.
 */
export function termsIn(words: readonly Word[], isTaken: (at: number) => boolean): Term[] {
  const free = words.map(({ text }, at) => (isTaken(at) ? '' : text));
  const knownBy = (language: Language) =>
    free.filter((word) => word !== '' && language.termAt([word], 0)).length;
  const ranked = allLanguages()
    .map((language) => ({ language, known: knownBy(language) }))
    .sort((a, b) => b.known - a.known)
    .map(({ language }) => language);
  const [main] = ranked;
  const terms: Term[] = [];
  for (let at = 0; at < free.length; ) {
    const word = free[at] ?? '';
    if (word === '') {
      at += 1;
      continue;
    }
    const split = main?.termAt([word, free[clauseEnd(words, at)] ?? ''], 0);
    const isSplit = split?.to === 2 && split.concepts.some((one) => SPLIT.includes(one));
    const whole = firstOf(ranked, (language) => language.termAt(free, at));
    const term = isSplit ? { ...split, from: at, to: at + 1 } : whole;
    terms.push(term ?? correctedTerm(main, free, at));
    at = term?.to ?? at + 1;
  }
  return terms;
}

/** Requests whose verb may be split: “schalte Shop aus” is “schalte aus”. */
const SPLIT = listOf('pause resume remove rename');

/** The last word of the clause that a word is in. */
const clauseEnd = (words: readonly Word[], at: number) =>
  words.findIndex((_, place) => place > at && endsClause(words, place));

/** True for the last word of a clause: a comma takes more than a space. */
export const endsClause = (words: readonly Word[], at: number): boolean =>
  (words[at + 1]?.from ?? Infinity) > (words[at]?.to ?? 0) + 1;

function correctedTerm(language: Language | undefined, words: readonly string[], at: number): Term {
  const unknown = { from: at, to: at + 1, concepts: [], group: 0 };
  const word = words[at] ?? '';
  const corrected = word.length >= MIN_CORRECTED ? language?.corrected(word) : undefined;
  if (corrected === undefined) return unknown;
  return { ...unknown, ...language?.termAt([corrected], 0), from: at, to: at + 1 };
}

function firstOf<T, R>(all: readonly T[], find: (one: T) => R | undefined): R | undefined {
  for (const one of all) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The number that a term is, in figures or as a word. */
export function numberOf(
  { from, concepts, group }: Term,
  words: readonly Word[],
): number | undefined {
  const text = words[from]?.text ?? '';
  if (/^\d{1,3}$/.test(text)) return Number(text);
  return concepts.includes('numbers') ? group : undefined;
}

/** True for “monitors” and “Dienste”. */
export const isPluralNoun = ({ from, concepts }: Term, words: readonly Word[]): boolean =>
  concepts.includes('service') &&
  /(?:s|monitore|monitoren|diensten?|seiten)$/.test(words[from]?.text ?? '');
