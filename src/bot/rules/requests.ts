import { readDuration } from '../../contracts/duration.ts';
import { type Concept, listOf } from './languages/vocabulary.ts';
import { beginsLater, endIn, type ZoneClock } from './spans.ts';
import { addressIn, numberOf, type Term, type Word } from './words.ts';

const VERBS = [
  'rename',
  'pause',
  'snooze',
  'remove',
  'acknowledge',
  'resume',
  'watch',
  'test',
  'set',
] as const;
export type RequestVerb = (typeof VERBS)[number];

/** A change that somebody asks for. */
export interface ChangeRequest {
  verb: RequestVerb;
  /** Address to watch. */
  target?: string;
  /** The new name. */
  name?: string;
  /** Place of the new name in the question, from 0. */
  nameAt?: number;
  intervalSeconds?: number;
  /** End of a pause or a snooze. */
  untilMs?: number;
  /** A pause or a snooze isn't meant to begin now, or its end wasn't understood. */
  isUnclear?: boolean;
}

/** Verbs that are seldom anything else, wherever they are in a question. */
const CLEAR_VERBS = VERBS.slice(0, 5);
const OTHER_VERBS = VERBS.slice(5);

/** Words that may stand before a request: “ok, can you please check …”. */
const POLITE = listOf(
  'filler also it now all service ok since every second minute hour day future',
);

/** Words of questions, which request nothing. */
const ASKING = listOf('who which why when duration howOften howMany past');

/** A question in parts. */
interface QuestionParts {
  words: readonly Word[];
  terms: readonly Term[];
  isNamed: boolean;
  clock: ZoneClock;
}

export function requestIn(question: string, parts: QuestionParts): ChangeRequest | undefined {
  const { words, terms, isNamed, clock } = parts;
  const isAsked = YES_OR_NO.test(words[0]?.text ?? '');
  const found = isAsked ? undefined : verbIn(terms, words);
  if (found === undefined) return undefined;
  const intervalSeconds = intervalIn(terms, words);
  // “Check Shop every 5 minutes” changes it, “check Shop” checks it now.
  const target = words
    .map(({ from, to }) => addressIn(question.slice(from, to)))
    .find((one) => one !== undefined);
  const isNew = found === 'watch' && target !== undefined;
  const isChange = ['watch', 'test', 'set'].includes(found) && isNamed && !isNew;
  const verb = isChange && intervalSeconds !== undefined ? 'set' : found;
  if (verb === 'set') return intervalSeconds === undefined ? undefined : { verb, intervalSeconds };
  if (verb === 'watch') {
    if (target === undefined) return undefined;
    return { verb, target, intervalSeconds, name: newName(question, parts)?.name };
  }
  const isOf = (one: Concept) => terms.some(({ concepts }) => concepts.includes(one));
  // A reply may leave out what it is about: “then mute until 15:00, please”.
  const isBare = verb !== 'test' && !isOf('general') && terms.every((term) => isKnown(term, words));
  if (!isNamed && !isOf('it') && !isBare && (verb === 'test' || !isOf('all'))) return undefined;
  if (verb === 'rename') {
    const named = newName(question, parts, RENAMED);
    return named && { verb, ...named };
  }
  const hasEnd = verb === 'pause' || verb === 'snooze';
  if (!hasEnd) return { verb };
  const untilMs = endIn(terms, words, clock);
  const isUnclear = beginsLater(terms, words) || (untilMs === undefined && hasTime(terms, words));
  return { verb, untilMs, isUnclear: isUnclear || undefined };
}

const isKnown = ({ from, concepts }: Term, words: readonly Word[]) =>
  concepts.length > 0 || /^\d/.test(words[from]?.text ?? '');

const TIMES = listOf(
  'tomorrow next weekend weekdays morning evening night until months numbers second minute hour day week month year',
);

const hasTime = (terms: readonly Term[], words: readonly Word[]) =>
  terms.some(
    ({ from, concepts }) =>
      TIMES.some((one) => concepts.includes(one)) || /^\d/.test(words[from]?.text ?? ''),
  );

/** First words of questions for yes or no. */
const YES_OR_NO = /^(?:is|are|was|were|ist|sind|war|waren|es|esta|estan)$/;

function verbIn(terms: readonly Term[], words: readonly Word[]): RequestVerb | undefined {
  if (terms.some(({ concepts }) => concepts.some((one) => ASKING.includes(one)))) return undefined;
  const isVerb = (verb: RequestVerb) => (term: Term) => term.concepts.includes(verb);
  const isNegated = terms.some(
    (term, at) =>
      terms[at - 1]?.concepts.includes('not') && VERBS.some((verb) => isVerb(verb)(term)),
  );
  if (isNegated) return undefined;
  const clear = CLEAR_VERBS.find((verb) => terms.some(isVerb(verb)));
  // Turning off the alerts of Shop is a snooze, because Shop is still watched.
  const isOfAlerts = terms.some(({ concepts }) => concepts.includes('alert'));
  if (isOfAlerts && (clear === 'pause' || clear === 'remove')) return 'snooze';
  if (clear !== undefined) return clear;
  // “Set Shop on hold”.
  const first = terms.find(
    ({ from, concepts }) =>
      OTHER_VERBS.some((verb) => concepts.includes(verb)) ||
      (!concepts.some((one) => POLITE.includes(one)) &&
        !/^\d/.test(words[from]?.text ?? '') &&
        addressIn(words[from]?.text ?? '') === undefined),
  );
  const verb = first && OTHER_VERBS.find((one) => isVerb(one)(first));
  const isPause = verb === 'set' && terms.some(({ concepts }) => concepts.includes('paused'));
  return isPause ? 'pause' : verb;
}

const UNITS = ['second', 'minute', 'hour', 'day'] as const;

const MARKERS = listOf('every until interval');

/** `every 5 minutes`, `each hour`, `to 30s`. */
function intervalIn(terms: readonly Term[], words: readonly Word[]): number | undefined {
  const marker = terms.findIndex(({ concepts }) => MARKERS.some((one) => concepts.includes(one)));
  if (marker === -1) return undefined;
  for (const [at, term] of terms.entries()) {
    if (at < marker) continue;
    const unit = UNITS.find((one) => term.concepts.includes(one));
    const before = terms[at - 1];
    const count = (before && at > marker && numberOf(before, words)) ?? 1;
    const ms = unit && readDuration(`${count} ${unit}s`);
    if (ms) return ms / 1000;
  }
  return undefined;
}

/** Words before a new name. */
const NAMED = /\s(?:as(?! well\b)|called|named|name it|call it|als|namens|como|llamado)\s+/giu;
const RENAMED = /\s(?:to|into|in|as|zu|nach|als|a|por|como|en)\s+/giu;

/** The name that the question ends with, as it was written. */
function newName(question: string, { words, terms }: QuestionParts, marker = NAMED) {
  const last = [...question.matchAll(marker)].at(-1);
  if (!last) return undefined;
  const start = last.index + last[0].length;
  const every = terms.find(
    ({ from, concepts }) => concepts.includes('every') && (words[from]?.from ?? 0) >= start,
  );
  const name = question
    .slice(start, every && words[every.from]?.from)
    .replace(/[,.;!?\s]+$/, '')
    .replace(
      /(?:[,\s]+(?:um|please|pls|plz|bitte|por favor|porfa|thanks|thank you|thx|ty|danke|gracias))+$/i,
      '',
    )
    .replace(/^["'“„«`‘]+|["'”“»`’]+$/g, '');
  return name === '' ? undefined : { name, nameAt: last.index };
}
