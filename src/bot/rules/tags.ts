import { ALIASES } from './languages/aliases.ts';
import { type FoundNames, type NameIndex, nameWords, stem, type TagEntry } from './names.ts';
import { conceptsOf, isPluralNoun, type Word } from './words.ts';

/** Tags that a question names. */
export interface FoundTags {
  tags: string[];
  /** Numbers of the words that name them. */
  taken: ReadonlySet<number>;
  /** “Not tagged eu”. */
  isNegated: boolean;
}

/** Words next to a tag that make any word one. German has another “Tag”, which is seldom before a name. */
const MARK = /^(?:tags?|tagged|labell?ed|getaggt\w*|etiquetad[oa]s?|etiquetas?)$/;

const NOT = /^(?:not|nicht|no|isnt|arent)$/;

/** Finds the tags that a question names; the whole name of a monitor, or any name of other words, beats a tag. Pure. */
export function findTags(
  question: string,
  { words, names, index }: { words: readonly Word[]; names: FoundNames; index: NameIndex },
): FoundTags | undefined {
  if (index.tags.size === 0 && !words.some(({ text }) => MARK.test(text))) return undefined;
  const isAllUpper = question === question.toUpperCase();
  const tags = new Map<string, TagEntry>();
  const taken = new Set<number>();
  let isMarked = false;
  let isNegated = false;
  for (let at = 0; at < words.length; at += 1) {
    const entry = tagAt(words, at, index) ?? unknownTagAt(words, at);
    if (entry === undefined) continue;
    const own = entry.words.map((_, place) => at + place);
    const [before, behind] = [beforeFillers(words, at), at + own.length];
    // At the beginning, “tag” is a verb.
    const marks = [before, behind].filter(
      (place) => place > 0 && MARK.test(words[place]?.text ?? ''),
    );
    const isUpper = (word: Word | undefined) => {
      const text = question.slice(word?.from, word?.to);
      return !isAllUpper && text.length > 1 && text === text.toUpperCase();
    };
    const isTelling = own.some((place) => meansNothingElse(words, place) || isUpper(words[place]));
    if (marks.length === 0 && !isTelling) continue;
    tags.set(entry.words.join(' '), entry);
    for (const place of [...own, ...marks]) taken.add(place);
    isMarked ||= marks.length > 0;
    const first = marks.includes(before) ? beforeFillers(words, before) : before;
    isNegated ||= NOT.test(words[first]?.text ?? '');
    at = behind - 1;
  }
  if (tags.size === 0) return undefined;
  const isNamed =
    [...names.taken].some((at) => !taken.has(at)) ||
    [...names.subjects, ...names.choices].some(({ name }) => tags.has(nameWords(name).join(' ')));
  if (isNamed && !isMarked) return undefined;
  return { tags: [...tags.values()].map(({ tag }) => tag).sort(), taken, isNegated };
}

/** The tag whose words begin here; the longest. */
function tagAt(words: readonly Word[], at: number, { tags }: NameIndex): TagEntry | undefined {
  const isWord = (place: number, word: string) => {
    const { text = '' } = words[place] ?? {};
    return stem(text) === stem(word) || ALIASES.get(text) === word;
  };
  const { text = '' } = words[at] ?? {};
  const starting = [stem(text), ALIASES.get(text) ?? ''].flatMap((word) => tags.get(word) ?? []);
  return starting
    .filter((entry) => entry.words.every((word, place) => isWord(at + place, word)))
    .sort((a, b) => b.words.length - a.words.length)[0];
}

/** “Is anything tagged asia down?”: the look-up says that there is no such tag, and which ones there are. */
function unknownTagAt(words: readonly Word[], at: number): TagEntry | undefined {
  const { text = '' } = words[at] ?? {};
  const isMarked = words[beforeFillers(words, at)]?.text === 'tagged';
  const isWord = conceptsOf(text).length === 0 && /^\p{L}/u.test(text);
  return isMarked && isWord ? { tag: text, words: [text] } : undefined;
}

/** The last word before one that isn't a filler. */
function beforeFillers(words: readonly Word[], at: number): number {
  let before = at - 1;
  while (before >= 0 && conceptsOf(words[before]?.text ?? '').includes('filler')) before -= 1;
  return before;
}

/** True for a word without another meaning, and for technical words and words such as “production”. */
function meansNothingElse(words: readonly Word[], at: number): boolean {
  const { text = '' } = words[at] ?? {};
  const concepts = conceptsOf(text);
  if (concepts.length === 0) return !/^\d/.test(text);
  if (isPluralNoun({ from: at, to: at + 1, concepts, group: 0 }, words)) return false;
  return concepts.every((one) => one === 'technical' || one === 'service');
}
