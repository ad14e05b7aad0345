import { english } from './languages/english.ts';
import { german } from './languages/german.ts';
import type { Grammar } from './languages/grammar.ts';
import { spanish } from './languages/spanish.ts';
import { folded, type Word } from './words.ts';

const MAX_WORDS = 6;

/** Endings of names by country, such as `Shop DE`: in capitals they are none of the words that they look like. */
const COUNTRIES = new Set(['DE', 'ES', 'US', 'IT', 'IN', 'AT', 'NO']);

/** A date, a time or a share in a name is a part of the question that is not understood. */
const FIGURES =
  /^(?:\d{1,4}[/-]\d{1,2}(?:[/-]\d{1,4})?|\d{1,2}\.\d{1,2}\.(?:\d{2,4})?|\d{1,2}:\d{2}|\d+(?:[.,]\d+)?%)$/;

const PUNCTUATION = /^[^\p{L}\p{N}]*$/u;

/** With umlauts and as they are written without. */
const words = (all: string) =>
  all
    .split(' ')
    .flatMap((word) => [
      folded(word),
      folded(word.replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue')),
    ]);

/** Of all languages: “status” and others are words of several, and half of another language is not understood. */
const NOT_IN_NAMES = new Set(
  [english, german, spanish].flatMap(({ notInNames }) => words(notInNames)),
);

/** What reads the names of monitors in one language: without what stands around them, and nothing that is more than a name. */
export function createNameReader({ aroundNames }: Grammar) {
  const around = new Set(words(aroundNames));
  return function readName(all: readonly Word[], question: string): string | undefined {
    let [from, to] = [0, all.length];
    while (from < to && around.has(all[from]?.folded ?? '')) from += 1;
    while (to > from && around.has(all[to - 1]?.folded ?? '')) to -= 1;
    const own = all.slice(from, to);
    const [first, last] = [own[0], own.at(-1)];
    if (!first || !last || own.length > MAX_WORDS) return undefined;
    if (first.folded === '"') return own.length === 1 ? first.text : undefined;
    const isName = own.every((word, at) => {
      if (at > 0 && at === own.length - 1 && COUNTRIES.has(word.text)) return true;
      return (
        word.folded !== '"' &&
        !isMark(word) &&
        !FIGURES.test(word.text) &&
        !NOT_IN_NAMES.has(word.folded)
      );
    });
    const name = question.slice(first.start, last.end);
    return isName && !PUNCTUATION.test(name) ? name : undefined;
  };
}

const isMark = ({ folded: text }: Word) => /^[.,;:?!¿¡…§]+$/.test(text);
