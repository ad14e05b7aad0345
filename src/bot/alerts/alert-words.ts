/** How people speak of what is watched, and of what becomes of it. */
interface AlertWords {
  /** One of them. */
  noun: string;
  /** It is DOWN again and again. */
  flaps: string;
  flapMany: string;
  flapping: string;
  /** For so long, or so often, that is over now. */
  was: string;
  /** What stands before how often. */
  times: string;
  /** The same as the label of a time. */
  label: string;
  began: string;
  /** It is over. */
  recovered: string;
  back: string;
  /** The same of some who are counted. */
  areBack: string;
  notBack: string;
  /** Nothing more is known of it. */
  lost: string;
  /** How it is while it must not be. */
  status: string;
}

const MONITOR: AlertWords = {
  noun: 'monitor',
  flaps: 'goes down and up',
  flapMany: 'go down and up',
  flapping: 'going down and up',
  was: 'was down',
  times: 'down',
  label: 'down',
  began: 'went down',
  recovered: 'recovered',
  back: 'was down and is up again',
  areBack: 'up again',
  notBack: 'not UP',
  lost: 'no longer watched',
  status: 'DOWN',
};

/** Of what other systems report nobody here knows more than what they say. */
const ALERT: AlertWords = {
  noun: 'alert',
  flaps: 'fires and resolves',
  flapMany: 'fire and resolve',
  flapping: 'firing and resolving',
  was: 'fired',
  times: 'fired',
  label: 'fired',
  began: 'began to fire',
  recovered: 'resolved',
  back: 'fired and is resolved',
  areBack: 'resolved',
  notBack: 'not resolved',
  lost: 'no longer reported',
  status: 'FIRING',
};

/** Of both together. */
const MIXED: AlertWords = { ...MONITOR, noun: 'monitors and alert', areBack: 'over' };

/** Whether it is an alert that another system reports: an incident, or one among several. */
export const isReported = (one: { reported?: unknown; isReported?: boolean | undefined }) =>
  one.reported !== undefined || one.isReported === true;

type One = Parameters<typeof isReported>[0];

/** How people speak of one. */
export const wordsOf = (one: One): AlertWords => (isReported(one) ? ALERT : MONITOR);

/** How people speak of several together. */
export function wordsOfAll(all: readonly One[]): AlertWords {
  const reported = all.filter(isReported).length;
  if (reported === 0) return MONITOR;
  return reported === all.length ? ALERT : MIXED;
}
