import { isDeepStrictEqual } from 'node:util';
import {
  type ComingWindow,
  MAX_WINDOWS,
  type MaintenanceWindow,
  WEEKDAYS,
} from '../../contracts/monitoring-additions.ts';
import { MINUTE_MS } from '../time/clock.ts';
import { type Cron, cronFault, parseCron } from '../time/cron.ts';
import { startAtMs, weeklyTimes } from '../time/weekly.ts';

/** How often a recurring window may begin again before its end and the look ahead still goes on. */
const LOOK_AHEAD_STEPS = 100;

type CronWindow = Extract<MaintenanceWindow, { cron: string }>;
type WeeklyWindow = Extract<MaintenanceWindow, { weekly: string[] }>;
type OneWindow = Exclude<MaintenanceWindow, CronWindow | WeeklyWindow>;

/** A time in which a window either covers all the while or does not; the end is the first moment after it. */
interface Span {
  covers: boolean;
  fromMs: number;
  /** Absent when nothing changes any more. */
  untilMs: number | undefined;
}

/** What was last found of a window: most questions fall into the same span again. */
const lastSpans = new WeakMap<MaintenanceWindow, Span>();

/**
 * The window that covers a moment, and when that next changes. Pure.
 * Of several windows that cover it, the first listed. `changesMs`, Unix milliseconds, is absent when nothing changes any
 * more; while a recurring window goes on without a gap for very long it is a moment at which to ask again.
 * Throws what `parseCron` throws for a window that `checkWindows` would refuse.
 */
export function maintenanceAt(
  windows: readonly MaintenanceWindow[],
  nowMs: number,
): { window: MaintenanceWindow | undefined; changesMs: number | undefined } {
  let changesMs: number | undefined;
  for (const window of windows) {
    const { covers, untilMs } = spanOf(window, nowMs);
    if (untilMs !== undefined) changesMs = Math.min(untilMs, changesMs ?? untilMs);
    // Those listed after it cannot change the answer before it ends.
    if (covers) return { window, changesMs };
  }
  return { window: undefined, changesMs };
}

/** When a window goes on, or comes next, Unix milliseconds. */
interface ComingSpan {
  startsMs: number;
  endsMs: number;
}

/** What was last found, and when it was asked for. */
const lastComing = new WeakMap<MaintenanceWindow, ComingSpan & { askedMs: number }>();

/** When a window goes on, or comes next; `undefined` when it is over for good. Pure. */
export function comingSpan(window: MaintenanceWindow, nowMs: number): ComingSpan | undefined {
  const last = lastComing.get(window);
  if (last && last.askedMs <= nowMs && nowMs < last.endsMs) return last;
  const now = spanOf(window, nowMs);
  const span = now.covers || now.untilMs === undefined ? now : findSpan(window, now.untilMs);
  if (!span.covers || span.untilMs === undefined) return undefined;
  const found = { askedMs: nowMs, startsMs: span.fromMs, endsMs: span.untilMs };
  lastComing.set(window, found);
  return found;
}

/** The windows that are not over, as they go on or come next, the first ones first. Pure. */
export function comingWindows(
  windows: readonly MaintenanceWindow[],
  nowMs: number,
): ComingWindow[] {
  return windows
    .flatMap((window) => {
      const span = comingSpan(window, nowMs);
      if (!span) return [];
      return {
        starts_at: new Date(span.startsMs).toISOString(),
        ends_at: new Date(span.endsMs).toISOString(),
        timezone: 'timezone' in window ? window.timezone : 'UTC',
        repeats: !('starts_at' in window),
        ...(window.reason !== undefined && { reason: window.reason }),
      };
    })
    .sort((a, b) => (a.starts_at < b.starts_at ? -1 : a.starts_at > b.starts_at ? 1 : 0));
}

/** Windows with one more, without those that are over; `undefined` when there is no room. The same once more changes nothing. Pure. */
export function withWindow(
  windows: readonly MaintenanceWindow[],
  added: MaintenanceWindow,
  nowMs: number,
): MaintenanceWindow[] | undefined {
  const kept = windows.filter((window) => comingSpan(window, nowMs) !== undefined);
  if (kept.some((window) => isDeepStrictEqual(window, added))) return kept;
  return kept.length < MAX_WINDOWS ? [...kept, added] : undefined;
}

/** What is wrong with a window. */
interface WindowFault {
  param: string;
  message: string;
}

/**
 * Says what is wrong with the first window that can never be: its crontab or its zone is none. `param` is its path in
 * the body, such as `windows.2.cron`; `message` has no full stop.
 */
export function checkWindows(windows: readonly MaintenanceWindow[]): WindowFault | undefined {
  for (const [index, window] of windows.entries()) {
    const fault = checkWindow(window, `windows.${index}`);
    if (fault) return fault;
  }
  return undefined;
}

/** The same of one window, which stands at a path of the body. */
export function checkWindow(window: MaintenanceWindow, path: string): WindowFault | undefined {
  if (!('timezone' in window)) return undefined;
  const fault = cronFault('cron' in window ? window.cron : undefined, window.timezone);
  return fault && { param: `${path}.${fault.key}`, message: fault.message };
}

function spanOf(window: MaintenanceWindow, nowMs: number): Span {
  const last = lastSpans.get(window);
  if (last && last.fromMs <= nowMs && (last.untilMs === undefined || nowMs < last.untilMs)) {
    return last;
  }
  const span = findSpan(window, nowMs);
  lastSpans.set(window, span);
  return span;
}

function findSpan(window: MaintenanceWindow, nowMs: number): Span {
  if ('cron' in window || 'weekly' in window) return recurringSpan(window, nowMs);
  const { startMs, endMs } = timesOf(window);
  return onceSpan(startMs, endMs, nowMs);
}

function timesOf(window: OneWindow): { startMs: number; endMs: number } {
  if ('ends_at' in window) {
    return { startMs: Date.parse(window.starts_at), endMs: Date.parse(window.ends_at) };
  }
  const startMs = startAtMs(window.timezone, Date.parse(`${window.starts_at}Z`));
  return { startMs, endMs: startMs + window.duration_minutes * MINUTE_MS };
}

function onceSpan(startMs: number, endMs: number, nowMs: number): Span {
  if (nowMs < startMs) return { covers: false, fromMs: nowMs, untilMs: startMs };
  if (nowMs < endMs) return { covers: true, fromMs: startMs, untilMs: endMs };
  return { covers: false, fromMs: endMs, untilMs: undefined };
}

/** The times at which a window begins. */
function startsOf(window: CronWindow | WeeklyWindow): Cron {
  const { timezone } = window;
  if ('cron' in window) return parseCron(window.cron, timezone);
  const [hours = 0, minutes = 0] = window.from.split(':').map(Number);
  // Sunday is 0.
  const days = window.weekly.map((day) => (WEEKDAYS.indexOf(day) + 1) % 7);
  return weeklyTimes({ days, minute: hours * 60 + minutes, timezone });
}

function recurringSpan(window: CronWindow | WeeklyWindow, nowMs: number): Span {
  const starts = startsOf(window);
  const durationMs = window.duration_minutes * MINUTE_MS;
  const startMs = starts.nextAfter(nowMs - durationMs);
  if (startMs === undefined || startMs > nowMs) {
    return { covers: false, fromMs: nowMs, untilMs: startMs };
  }
  return { covers: true, fromMs: startMs, untilMs: lastEnd(starts, startMs, durationMs) };
}

/** When a window ends that began at `startMs`, if it does not begin again by then. */
function lastEnd(starts: Cron, startMs: number, durationMs: number): number {
  let endMs = startMs + durationMs;
  for (let step = 0; step < LOOK_AHEAD_STEPS; step += 1) {
    const beganMs = starts.lastUpTo(endMs) ?? startMs;
    if (beganMs + durationMs === endMs) return endMs;
    endMs = beganMs + durationMs;
  }
  return endMs;
}
