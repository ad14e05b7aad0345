/** Words for what is watched, and for what becomes of it. */
interface AlertWords {
  noun: string;
  /** Before a duration or a count of what is over. */
  was: string;
  /** Before a count. */
  times: string;
  /** In the label of a time. */
  label: string;
  began: string;
  /** Its state while it is in trouble. */
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

/** Askwatch knows of alerts of other systems only what these say. */
const ALERT: AlertWords = {
  noun: 'alert',
  was: 'fired',
  times: 'fired',
  label: 'fired',
  began: 'started firing',
  status: 'FIRING',
};

/** An alert of another system: an incident, or a member of a message about several. */
export const isReported = (one: { reported?: unknown; isReported?: boolean | undefined }) =>
  one.reported !== undefined || one.isReported === true;

type One = Parameters<typeof isReported>[0];

export const wordsOf = (one: One): AlertWords => (isReported(one) ? ALERT : MONITOR);

/** Monitors and alerts never share a message. */
export const wordsOfAll = (all: readonly One[]): AlertWords =>
  all.length > 0 && all.every(isReported) ? ALERT : MONITOR;
