import type {
  CheckType,
  MonitorCreateInput,
  MonitorStatus,
} from '../../src/contracts/monitoring.ts';
import type { Outcome } from '../../src/monitoring/checks/check-result.ts';
import { createRandom } from '../../test/helpers/random.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A moment of November 2026, such as `24 14:03` or `24 14:03:20`, in UTC. */
export const november = (text: string) => Date.parse(`2026-11-${text.replace(' ', 'T')}Z`);

/** The moment at which the clock of the recorded week stands, a Thursday. */
export const NOW_MS = november('26 12:00');

/** When the service was set up, and began to look: two weeks before, and a day more. */
export const BEGIN_MS = november('11 08:00');

/** A time from its begin up to its end. */
export interface Span {
  fromMs: number;
  toMs: number;
}

/** Times in which the service did not run, and nothing was seen of any monitor. */
export const STOPS: readonly Span[] = [
  { fromMs: november('15 03:00'), toMs: november('15 03:25') },
  { fromMs: november('21 02:10'), toMs: november('21 04:10') },
];

/** A time in which a monitor was not UP. */
export interface Period {
  status: Exclude<MonitorStatus, 'UP' | 'PENDING'>;
  fromMs: number;
  /** Absent when nobody knows when it ends. A maintenance may end after now. */
  toMs?: number;
  /** The failure, if it is DOWN or DEGRADED. */
  outcome?: Outcome;
  /** Why, in words; for a maintenance what people wrote. */
  reason?: string;
}

/** A time that may have no end. */
export type OpenSpan = Pick<Period, 'fromMs' | 'toMs'>;

/** The mean response time from a point in time on. */
export interface Level {
  fromMs: number;
  ms: number;
}

/** All that there is to know of a monitor: what the service has stored of it, and right answers, both come from here. */
export interface PlannedMonitor {
  id: string;
  name: string;
  type: CheckType;
  definition: MonitorCreateInput;
  createdMs: number;
  /** The last change of what it checks or expects. */
  settingsChangedMs?: number;
  /** The interval of checks, or of a HEARTBEAT's pings. */
  everyMs: number;
  /** Offset of the checks in the interval. */
  phaseMs: number;
  /** Oldest first; a HEARTBEAT has none. */
  levels: readonly Level[];
  certificateEndsMs?: number;
  /** Oldest first, and none within another; it was UP between them. */
  periods: readonly Period[];
  lastCheckedMs: number;
  /** Response time of the last check. */
  responseTimeMs: number | null;
}

export const isWithin = (
  atMs: number,
  { fromMs, toMs = Number.POSITIVE_INFINITY }: OpenSpan,
): boolean => atMs >= fromMs && atMs < toMs;

/** The monitor's period at a time; undefined while it is UP. */
export const periodAt = ({ periods }: Pick<PlannedMonitor, 'periods'>, atMs: number) =>
  periods.find((period) => isWithin(atMs, period));

/** A deterministic response time, within a tenth of the level at that time. */
export function responseTimeAt(
  { id, levels }: Pick<PlannedMonitor, 'id' | 'levels'>,
  atMs: number,
): number | null {
  const level = levels.findLast(({ fromMs }) => fromMs <= atMs) ?? levels[0];
  if (!level) return null;
  const wobble = createRandom(Number.parseInt(id.slice(-7), 16) + Math.floor(atMs / 1_000))();
  return Math.round(level.ms * (0.9 + 0.2 * wobble) * 10) / 10;
}

/** When something was found of a monitor in a time: at its checks, and where a problem begins and ends. Oldest first. */
export function looksOf(
  monitor: Pick<PlannedMonitor, 'type' | 'createdMs' | 'everyMs' | 'phaseMs' | 'periods'>,
  { fromMs, toMs }: Span,
): number[] {
  const { type, createdMs, everyMs, phaseMs, periods } = monitor;
  const looks = new Set<number>();
  const problems = periods.filter(({ status }) => status === 'DOWN' || status === 'DEGRADED');
  for (const period of problems) {
    looks.add(period.fromMs);
    if (period.toMs !== undefined) looks.add(period.toMs);
  }
  const first = Math.ceil((fromMs - phaseMs) / everyMs) * everyMs + phaseMs;
  for (let atMs = first; atMs < toMs; atMs += everyMs) {
    // A job that is late says nothing.
    const isLate = type === 'HEARTBEAT' && periodAt(monitor, atMs)?.status === 'DOWN';
    if (!isLate) looks.add(atMs);
  }
  return [...looks]
    .filter((atMs) => atMs >= Math.max(fromMs, createdMs) && atMs < toMs)
    .filter((atMs) => periodAt(monitor, atMs)?.status !== 'PAUSED')
    .filter((atMs) => !STOPS.some((stop) => isWithin(atMs, stop)))
    .sort((a, b) => a - b);
}
