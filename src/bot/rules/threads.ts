import {
  type FindContext,
  findIn,
  has,
  isAnswerable,
  type ParsedQuestion,
  TOPICS,
} from './find.ts';
import { type Concept, listOf } from './languages/vocabulary.ts';
import { findAlike, findNames, indexNames, type NamedSubject } from './names.ts';

/** An earlier question of a thread and its answer. */
export interface EarlierTurn {
  question: string;
  answer: string;
}

/** Earlier turns have no say in what a question means. */
const MAX_TURNS = 10;

interface ThreadContext extends FindContext {
  before: ParsedQuestion | undefined;
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
  let shown = '';
  for (const turn of turns.slice(-MAX_TURNS)) {
    const found = continued(findIn(turn.question, context), { ...context, before, shown });
    // A request is repeated only for a choice that it waits for.
    const request = found.choices.length > 0 ? found.request : undefined;
    if (isAnswerable(found)) before = { ...found, request };
    shown = turn.answer;
  }
  return continued(findIn(question, context), { ...context, before, shown });
}

/** Adds to a question what it leaves out: the monitor, time or topic of the one before. */
function continued(now: ParsedQuestion, { before, shown, index }: ThreadContext): ParsedQuestion {
  if (!before) return now;
  const { subjects } = before;
  const chosen = pick(now, before, shown);
  if (chosen) return { ...before, subjects: [...subjects, chosen], choices: [], unknown: [] };
  const hasNames = now.subjects.length + now.choices.length > 0 || now.group !== undefined;
  if (now.request) return hasNames ? now : { ...now, subjects };
  const isShort = has(now, 'also', 'it');
  const alike = now.choices.length > 0 || (isShort && !hasNames);
  const near = alike ? findAlike(now.words, index, subjects) : undefined;
  const isNewTopic = has(now, ...TOPICS);
  const concepts = isNewTopic ? now.concepts : withTopics(now, before);
  const span = now.span ?? (has(now, 'now') ? undefined : before.span);
  if (near)
    return { ...now, subjects: [...now.subjects, near], choices: [], concepts, span, unknown: [] };
  if (hasNames) return isNewTopic ? now : { ...now, concepts, span };
  const isOfAll = has(now, 'which', 'all', 'howMany', 'service', 'here', 'usage');
  const isFresh = (isNewTopic && isOfAll && !isShort) || now.unknown.length > 1;
  if (isFresh || !(isNewTopic || isShort || now.span || has(now, ...ASKING))) return now;
  return { ...now, subjects, group: before.group, concepts, span };
}

/** Questions that need something before them. */
const ASKING = listOf('why when duration howOften past now compare');

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
