import { isPaused, isUp, severityOf } from '../../bot/shared/status.ts';
import { shownTarget } from '../../bot/shared/target-link.ts';
import { shortened } from '../../bot/shared/text-format.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { StatusDays, StatusMonitor } from './api-types.ts';

/** Characters of what a foreign service writes, as far as the page shows them. */
const MAX_NAME_LENGTH = 200;
const MAX_WORD_LENGTH = 40;
const MAX_TEXT_LENGTH = 500;

/** A listed monitor as a member sees it. Pure. */
export function statusMonitor(listed: Monitor, days: StatusDays | undefined): StatusMonitor {
  const { flapping, stale, status_reason: reason, response_time_ms: tookMs } = listed;
  return {
    id: listed.id,
    name: shortened(listed.name, MAX_NAME_LENGTH),
    check_type: shortened(listed.check_type, MAX_WORD_LENGTH),
    status: shortened(listed.status, MAX_WORD_LENGTH),
    ...time('status_changed_at', listed.status_changed_at),
    ...(flapping && { flapping }),
    ...(listed.waiting_for_first_ping && { waiting_for_first_ping: true }),
    ...(stale && { stale }),
    ...time('last_checked_at', listed.last_checked_at),
    ...(typeof tookMs === 'number' && { response_time_ms: tookMs }),
    target: shortened(shownTarget(listed.target), MAX_TEXT_LENGTH),
    ...(reason && { status_reason: shortened(reason, MAX_TEXT_LENGTH) }),
    ...(days && { uptime: observedOver(days).uptime, days }),
  };
}

/** The monitor as anyone may see it: without its target, and without the reason, which may contain addresses. Pure. */
export function publicMonitor(monitor: StatusMonitor): StatusMonitor {
  const { target: _target, status_reason: _reason, ...shown } = monitor;
  return { ...shown, name: publicName(monitor) };
}

/** A host, with or without scheme, port and path. A monitor that was given no name is called by its target. */
const ADDRESS =
  /^(?:[a-z][a-z\d+.-]*:\/\/\S+|\[[\da-f:.]+\](?::\d+)?|[\w-]+(?:\.[\w-]+)+\.?(?::\d+)?(?:\/\S*)?|[\w-]+:\d+)$/i;

/** The monitor's name as anyone may see it: one that is an address stays hidden. Pure. */
export const publicName = ({ id, name }: Pick<StatusMonitor, 'id' | 'name'>) =>
  ADDRESS.test(name.trim()) ? `Unnamed monitor ${id.slice(-4)}` : name;

/** Figures that change with nearly every check or day: they are sent along with other news. */
const FIGURES: readonly string[] = ['response_time_ms', 'uptime', 'days'];

/** Whether a monitor is as before, its figures aside; `withChecks`, also when it was checked last. Pure. */
export function isNoNews(before: StatusMonitor, now: StatusMonitor, withChecks: boolean): boolean {
  const names = Object.keys({ ...before, ...now }) as Array<keyof StatusMonitor>;
  return names.every(
    (name) =>
      before[name] === now[name] ||
      FIGURES.includes(name) ||
      (name === 'last_checked_at' && !withChecks),
  );
}

/**
 * The time seen over the newest so many days, and the share of it that was up, 0 to 1: null when nothing was seen. Pure.
 */
export function observedOver(
  days: Pick<StatusDays, 'up_ms' | 'down_ms'>,
  newest = days.up_ms.length,
) {
  const sumOf = (all: readonly number[]) =>
    newest === 0 ? 0 : all.slice(-newest).reduce((total, ms) => total + ms, 0);
  const upMs = sumOf(days.up_ms);
  const seenMs = upMs + sumOf(days.down_ms);
  return { uptime: seenMs === 0 ? null : upMs / seenMs, seen_ms: seenMs };
}

/** DOWN first, then what else is not well, then PENDING, then all others, paused ones last; by name within. Pure. */
export function inOrder(monitors: readonly StatusMonitor[]): StatusMonitor[] {
  const keyed = monitors.map((monitor) => ({
    monitor,
    rank: isPaused(monitor) ? WELL + 1 : rankOf(monitor),
    name: monitor.name.toLowerCase(),
  }));
  keyed.sort(
    (a, b) =>
      a.rank - b.rank ||
      compare(a.name, b.name) ||
      // Of one name, so that the order does not change from poll to poll.
      compare(a.monitor.id, b.monitor.id),
  );
  return keyed.map(({ monitor }) => monitor);
}

// By code unit: ten thousand names in the order of a language take a tenth of a second.
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** How all of them together are. Pure. */
export function overallOf(monitors: readonly StatusMonitor[]) {
  const worst = monitors.reduce((least, monitor) => Math.min(least, rankOf(monitor)), WELL);
  if (worst < PENDING) return worst === 0 ? 'down' : 'degraded';
  return worst === PENDING && !monitors.some(isUp) ? 'pending' : 'up';
}

const PENDING = 2;
const WELL = 3;
function rankOf({ status, flapping }: StatusMonitor): number {
  const severity = severityOf(status);
  if (severity === 'down') return 0;
  if (flapping || severity === 'degraded') return 1;
  return severity === 'pending' ? PENDING : WELL;
}

/** The contract's UTC is also written with an offset, or without any zone. */
export function utcOf(text: string): string | undefined {
  const ms = Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function time<Name extends string>(name: Name, text: string | null | undefined) {
  const utc = text ? utcOf(text) : undefined;
  return (utc === undefined ? {} : { [name]: utc }) as { [key in Name]?: string };
}
