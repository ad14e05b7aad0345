import {
  type FindContext,
  findIn,
  has,
  isAnswerable,
  type ParsedQuestion,
  TOPICS,
} from './find.ts';
import { type Concept, listOf } from './languages/vocabulary.ts';
import { findAlike, findNames, indexNames, type NamedSubject, type NameIndex } from './names.ts';
import type { Span } from './spans.ts';
import type { Word } from './words.ts';

/** An earlier question of a thread and its answer. */
export interface EarlierTurn {
  question: string;
  answer: string;
}

/** Earlier turns have no say in what a question means. */
const MAX_TURNS = 10;

interface ThreadContext extends FindContext {
  before: ParsedQuestion | undefined;
  /** The last subjects that were named together. */
  several: readonly NamedSubject[];
  /** The last answer. */
  shown: string;
}

/**
 * Finds what the last question of a thread means after the ones before it. `about` are the subjects of the thread itself, such as
 * of an alert. Pure.
 */
export function findInThread(
  question: string,
  turns: readonly EarlierTurn[],
  context: FindContext & { about?: readonly NamedSubject[] },
): ParsedQuestion {
  const { about = [] } = context;
  let before = about.length > 0 ? { ...findIn('status', context), subjects: about } : undefined;
  let several = about;
  let shown = '';
  for (const turn of turns.slice(-MAX_TURNS)) {
    const found = findAfter(turn.question, { ...context, before, several, shown });
    // A request is repeated only for a choice that it waits for.
    const request = found.choices.length > 0 ? found.request : undefined;
    if (isAnswerable(found)) before = { ...found, request };
    if (found.subjects.length > 1) several = found.subjects;
    shown = turn.answer;
  }
  return findAfter(question, { ...context, before, several, shown });
}

const OTHER = /\b(?:other|else|ander[en]|otr[oa])/i;
/** Ends of parts of a long text. */
const PART_END = /[.!?:;,\n]\s+(?=\S)/g;

/** “I have a demo of Shop at 2, is it up?”: if the whole tells too much, its last parts are asked. */
function findAfter(question: string, context: ThreadContext): ParsedQuestion {
  let { before } = context;
  const all = findIn(question, context);
  const others = context.several.filter((one) => !before?.subjects.includes(one));
  if (OTHER.test(question) && (others.length === 1 || !has(all, 'it')))
    before = before && others.length === 1 ? { ...before, subjects: others } : undefined;
  const whole = continued(all, { ...context, before });
  const isClear = isAnswerable(whole) || whole.request || whole.choices.length > 0;
  if (isClear || whole.lead.includes('general')) return whole;
  const ends = [...question.matchAll(PART_END)];
  for (const { index } of ends.slice(-3)) {
    const first = findIn(question.slice(0, index), context);
    const now = findIn(question.slice(index + 1), context);
    if (first.subjects.length > 0) before = first;
    const found = continued(now, { ...context, before });
    if ((before || !has(now, 'it')) && !found.request && isAnswerable(found)) return found;
  }
  const starts = ends
    .slice(0, 3)
    .map(({ index }) =>
      continued(findIn(question.slice(0, index), context), { ...context, before }),
    );
  return starts.find((start) => !start.request && isAnswerable(start)) ?? whole;
}

/** Adds to a question what it leaves out: the monitor, time or topic of the one before. */
function continued(now: ParsedQuestion, { before, shown, index }: ThreadContext): ParsedQuestion {
  if (!before) return now;
  const { subjects } = before;
  const chosen = pick(now, before, shown);
  if (chosen) return { ...before, subjects: [...subjects, chosen], choices: [], unknown: [] };
  const isGroup = now.group !== undefined || now.tags !== undefined;
  const hasNames = now.subjects.length + now.choices.length > 0 || isGroup;
  if (now.request) return hasNames ? now : { ...now, subjects };
  const isShort = has(now, 'also', 'it');
  const alike = now.choices.length > 0 || (isShort && !hasNames);
  const [again, ...more] = now.choices.filter((one) => subjects.includes(one));
  const near =
    again && more.length === 0 ? [again] : alike ? alikeOf(now.words, index, subjects) : [];
  const isNewTopic = has(now, ...TOPICS);
  const concepts = isNewTopic ? now.concepts : withTopics(now, before);
  const span = spanAfter(now, before);
  if (near.length > 0) {
    const all = [...now.subjects, ...near];
    return { ...now, subjects: all, choices: [], concepts, span, unknown: [] };
  }
  if (hasNames) return isNewTopic ? now : { ...now, concepts, span };
  const isOfAll = has(now, 'which', 'all', 'howMany', 'service', 'here', 'usage');
  const isOfOther = !isNewTopic && now.unknown.some((word) => word.length > 3);
  const isFresh = (isNewTopic && isOfAll && !isShort) || now.unknown.length > 1 || isOfOther;
  // “How many incidents this week?”, “Which one was the longest?”
  if (isFresh && subjects.length === 0 && has(now, 'which') && has(now, ...OF_SAME_TIME))
    return { ...now, span };
  if (isFresh || !(isNewTopic || isShort || now.span || has(now, ...ASKING))) return now;
  return { ...now, subjects, group: before.group, tags: before.tags, concepts, span };
}

const OF_SAME_TIME = listOf('past longest most worst');

/** “And the staging one?”, “EU and US too”. */
function alikeOf(words: readonly Word[], index: NameIndex, subjects: readonly NamedSubject[]) {
  const one = findAlike(words, index, subjects);
  if (one) return [one];
  return [...new Set(words.flatMap((word) => findAlike([word], index, subjects) ?? []))];
}

const DAY_MS = 86_400_000;

/** The time of the question before, or the one before that: “and the day before?”, “the weekend before that”. */
function spanAfter(now: ParsedQuestion, { span }: ParsedQuestion): Span | undefined {
  if (span && has(now, 'earlier')) {
    const lengthMs = span.toMs - span.fromMs;
    // Two days are a weekend.
    const backMs = lengthMs === 2 * DAY_MS ? 7 * DAY_MS : lengthMs;
    return { fromMs: span.fromMs - backMs, toMs: span.toMs - backMs };
  }
  return now.span ?? (has(now, 'now') ? undefined : span);
}

/** Questions that need something before them. */
const ASKING = listOf('why when duration howOften past now compare earlier except');

const KEPT = [...TOPICS, ...listOf('worst most not all which past howOften howMany')];

const withTopics = (now: ParsedQuestion, before: ParsedQuestion): ReadonlySet<Concept> =>
  new Set([...KEPT.filter((one) => before.concepts.has(one)), ...now.concepts]);

/** The choice that a reply picks from the list that was shown: “the second”, “Payments (EU)”. */
function pick(
  now: ParsedQuestion,
  { choices }: ParsedQuestion,
  shown: string,
): NamedSubject | undefined {
  if (choices.length === 0) return undefined;
  const [only, ...others] = now.words;
  const figure = others.length === 0 && /^\d+$/.test(only?.text ?? '') ? only?.text : undefined;
  const number = now.picked === undefined ? figure : now.picked + 1;
  if (number !== undefined) {
    const row = shown.split('\n').find((line) => line.startsWith(`${number}. `)) ?? '';
    const name = row.slice(`${number}. `.length).replace(/\\(.)|\*\*/g, '$1');
    // “Payments” is the beginning of “Payments EU”, and two monitors may have one name.
    const named = choices.filter((one) => name.startsWith(one.name));
    const length = Math.max(...named.map((one) => one.name.length));
    const best = named.filter((one) => one.name.length === length);
    return best.find((one) => one === choices[Number(number) - 1]) ?? best[0];
  }
  const { subjects } = findNames(now.words, indexNames(choices));
  return subjects.length === 1 ? subjects[0] : undefined;
}
