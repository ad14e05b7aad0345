import { CheckType } from '../../contracts/monitoring.ts';
import { type Concept, listOf } from './languages/vocabulary.ts';
import { type FoundNames, findNames, type NamedSubject, type NameIndex, stem } from './names.ts';
import { type ChangeRequest, requestIn } from './requests.ts';
import { aheadIn, type Span, spanBehind, spanIn } from './spans.ts';
import { findTags } from './tags.ts';
import {
  addressIn,
  endsClause,
  folded,
  isPluralNoun,
  MAX_CHARACTERS,
  numberOf,
  type Term,
  termsIn,
  type Word,
  wordsIn,
} from './words.ts';

/** Everything that was found in a question. */
export interface ParsedQuestion {
  subjects: readonly NamedSubject[];
  /** Subjects that match a name equally well, to ask which. */
  choices: readonly NamedSubject[];
  /** A part of names that many monitors have, or a type of check: “the Payments monitors”. */
  group?: string;
  /** Tags of monitors: “what is down in eu?”. */
  tags?: readonly string[];
  /** A part of names to leave out: “without staging”. */
  without?: string;
  /** A noun in the plural, such as “monitors”. */
  isOfMany: boolean;
  span?: Span;
  /** The time that `span` is compared with: “this week compared to last week”. */
  compared?: Span;
  concepts: ReadonlySet<Concept>;
  request?: ChangeRequest;
  /** Length of a list: “the 5 slowest”. */
  count?: number;
  /** Length of a time ahead, such as “in the next 2 weeks”. */
  aheadMs?: number;
  /** A type of check, in small letters. */
  type?: string;
  /** A place in a list of choices, from 0. */
  picked?: number;
  /** Meanings of the first word that tells something. */
  lead: readonly Concept[];
  /** Words that mean nothing here. */
  unknown: readonly string[];
  words: readonly Word[];
}

export interface FindContext {
  index: NameIndex;
  nowMs: number;
  /** IANA name of the channel's time zone. */
  zone: string;
}

/** Concepts that are a subject or a state on their own. */
export const TOPICS = listOf(
  'ok up down degraded paused maintenance flapping status incident alert uptime downtime response slow certificate change newest check interval run usage longest latest',
);

/** True if any of the concepts was found. */
export const has = ({ concepts }: Pick<ParsedQuestion, 'concepts'>, ...some: readonly Concept[]) =>
  some.some((one) => concepts.has(one));

const TYPES: ReadonlySet<string> = new Set(CheckType.options.map((type) => type.toLowerCase()));

/** Finds names, a time, topics and a request in a question; all other words are ignored. Pure. */
export function findIn(text: string, { index, nowMs, zone }: FindContext): ParsedQuestion {
  const question = text.slice(0, MAX_CHARACTERS);
  const words = wordsIn(question);
  const names = findNames(words, index);
  const tagged = findTags(question, { words, names, index });
  if (tagged) Object.assign(names, { subjects: [], choices: [], taken: tagged.taken });
  const terms = withoutLead(
    termsIn(words, (at) => names.taken.has(at)),
    words,
  );
  const clock = { nowMs, zone };
  const request = requestIn(question, { words, terms, isNamed: names.taken.size > 0, clock });
  if (request?.nameAt !== undefined) {
    const { choices, subjects } = findNames(wordsIn(question.slice(0, request.nameAt)), index);
    names.choices = choices;
    names.subjects = subjects;
  }
  const address = words.find(({ text }) => addressIn(text) !== undefined);
  const isUnnamed = names.taken.size === 0 && request === undefined;
  const without = withoutIn(terms, words, index);
  const group = address && isUnnamed ? addressIn(address.text) : undefined;
  const concepts = new Set(terms.flatMap((term) => term.concepts));
  if (tagged?.isNegated) concepts.add('except');
  const found = spanIn(terms, words, clock);
  const isThan = found?.isThan === true && COMPARED.some((one) => concepts.has(one));
  if (isThan) concepts.add('compare');
  // “Is Shop up? I have a demo at 2”.
  const isMoment = found !== undefined && found.toMs - found.fromMs <= MOMENT_MS;
  const isAside =
    isMoment && (concepts.has('tomorrow') || !OF_THEN.some((one) => concepts.has(one)));
  const isAhead = concepts.has('future') && !concepts.has('past');
  return {
    tags: tagged?.tags,
    ...(group !== undefined || without !== undefined || tagged
      ? { subjects: [], choices: [], group }
      : groupOf(names, { words, terms, index })),
    without,
    isOfMany: terms.some((term) => isPluralNoun(term, words)),
    ...(!isAhead && !isAside && timesOf(found, isThan, clock.nowMs)),
    aheadMs: aheadIn(terms, words, clock),
    concepts,
    request,
    count: countIn(terms, words),
    type: words.map((word) => stem(word.text)).find((one) => TYPES.has(one)),
    picked: terms.find(({ concepts }) => concepts.includes('ordinal'))?.group,
    lead: terms.find(({ concepts }) => !concepts.includes('filler'))?.concepts ?? [],
    unknown: terms
      .filter(({ concepts }) => concepts.length === 0)
      .map(({ from }) => words[from]?.text ?? '')
      .filter((text) => !/^(?:\d|q[1-4]$)/.test(text) && addressIn(text) === undefined),
    words,
  };
}

/** Two times of a comparison, or one. */
function timesOf(found: Span | undefined, isThan: boolean, nowMs: number) {
  const span = found && { fromMs: found.fromMs, toMs: found.toMs };
  return span && isThan ? { span: spanBehind(span, nowMs), compared: span } : { span };
}

/** Length of “at 9”. */
const MOMENT_MS = 45 * 60_000;

/** Words of questions about a moment in the past. */
const OF_THEN = listOf(
  'past last since ago between why when yesterday incident dayBefore weekdays',
);

const COMPARED = listOf('compare slow response');

const MAX_BEHIND = 3;

/** A word of names right behind “without”. */
function withoutIn(terms: readonly Term[], words: readonly Word[], { byWord }: NameIndex) {
  const except = terms.find(({ concepts }) => concepts.includes('except'));
  const behind = except ? words.slice(except.to, except.to + MAX_BEHIND) : [];
  return behind.map(({ text }) => stem(text)).find((word) => byWord.has(word));
}

/** “How many”, but not “how much”. */
const MANY = /^(?:many|vielen?|cuant[oa]s)$/;

const MAX_FEW = 3;

const OF_MANY = listOf('all which');

const DAY_PARTS = listOf('morning afternoon evening');

/** “Ok” and “Morning!” at the beginning say nothing. */
function withoutLead([first, ...others]: Term[], words: readonly Word[]): Term[] {
  if (first?.from !== 0) return first ? [first, ...others] : [];
  const isOk = first.concepts.includes('ok') && !first.concepts.includes('run');
  const isGreeting =
    DAY_PARTS.some((one) => first.concepts.includes(one)) && endsClause(words, first.to - 1);
  return isOk || isGreeting ? others : [first, ...others];
}

/** A name before a noun in the plural means all monitors that have it, as does a technical word of many names. */
function groupOf(
  { subjects, choices, taken }: FoundNames,
  question: { words: readonly Word[]; terms: readonly Term[]; index: NameIndex },
): Pick<ParsedQuestion, 'subjects' | 'choices' | 'group'> {
  const { words, terms, index } = question;
  const single = (at: number) => stem(words[at]?.text ?? '');
  const isPlural = (term: Term) => isPluralNoun(term, words);
  const plural = terms.find((term) => isPlural(term) && taken.has(term.from - 1));
  if (plural && subjects.length + choices.length > 0) {
    let start = plural.from - 1;
    while (taken.has(start - 1)) start -= 1;
    const named = words
      .slice(start, plural.from)
      .map(({ text }) => text)
      .join(' ');
    const [only, ...more] = [...subjects, ...choices];
    if (only && more.length === 0) {
      return { subjects: [], choices: [], group: folded(only.name) };
    }
    const isInName = [...subjects, ...choices].some(({ name }) => folded(name).includes(named));
    return { subjects: [], choices: [], group: isInName ? named : named.replace(/s$/, '') };
  }
  // “What do we monitor for the wiki?”
  const [one, ...several] = subjects;
  if (one && several.length === 0 && terms.some(isOfGroup))
    return { subjects: [], choices: [], group: folded(one.name) };
  const twins = one && several.length === 0 && words.some(({ text }) => BOTH.test(text));
  const pair = twins ? index.entries.filter(({ subject }) => isPartOf(one, subject)) : [];
  if (pair.length === 2) return { subjects: pair.map(({ subject }) => subject), choices: [] };
  const isOfSeveral = terms.some(
    (term) => isPlural(term) || term.concepts.some((one) => OF_MANY.includes(one)),
  );
  const technical = terms.find(
    ({ from, concepts }) =>
      concepts.includes('technical') &&
      (TYPES.has(single(from)) || (index.byWord.get(single(from))?.length ?? 0) > 1),
  );
  const isCount = words.some(({ text }) => MANY.test(text));
  if (taken.size === 0 && technical && (isOfSeveral || isCount)) {
    return { subjects: [], choices: [], group: single(technical.from) };
  }
  // “The backups” are all of the few that match.
  const isOfAll = (at: number) =>
    single(at) !== words[at]?.text &&
    !choices.some(({ name }) => folded(name).includes(words[at]?.text ?? ''));
  if (choices.length > 1 && choices.length <= MAX_FEW && [...taken].some(isOfAll)) {
    return { subjects: [...new Set([...subjects, ...choices])], choices: [] };
  }
  const [only = 0] = taken;
  if ((isOfSeveral || isOfAll(only)) && taken.size === 1 && choices.length > 1) {
    return { subjects, choices: [], group: single(only) };
  }
  return { subjects: [...new Set(subjects)], choices };
}

const BOTH = /^(?:both|beiden?|ambos|ambas)$/;

/** True for “Nightly backup” and “Nightly backup EU”. */
const isPartOf = (part: NamedSubject, { name }: NamedSubject) =>
  ` ${folded(name)} `.includes(` ${folded(part.name)} `);

const isOfGroup = ({ from, to, concepts }: Term) =>
  to - from > 1 && concepts.includes('which') && concepts.includes('service');

const COUNTED = listOf('slow worst service check incident certificate');

function countIn(terms: readonly Term[], words: readonly Word[]): number | undefined {
  const place = terms.findIndex(
    (term, at) =>
      numberOf(term, words) !== undefined &&
      (terms[at + 1]?.concepts.some((one) => COUNTED.includes(one)) ||
        terms[at - 1]?.concepts.includes('most')),
  );
  const term = terms[place];
  return term && numberOf(term, words);
}

/** The lowest score of a question that is answered. */
const ENOUGH = 2;

const HINTS = listOf('why when duration howOften howMany which all service now here');

/** Words that tell that a question is about all monitors, or this channel. */
const OF_ALL = listOf('all here longest worst most newest latest');

/** Facts of one monitor only. */
const OF_ONE = listOf('duration interval check');

/** Words that make a time a question about outages. */
const PAST = listOf('past all worst most');

const REQUESTED = listOf('pause paused resume snooze remove acknowledge alert watch set');

/** True if enough of a question is about services, and little about anything else. Pure. */
export function isAnswerable(found: ParsedQuestion): boolean {
  const { subjects, choices, group, tags, concepts, span, unknown, request } = found;
  const isOfOther = has(found, 'general');
  if (request) return !isOfOther || (unknown.length === 0 && subjects.length > 0);
  // Monitors and incidents have no names of people.
  const hasName = subjects.length > 0 || group !== undefined || tags !== undefined;
  const isOfPerson = has(found, 'who') && has(found, ...REQUESTED) && !has(found, 'which');
  if (isOfPerson || (hasName && found.lead.includes('who'))) return false;
  const isCount = has(found, 'howMany', 'which', 'all') && has(found, 'service', 'technical');
  const topics = TOPICS.filter((one) => concepts.has(one) && !(one === 'usage' && hasName)).length;
  // “How many usable hosts are in a /27?”
  if (isCount && topics === 0 && !hasName && unknown.length > 0) return false;
  // Without a topic, a name may be a common word.
  const isGroup = group !== undefined || tags !== undefined;
  const isSure = isGroup || topics > 0 || (unknown.length === 0 && !has(found, 'howMany'));
  const names = hasName ? (isSure ? 3 : has(found, 'howMany') ? 0 : 1) : choices.length > 0 ? 2 : 0;
  if (isOfOther && (names === 0 || found.lead.includes('general'))) return false;
  const isOfAll = found.isOfMany || has(found, ...OF_ALL) || found.lead.includes('which');
  const isAll = isOfAll || has(found, 'which');
  if (names === 0 && has(found, ...OF_ONE) && !isAll) return false;
  if (names === 0 && has(found, 'run') && !has(found, 'ok', 'technical') && !isAll) return false;
  if (names === 0 && unknown.length > 0 && !isOfAll) return false;
  const isOfPast = span !== undefined && has(found, ...PAST) && unknown.length === 0;
  const isTopic = !hasName && (isCount || isOfPast);
  const about = names + Math.min(4, 2 * (topics + Number(isTopic)));
  const hints = span || has(found, ...HINTS) ? 1 : 0;
  const doubt = unknown.length * (unknown.length > (names === 0 ? 1 : 2) ? 2 : 1);
  return about + hints - doubt - (isOfOther ? 4 : 0) >= ENOUGH;
}

/** Concepts that questions about any subject have. */
const GENERAL = listOf(
  'filler general who which why when howMany all not also past at as until since numbers most this it between ordinal today except than future',
);

/** On-call duty and HTTP statuses: rules have no answer about them, but a model may. */
const FOR_A_MODEL = /\bon[- ]?call\b|\b[45]\d\d\b/i;

/** Words of several languages, which don't tell the language of a text. */
const SHARED = new Set('a de des e en es in la le me no o on se si te tu un una y'.split(' '));

const CALCULATION = /\d\s*[%+*/×÷^=]/;

/**
 * True if a model may need to look something up: for a text about services, one in an unknown language, or one that tells
 * nothing. Pure.
 */
export function mayConcernServices(text: string, index: NameIndex): boolean {
  const found = findIn(text, { index, nowMs: 0, zone: 'UTC' });
  const { subjects, choices, tags, concepts, unknown, words, request } = found;
  if (FOR_A_MODEL.test(text) || words.some((word) => addressIn(word.text) !== undefined)) {
    return true;
  }
  if (subjects.length + choices.length > 0 || tags || request || concepts.size === 0) return true;
  if ([...concepts].some((one) => !GENERAL.includes(one))) return true;
  if (has(found, 'general')) return false;
  if (unknown.length === 0) return !CALCULATION.test(text);
  return words.every((word) => unknown.includes(word.text) || SHARED.has(word.text));
}
