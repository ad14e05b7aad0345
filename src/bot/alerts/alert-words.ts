/** Words about a monitor or a reported alert. */
interface AlertWords {
  noun: string;
  /** Before a duration or a count of what is over. */
  was: string;
  /** Before a count. */
  times: string;
  /** In the label of a time. */
  label: string;
  began: string;
  status: string;
}

const MONITOR: AlertWords = {
  noun: 'monitor',
  was: 'was down',
  times: 'down',
  label: 'down',
  began: 'went down',
  status: 'DOWN',
};

/** Askwatch can't check reported alerts itself. */
const ALERT: AlertWords = {
  noun: 'alert',
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
