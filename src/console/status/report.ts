import { isDeepStrictEqual } from 'node:util';
import { shownTarget } from '../../bot/shared/target-link.ts';
import { shortened } from '../../bot/shared/text-format.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { StatusDays, StatusMonitor } from './api-types.ts';

/** Longest texts that the page shows of another service, in characters. */
const MAX_NAME_LENGTH = 200;
const MAX_WORD_LENGTH = 40;
const MAX_TEXT_LENGTH = 500;

/** A listed monitor as a member sees it. Pure. */
export function statusMonitor(listed: Monitor, days: StatusDays | undefined): StatusMonitor {
  const { status_reason: reason } = listed;
  return {
    id: listed.id,
    name: shortened(listed.name, MAX_NAME_LENGTH),
    check_type: shortened(listed.check_type, MAX_WORD_LENGTH),
    status: shortened(listed.status, MAX_WORD_LENGTH),
    status_changed_at: utcOf(listed.status_changed_at ?? ''),
    flapping: listed.flapping || undefined,
    waiting_for_first_ping: listed.waiting_for_first_ping || undefined,
    stale: listed.stale || undefined,
    tags: listed.tags,
    last_checked_at: utcOf(listed.last_checked_at ?? ''),
    response_time_ms: listed.response_time_ms ?? undefined,
    target: shortened(shownTarget(listed.target), MAX_TEXT_LENGTH),
    status_reason: reason ? shortened(reason, MAX_TEXT_LENGTH) : undefined,
    uptime: days && observedOver(days).uptime,
    days,
  };
}

/** Removes the target, and the reason, which may contain addresses. Pure. */
export function publicMonitor(monitor: StatusMonitor): StatusMonitor {
  const { target: _target, status_reason: _reason, ...shown } = monitor;
  return { ...shown, name: publicName(monitor) };
}

/** A host, with or without scheme, port and path. A monitor without a name is called by its target. */
const ADDRESS =
  /^(?:[a-z][a-z\d+.-]*:\/\/\S+|\[[\da-f:.]+\](?::\d+)?|[\w-]+(?:\.[\w-]+)+\.?(?::\d+)?(?:\/\S*)?|[\w-]+:\d+)$/i;

/** Hides a name that is an address. Pure. */
export const publicName = ({ id, name }: Pick<StatusMonitor, 'id' | 'name'>) =>
  ADDRESS.test(name.trim()) ? `Unnamed monitor ${id.slice(-4)}` : name;

/** Figures that change with nearly every check or day. They are sent along with other changes. */
const FIGURES: readonly string[] = ['response_time_ms', 'uptime', 'days'];

/** Compares all but the figures; the time of the last check only `withChecks`. Pure. */
export function isUnchanged(
  before: StatusMonitor,
  now: StatusMonitor,
  withChecks: boolean,
): boolean {
  const names = Object.keys({ ...before, ...now }) as Array<keyof StatusMonitor>;
  return names.every(
    (name) =>
      FIGURES.includes(name) ||
      isDeepStrictEqual(before[name], now[name]) ||
      (name === 'last_checked_at' && !withChecks),
  );
}

/** Sums the observed time of the newest days, and the share of it that was up, 0 to 1: null if nothing was observed. Pure. */
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

/** Normalizes a time, which services write with `Z`, an offset or no zone. */
export function utcOf(text: string): string | undefined {
  const ms = Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
