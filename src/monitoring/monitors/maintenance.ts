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

/** The end of a recurring window is looked for over at most this many repetitions that overlap. */
const LOOK_AHEAD_STEPS = 100;

type CronWindow = Extract<MaintenanceWindow, { cron: string }>;
type WeeklyWindow = Extract<MaintenanceWindow, { weekly: string[] }>;
type OneWindow = Exclude<MaintenanceWindow, CronWindow | WeeklyWindow>;

/** A time that a window covers completely, or not at all. */
interface WindowSpan {
  covers: boolean;
  fromMs: number;
  /** The first moment after it; absent if the window is over for good. */
  untilMs: number | undefined;
}

/** The last result for each window, because crontabs are slow and most queries are about the same span. */
const lastSpans = new WeakMap<MaintenanceWindow, WindowSpan>();

/**
 * The first listed window that covers a moment, and the time of the next change. Pure.
 * `changesMs`, Unix milliseconds, is absent if nothing changes any more. If a recurring window continues without a gap for very
 * long, it is a moment at which to call this again. Throws like `parseCron` for a window that `checkWindows` refuses.
 */
export function maintenanceAt(
  windows: readonly MaintenanceWindow[],
  nowMs: number,
): { window: MaintenanceWindow | undefined; changesMs: number | undefined } {
  let changesMs: number | undefined;
  for (const window of windows) {
    const { covers, untilMs } = spanOf(window, nowMs);
    if (untilMs !== undefined) changesMs = Math.min(untilMs, changesMs ?? untilMs);
    // Later windows can't change the answer before it ends.
    if (covers) return { window, changesMs };
  }
  return { window: undefined, changesMs };
}

/** The active or next occurrence of a window, Unix milliseconds; `undefined` if it is over for good. Pure. */
export function comingSpan(
  window: MaintenanceWindow,
  nowMs: number,
): { startsMs: number; endsMs: number } | undefined {
  const current = spanOf(window, nowMs);
  const isCurrent = current.covers || current.untilMs === undefined;
  const span = isCurrent ? current : findSpan(window, current.untilMs ?? nowMs);
  if (!span.covers || span.untilMs === undefined) return undefined;
  return { startsMs: span.fromMs, endsMs: span.untilMs };
}

/** The active or next occurrences of the windows that aren't over, the earliest first. Pure. */
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
        reason: window.reason,
      };
    })
    .sort((a, b) => (a.starts_at < b.starts_at ? -1 : a.starts_at > b.starts_at ? 1 : 0));
}

/** Drops windows that are over, and adds one unless it is already there; `undefined` if there are too many. Pure. */
export function withWindow(
  windows: readonly MaintenanceWindow[],
  added: MaintenanceWindow,
  nowMs: number,
): MaintenanceWindow[] | undefined {
  const kept = windows.filter((window) => comingSpan(window, nowMs) !== undefined);
  if (kept.some((window) => isDeepStrictEqual(window, added))) return kept;
  return kept.length < MAX_WINDOWS ? [...kept, added] : undefined;
}

interface WindowFault {
  /** Path in the body, such as `windows.2.cron`. */
  param: string;
  /** Without a full stop. */
  message: string;
}

/** Finds the first invalid crontab or time zone. */
export function checkWindows(windows: readonly MaintenanceWindow[]): WindowFault | undefined {
  for (const [index, window] of windows.entries()) {
    const fault = checkWindow(window, `windows.${index}`);
    if (fault) return fault;
  }
  return undefined;
}

/** `path` is the window's path in the body. */
export function checkWindow(window: MaintenanceWindow, path: string): WindowFault | undefined {
  if (!('timezone' in window)) return undefined;
  const fault = cronFault('cron' in window ? window.cron : undefined, window.timezone);
  return fault && { param: `${path}.${fault.key}`, message: fault.message };
}

function spanOf(window: MaintenanceWindow, nowMs: number): WindowSpan {
  const last = lastSpans.get(window);
  if (last && last.fromMs <= nowMs && (last.untilMs === undefined || nowMs < last.untilMs)) {
    return last;
  }
  const span = findSpan(window, nowMs);
  lastSpans.set(window, span);
  return span;
}

function findSpan(window: MaintenanceWindow, nowMs: number): WindowSpan {
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

function onceSpan(startMs: number, endMs: number, nowMs: number): WindowSpan {
  if (nowMs < startMs) return { covers: false, fromMs: nowMs, untilMs: startMs };
  if (nowMs < endMs) return { covers: true, fromMs: startMs, untilMs: endMs };
  return { covers: false, fromMs: endMs, untilMs: undefined };
}

function startsOf(window: CronWindow | WeeklyWindow): Cron {
  const { timezone } = window;
  if ('cron' in window) return parseCron(window.cron, timezone);
  const [hours = 0, minutes = 0] = window.from.split(':').map(Number);
  // Sunday is 0.
  const days = window.weekly.map((day) => (WEEKDAYS.indexOf(day) + 1) % 7);
  return weeklyTimes({ days, minute: hours * 60 + minutes, timezone });
}

function recurringSpan(window: CronWindow | WeeklyWindow, nowMs: number): WindowSpan {
  const starts = startsOf(window);
  const durationMs = window.duration_minutes * MINUTE_MS;
  const startMs = starts.nextAfter(nowMs - durationMs);
  if (startMs === undefined || startMs > nowMs) {
    return { covers: false, fromMs: nowMs, untilMs: startMs };
  }
  return { covers: true, fromMs: startMs, untilMs: lastEnd(starts, startMs, durationMs) };
}

/** The end of an occurrence that began at `startMs`, or of the later ones that overlap it. */
function lastEnd(starts: Cron, startMs: number, durationMs: number): number {
  let endMs = startMs + durationMs;
  for (let step = 0; step < LOOK_AHEAD_STEPS; step += 1) {
    const beganMs = starts.lastUpTo(endMs) ?? startMs;
    if (beganMs + durationMs === endMs) return endMs;
    endMs = beganMs + durationMs;
  }
  return endMs;
}
