import type { MaintenanceWindow } from '../../contracts/monitoring-additions.ts';
import { MINUTE_MS } from '../time/clock.ts';
import { type Cron, cronFault, parseCron } from '../time/cron.ts';

/** How often a recurring window may begin again before its end and the look ahead still goes on. */
const LOOK_AHEAD_STEPS = 100;

type RecurringWindow = Extract<MaintenanceWindow, { cron: string }>;

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

/**
 * Says what is wrong with the first window that can never be: its crontab or its zone is none. `param` is its path in
 * the body, such as `windows.2.cron`; `message` has no full stop.
 */
export function checkWindows(
  windows: readonly MaintenanceWindow[],
): { param: string; message: string } | undefined {
  for (const [index, window] of windows.entries()) {
    const fault = 'cron' in window ? cronFault(window.cron, window.timezone) : undefined;
    if (fault) return { param: `windows.${index}.${fault.key}`, message: fault.message };
  }
  return undefined;
}

function spanOf(window: MaintenanceWindow, nowMs: number): Span {
  const last = lastSpans.get(window);
  if (last && last.fromMs <= nowMs && (last.untilMs === undefined || nowMs < last.untilMs)) {
    return last;
  }
  const span =
    'cron' in window
      ? recurringSpan(window, nowMs)
      : onceSpan(Date.parse(window.starts_at), Date.parse(window.ends_at), nowMs);
  lastSpans.set(window, span);
  return span;
}

function onceSpan(startMs: number, endMs: number, nowMs: number): Span {
  if (nowMs < startMs) return { covers: false, fromMs: nowMs, untilMs: startMs };
  if (nowMs < endMs) return { covers: true, fromMs: startMs, untilMs: endMs };
  return { covers: false, fromMs: endMs, untilMs: undefined };
}

function recurringSpan(window: RecurringWindow, nowMs: number): Span {
  const cron = parseCron(window.cron, window.timezone);
  const durationMs = window.duration_minutes * MINUTE_MS;
  const startMs = cron.nextAfter(nowMs - durationMs);
  if (startMs === undefined || startMs > nowMs) {
    return { covers: false, fromMs: nowMs, untilMs: startMs };
  }
  return { covers: true, fromMs: startMs, untilMs: lastEnd(cron, startMs, durationMs) };
}

/** When a window ends that began at `startMs`, if it does not begin again by then. */
function lastEnd(cron: Cron, startMs: number, durationMs: number): number {
  let endMs = startMs + durationMs;
  for (let step = 0; step < LOOK_AHEAD_STEPS; step += 1) {
    const beganMs = cron.lastUpTo(endMs) ?? startMs;
    if (beganMs + durationMs === endMs) return endMs;
    endMs = beganMs + durationMs;
  }
  return endMs;
}
