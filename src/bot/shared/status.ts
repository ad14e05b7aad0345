/** `silenced` is a status that people set to get no alerts. */
export type Severity = 'well' | 'pending' | 'silenced' | 'degraded' | 'down';

const words = (severity: Severity, all: string) =>
  all.split(' ').map((word): [string, Severity] => [word, severity]);

/**
 * Words that services commonly use: the contract defines only `UP`. Any other status is an outage, because a false alert is
 * better than a missed one.
 */
const SEVERITY = new Map([
  ...words('well', 'UP OK OKAY ONLINE HEALTHY OPERATIONAL PASSING PASS PASSED ALIVE AVAILABLE'),
  ...words('well', 'RUNNING ACTIVE READY NORMAL GOOD GREEN SUCCESS RECOVERED RESOLVED'),
  ...words('pending', 'PENDING'),
  ...words('silenced', 'PAUSED MAINTENANCE DISABLED'),
  ...words('degraded', 'DEGRADED WARNING WARN SLOW YELLOW'),
]);

/** Ignores letter case. Source: monitoring contract, "States and transitions". */
export const severityOf = (status: string): Severity =>
  SEVERITY.get(status.trim().toUpperCase()) ?? 'down';

export const isUp = ({ status }: { status: string }) => severityOf(status) === 'well';
export const isDown = ({ status }: { status: string }) => severityOf(status) === 'down';
export const isDegraded = ({ status }: { status: string }) => severityOf(status) === 'degraded';

export const isPending = ({ status }: { status: string }) => severityOf(status) === 'pending';

export const isSilenced = ({ status }: { status: string }) => severityOf(status) === 'silenced';

export const isPaused = (of: { status: string }) =>
  isSilenced(of) && of.status.trim().toUpperCase() !== 'MAINTENANCE';

export const NO_PING_YET = 'waiting for its first ping';

/** Labels of times: we check a monitor, but a heartbeat's job pings us. */
export const checkWords = ({ check_type }: { check_type: string }) =>
  check_type === 'HEARTBEAT'
    ? { every: 'Pinged every', last: 'Last ping' }
    : { every: 'Checked every', last: 'Last check' };

/** Unix milliseconds of the last change, not later than now: the service's clock may be ahead. */
export function statusChangedAtMs(
  { status_changed_at }: { status_changed_at?: string },
  nowMs: number,
): number | undefined {
  const saidMs = status_changed_at === undefined ? Number.NaN : Date.parse(status_changed_at);
  return Number.isNaN(saidMs) ? undefined : Math.min(saidMs, nowMs);
}
