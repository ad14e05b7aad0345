interface AlertWords {
  noun: string;
  /** In the title of a group: the noun, and the states of its members. */
  inGroup: { noun: string; active: string; back: string };
  /** Before a duration or a count of what is over. */
  was: string;
  times: string;
  /** In the label of a time. */
  label: string;
  began: string;
  status: string;
}

const MONITOR: AlertWords = {
  noun: 'monitor',
  inGroup: { noun: 'service', active: 'down', back: 'recovered' },
  was: 'was down',
  times: 'down',
  label: 'down',
  began: 'went down',
  status: 'DOWN',
};

/** Askwatch can't check reported alerts itself. */
const ALERT: AlertWords = {
  noun: 'alert',
  inGroup: { noun: 'alert', active: 'active', back: 'resolved' },
  was: 'fired',
  times: 'fired',
  label: 'fired',
  began: 'started firing',
  status: 'FIRING',
};

export const isReported = (one: { reported?: unknown; isReported?: boolean }) =>
  one.reported !== undefined || one.isReported === true;

type One = Parameters<typeof isReported>[0];

export const wordsOf = (one: One): AlertWords => (isReported(one) ? ALERT : MONITOR);

/** Monitors and alerts never share a message. */
export const wordsOfAll = (all: readonly One[]): AlertWords =>
  all.length > 0 && all.every(isReported) ? ALERT : MONITOR;
