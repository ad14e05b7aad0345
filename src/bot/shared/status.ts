import { shortened } from './text-format.ts';

/**
 * How bad a status is: all is well, nothing was checked yet, people want to hear nothing, it works but not as it should, or it is
 * an outage.
 */
export type Severity = 'well' | 'pending' | 'silenced' | 'degraded' | 'down';

const words = (severity: Severity, all: string) =>
  all.split(' ').map((word): [string, Severity] => [word, severity]);

/**
 * Our choice: the contract shows only `UP` and leaves the rest open, so these are the words that services commonly use.
 * Any other one is an outage: to be told of what is none is better than not to be told of one.
 */
const SEVERITY = new Map([
  ...words('well', 'UP OK OKAY ONLINE HEALTHY OPERATIONAL PASSING PASS PASSED ALIVE AVAILABLE'),
  ...words('well', 'RUNNING ACTIVE READY NORMAL GOOD GREEN SUCCESS RECOVERED RESOLVED'),
  ...words('pending', 'PENDING'),
  ...words('silenced', 'PAUSED MAINTENANCE DISABLED'),
  ...words('degraded', 'DEGRADED WARNING WARN SLOW YELLOW'),
]);

/** How bad a status is; letter case is not meaning. Source: monitoring contract, "States and transitions". */
export const severityOf = (status: string): Severity =>
  SEVERITY.get(status.trim().toUpperCase()) ?? 'down';

export const isUp = ({ status }: { status: string }) => severityOf(status) === 'well';
export const isDown = ({ status }: { status: string }) => severityOf(status) === 'down';
export const isDegraded = ({ status }: { status: string }) => severityOf(status) === 'degraded';

/** Whether nothing is known of it: it is neither up nor down, and no news. */
export const isPending = ({ status }: { status: string }) => severityOf(status) === 'pending';

/** Whether it is a status that people set, to hear nothing. */
export const isSilenced = ({ status }: { status: string }) => severityOf(status) === 'silenced';

/** Whether nobody checks it until somebody resumes it. */
export const isPaused = (of: { status: string }) =>
  isSilenced(of) && of.status.trim().toUpperCase() !== 'MAINTENANCE';

/** The word for several that are down: theirs where they have the same, as it stands. */
export function downWord(all: ReadonlyArray<{ status: string }>): string {
  const found = new Set(all.map(({ status }) => status.trim().toUpperCase()));
  const [only = 'DOWN'] = found;
  return found.size === 1 ? shortened(only, 40) : 'DOWN';
}

/** What is said of a heartbeat whose job has said nothing yet. */
export const NO_PING_YET = 'waiting for its first ping';

/** What happens to a monitor at its interval: we check it, or its job pings us. */
export const checkWords = ({ check_type }: { check_type: string }) =>
  check_type === 'HEARTBEAT'
    ? { every: 'Pinged every', last: 'Last ping' }
    : { every: 'Checked every', last: 'Last check' };

/** When the service says that the status changed, Unix milliseconds; one whose clock is ahead is not believed. */
export function statusChangedAtMs(
  { status_changed_at }: { status_changed_at?: string },
  nowMs: number,
): number | undefined {
  const saidMs = status_changed_at === undefined ? Number.NaN : Date.parse(status_changed_at);
  return Number.isNaN(saidMs) ? undefined : Math.min(saidMs, nowMs);
}
