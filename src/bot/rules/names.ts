import { tagsOf } from '../channels/monitor-filter.ts';
import { ALIASES } from './languages/aliases.ts';
import type { Concept } from './languages/vocabulary.ts';
import { distance, maskOf, typosIn } from './typos.ts';
import {
  addressIn,
  conceptsOf,
  folded,
  isKnownWord,
  isPluralNoun,
  termsIn,
  type Word,
} from './words.ts';

/** A monitor, or an alert from another system that is firing in the channel. */
export interface NamedSubject {
  id: string;
  name: string;
  kind: 'monitor' | 'alert';
  target?: string;
  tags?: readonly string[];
}

/** Monitors and alerts that a question names. */
export interface FoundNames {
  /** One for each thing that is named. */
  subjects: NamedSubject[];
  /** Subjects that match a name equally well. */
  choices: NamedSubject[];
  /** Numbers of the words that name them. */
  taken: ReadonlySet<number>;
}

export interface NameIndex {
  entries: NameEntry[];
  /** Entries by each word of their name. */
  byWord: Map<string, number[]>;
  longWords: Array<{ word: string; mask: number }>;
  /** Entries by all words of their name, or two in a row, without spaces. */
  byJoined: Map<string, number[]>;
  byTarget: Map<string, number[]>;
  /** Tags by their first word. */
  tags: Map<string, TagEntry[]>;
}

export interface TagEntry {
  tag: string;
  words: string[];
}

/** Tags that are found in questions, so that a service with very many doesn't make questions slow. */
const MAX_TAGS = 2_000;

interface NameEntry {
  subject: NamedSubject;
  words: string[];
}

/** Words of a question that match words of one name. */
interface Match {
  entry: NameEntry;
  /** Numbers of the words of the question. */
  at: number[];
  isWhole: boolean;
  /** Sum over its words: 1 for the same word, less for another form. */
  quality: number;
}

const QUALITY = { stem: 0.95, typo: 0.8 };

/** Words without an ending of plural or genitive. */
export const stem = (word: string) =>
  word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;

/** Indexes names once for many questions. Pure. */
export function indexNames(subjects: readonly NamedSubject[]): NameIndex {
  const index: NameIndex = {
    entries: [],
    byWord: new Map(),
    longWords: [],
    byJoined: new Map(),
    byTarget: new Map(),
    tags: new Map(),
  };
  for (const tag of tagsOf(subjects).slice(0, MAX_TAGS)) {
    const words = nameWords(tag);
    addTo(index.tags, stem(words[0] ?? ''), { tag, words });
  }
  for (const subject of subjects) {
    const words = [...new Set(nameWords(subject.name))];
    const place = index.entries.push({ subject, words }) - 1;
    for (const word of words) addTo(index.byWord, stem(word), place);
    for (const [at, word] of words.entries()) {
      const next = words[at + 1];
      if (next !== undefined) addTo(index.byJoined, stem(word + next), place);
    }
    if (words.length > 2) addTo(index.byJoined, stem(words.join('')), place);
    const { id, name, target = '' } = subject;
    const address = addressIn(folded(name)) ?? '';
    for (const form of new Set([folded(id), address, ...formsOf(target)])) {
      addTo(index.byTarget, form, place);
    }
  }
  for (const word of index.byWord.keys()) {
    if (typosIn(word) > 0) index.longWords.push({ word, mask: maskOf(word) });
  }
  return index;
}

function addTo<T>(map: Map<string, T[]>, key: string, value: T): void {
  if (key === '') return;
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}

const NAME_WORD = /\d+|\p{L}[\p{L}\p{N}]*/gu;

/** The words of a name; an address in it is split. */
export const nameWords = (name: string): string[] => folded(name).match(NAME_WORD) ?? [];

const bareTarget = (target: string) =>
  folded(target)
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '');

/** A target as people write it: whole, and its host. */
function formsOf(target: string): Set<string> {
  const bare = bareTarget(target);
  const [host = ''] = bare.split(/[/?#]/);
  return new Set([bare, host, host.replace(/:\d+$/, '')]);
}

/** The one subject whose name has a word of a question and most in common with another one: after Shop, “the staging one”. Pure. */
export function findAlike(
  words: readonly Word[],
  index: NameIndex,
  others: readonly NamedSubject[],
): NamedSubject | undefined {
  const { byWord, entries } = index;
  const known = new Set(others.flatMap(({ name }) => nameWords(name).map(stem)));
  const parts = words
    .map(({ text }) => stem(nameWord(text, index)))
    .filter((word) => !known.has(word));
  const places = new Set(parts.flatMap((word) => byWord.get(word) ?? []));
  const ranked = [...places]
    .flatMap((place) => entries[place] ?? [])
    .filter(({ subject }) => !others.includes(subject))
    .map((entry) => {
      const shared = entry.words.filter((word) => known.has(stem(word))).length;
      return { entry, shared, more: entry.words.length - shared };
    })
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared || a.more - b.more);
  const [best, next] = ranked;
  const isOnly =
    next === undefined || next.shared < (best?.shared ?? 0) || next.more > (best?.more ?? 0);
  return isOnly ? best?.entry.subject : undefined;
}

/** Finds the subjects that a question names. An exact name beats a part of another; targets come last. Pure. */
export function findNames(asWritten: readonly Word[], index: NameIndex): FoundNames {
  // “Sitio web” is any site, “la web” may be the monitor Website.
  const words = asWritten.map((word, at) => {
    const text = nameWord(word.text, index);
    const before = asWritten[at - 1];
    // “Ich suche” is no search.
    const isOther = before?.text === 'ich' || (text === 'website' && isNoun(before));
    return isOther ? word : { ...word, text };
  });
  const found: FoundNames & { taken: Set<number> } = {
    subjects: [],
    choices: [],
    taken: new Set(),
  };
  const concepts = words.map(({ text }) => conceptsOf(text));
  const isOfMany = termsIn(words, () => false).some(
    (term) =>
      term.concepts.some((one) => one === 'all' || one === 'howMany') || isPluralNoun(term, words),
  );
  const telling = matchesIn(words, index).filter((match) =>
    isTelling(match, { words, concepts, isOfMany }),
  );
  // “The plain shop, not the API”.
  const meant = telling.filter(({ at: [first = 0] }) => !isExcluded(words, concepts, first));
  const matches = (meant.length > 0 ? meant : telling).sort(
    (a, b) =>
      b.at.length - a.at.length || Number(b.isWhole) - Number(a.isWhole) || b.quality - a.quality,
  );
  const matchesAt: Match[][] = words.map(() => []);
  for (const match of matches) for (const at of match.at) matchesAt[at]?.push(match);
  for (const best of matches) {
    if (best.at.some((at) => found.taken.has(at))) continue;
    const equal = best.at
      .flatMap((at) => matchesAt[at] ?? [])
      .filter(
        (one) =>
          one.at.length === best.at.length &&
          one.isWhole === best.isWhole &&
          Math.abs(one.quality - best.quality) < 0.01,
      );
    const subjects = [...new Set(equal.map(({ entry }) => entry.subject))];
    // A part of another name right next to a name makes the name of neither.
    const [first = 0, last = first] = [best.at[0], best.at.at(-1)];
    const isNext = found.taken.has(first - 1) || found.taken.has(last + 1);
    if (isNext && !best.isWhole && found.subjects.length > 0) {
      found.choices.push(...found.subjects.splice(-1), ...subjects);
    } else if (subjects.length === 1) found.subjects.push(...subjects);
    else found.choices.push(...subjects);
    for (const { at } of equal) for (const one of at) found.taken.add(one);
  }
  if (found.taken.size === 0) addTargets(words, index, found);
  // “Payments and the EU one”: an unclear part belongs to the monitor that is named in full.
  const named = words.filter((_, at) => found.taken.has(at));
  const alike = findAlike(named, index, found.subjects);
  const isPart = alike !== undefined && found.choices.includes(alike);
  if (isPart) found.subjects.push(alike);
  found.choices = isPart ? [] : [...new Set(found.choices)];
  return found;
}

const isNoun = (word: Word | undefined) => conceptsOf(word?.text ?? '').includes('service');

/** The word of names that a word stands for; the word itself if no name has another form of it. */
function nameWord(text: string, { byWord, byJoined }: NameIndex): string {
  const word = ALIASES.get(text);
  if (word === undefined || byWord.has(stem(text))) return text;
  return byWord.has(stem(word)) || byJoined.has(stem(word)) ? word : text;
}

/** German puts names there, too: “können wir Blog pausieren?”. */
const PRONOUN = /^(?:i|you|we|they)$/;

const NOT = /^(?:not|nicht|no)$/;

/** True for a name right behind “not”. */
function isExcluded(words: readonly Word[], concepts: ReadonlyArray<Concept[]>, at: number) {
  let before = at - 1;
  while (concepts[before]?.includes('filler')) before -= 1;
  return NOT.test(words[before]?.text ?? '');
}

/** True if one word means nothing else, or is a technical noun, or if the name is written in full. */
function isTelling(
  { at, isWhole, entry }: Match,
  question: { words: readonly Word[]; concepts: ReadonlyArray<Concept[]>; isOfMany: boolean },
): boolean {
  const { words, concepts, isOfMany } = question;
  const texts = at.map((one) => words[one]?.text ?? '');
  // “I search”.
  const isVerb = at.length === 1 && PRONOUN.test(words[(at[0] ?? 0) - 1]?.text ?? '');
  if (isVerb) return false;
  const own = at.map((one) => concepts[one] ?? []);
  if (own.some((known, place) => known.length === 0 && !/^\d/.test(texts[place] ?? '')))
    return true;
  const before = concepts[(at[0] ?? 0) - 1] ?? [];
  const behind = concepts[(at.at(-1) ?? 0) + 1] ?? [];
  if (isOfMany || before.includes('which') || behind.includes('service')) {
    const isClear = texts.length > 1 || before.length === 0;
    return isWhole && isClear && texts.join('') === entry.words.join('');
  }
  if (own.some((known) => known.includes('technical'))) return true;
  return isWhole && texts.join('') === entry.words.join('');
}

function addTargets(
  words: readonly Word[],
  { byTarget, entries }: NameIndex,
  found: FoundNames & { taken: Set<number> },
) {
  for (const [at, { text }] of words.entries()) {
    const address = addressIn(text) ?? text;
    const forms = [...formsOf(address)];
    const places = forms.map((form) => byTarget.get(form)).find((one) => one !== undefined) ?? [];
    const all = places.flatMap((place) => entries[place]?.subject ?? []);
    const subjects = mainOf(all, bareTarget(address));
    if (subjects.length === 0) continue;
    found.taken.add(at);
    if (subjects.length === 1) found.subjects.push(...subjects);
    else found.choices.push(...subjects);
  }
}

/** True for “back up”, which is no backup. */
const isPhrase = (words: readonly Word[], at: number) =>
  termsIn(words.slice(at, at + 2), () => false)[0]?.to === 2;

/** The address of a host is its first page, not every page on it, nor its name in the DNS. */
function mainOf(subjects: readonly NamedSubject[], address: string): readonly NamedSubject[] {
  const exact = subjects.filter(({ target = '' }) => bareTarget(target) === address);
  const pages = exact.filter(({ target = '' }) => target.startsWith('http'));
  return [pages, exact].find((some) => some.length > 0) ?? subjects;
}

function matchesIn(words: readonly Word[], index: NameIndex): Match[] {
  const hits = new Map<number, Array<{ at: number[]; word: string; quality: number }>>();
  const hit = (places: readonly number[], at: number[], word: string, quality: number) => {
    for (const place of places) {
      const isSame =
        at.length === 1 && index.entries[place]?.words.includes(words[at[0] ?? 0]?.text ?? '');
      const match = { at, word, quality: isSame ? 1 : quality };
      const before = hits.get(place);
      if (before) before.push(match);
      else hits.set(place, [match]);
    }
  };
  const parts = words.map(({ text }) => (addressIn(text) === undefined ? text : ''));
  for (const [at, text] of parts.entries()) {
    if (text === '') continue;
    for (const { word, quality } of similarWords(text, index)) {
      hit(index.byWord.get(word) ?? [], [at], word, quality);
    }
    const joined = index.byJoined.get(stem(text)) ?? [];
    for (const place of joined) {
      const own = index.entries[place]?.words ?? [];
      for (const word of own.filter((one) => text.includes(stem(one)))) {
        hit([place], [at], stem(word), QUALITY.stem);
      }
    }
    const next = parts[at + 1] ?? '';
    const both = stem(text + next);
    if (next !== '' && index.byWord.has(both) && !isPhrase(words, at)) {
      hit(index.byWord.get(both) ?? [], [at, at + 1], both, QUALITY.stem);
    }
  }
  return [...hits].flatMap(([place, found]) => {
    const entry = index.entries[place];
    return entry ? clusters(entry, found, parts) : [];
  });
}

/** Words of names that a word may mean. Typos count only in words that mean nothing else. */
function similarWords(text: string, index: NameIndex): Array<{ word: string; quality: number }> {
  const base = stem(text);
  if (index.byWord.has(base)) return [{ word: base, quality: QUALITY.stem }];
  const typos = typosIn(text);
  if (typos === 0 || isKnownWord(text)) return [];
  const mask = maskOf(base);
  return index.longWords.flatMap(({ word, mask: wordMask }) => {
    const max = Math.min(typos, typosIn(word));
    const isNear = distance(base, mask, word, wordMask, max) <= max;
    return isNear ? [{ word, quality: QUALITY.typo }] : [];
  });
}

/** Words between two words of one name: `the API of the shop`. */
const CONNECTING = new Set(
  'of the for in on from to at a an de del la el los las en der des dem von vom zum zur im fur'.split(
    ' ',
  ),
);
const MAX_BETWEEN = 2;

/** Matches whose words stand together. A name may be there twice. */
function clusters(
  entry: NameEntry,
  hits: ReadonlyArray<{ at: number[]; word: string; quality: number }>,
  words: readonly string[],
): Match[] {
  const sorted = [...hits].sort((a, b) => (a.at[0] ?? 0) - (b.at[0] ?? 0));
  const matches: Match[] = [];
  const wholeSize = new Set(entry.words.map(stem)).size;
  let current: { at: number[]; words: Map<string, number>; end: number } | undefined;
  const close = () => {
    if (!current) return;
    const isWhole = current.words.size === wholeSize;
    const quality = [...current.words.values()].reduce((sum, one) => sum + one, 0);
    matches.push({ entry, at: [...new Set(current.at)], isWhole, quality });
  };
  for (const { at, word, quality } of sorted) {
    const [first = 0] = at;
    const between = current ? words.slice(current.end + 1, first) : [];
    const isNear = between.length <= MAX_BETWEEN && between.every((one) => CONNECTING.has(one));
    const isRepeat = current?.words.has(word) && !current.at.includes(first);
    if (!current || !isNear || isRepeat) {
      close();
      current = { at: [], words: new Map(), end: first };
    }
    current.at.push(...at);
    current.words.set(word, Math.max(quality, current.words.get(word) ?? 0));
    current.end = Math.max(current.end, ...at);
  }
  close();
  return matches;
}
