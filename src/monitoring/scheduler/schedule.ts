import type { Clock } from '../time/clock.ts';
import { catchUpAfterMs, lastOnGrid, nextOnGrid, phaseOf } from '../time/rhythm.ts';
import { createDueHeap, type HeapItem } from './due-heap.ts';
import { createLagWindow, createOverload } from './lateness.ts';
import { createPerHostLimit } from './per-host-limit.ts';
import { createSleepDetector, type TimeGap } from './sleep-detector.ts';

/** Timers are cut in pieces: `setTimeout` overflows at 2^31 ms, and a clock that was set is noticed at a timer. */
const LONGEST_TIMER_MS = 60_000;

const NEVER = Number.POSITIVE_INFINITY;

export interface ScheduleOptions {
  clock: Clock;
  /** Does the work of one job. It must not reject; what it throws goes to `onError`. */
  run: (id: string) => Promise<void>;
  onError: (error: unknown, id: string) => void;
  /** The machine slept, for 0 ms when only the wall clock was set back: times that depend on it are to be given again. */
  onWake?: (sleptMs: number) => void;
  /** Runs start late for want of room: called once with how late, and `onTimely` once when it is over. */
  onLate?: (lateMs: number) => void;
  onTimely?: () => void;
  /** Runs at the same time, in all: bounds sockets and memory. */
  maxInFlight: number;
  /** Runs at the same time that share a host: politeness. */
  maxPerHost?: number;
}

/**
 * Runs jobs when they are due, from one heap with one timer. All times are on the monotonic clock.
 * One job never runs twice at once, whatever is asked of it while it runs, and what was missed is skipped, not made up for.
 */
export type Schedule = ReturnType<typeof createSchedule>;

interface Entry extends HeapItem {
  readonly id: string;
  intervalMs: number;
  /** Where in the interval the times of the rhythm lie, on the wall clock. */
  phaseMs: number;
  host: string | undefined;
  /** The next time of the rhythm, one of the grid of the wall clock, so that run times never add up to drift. */
  rhythmMs: number;
  onceMs: number;
  /** Until then it waited for its host, which is no fault of ours. */
  heldUntilMs: number;
  running: boolean;
}

/** A run since it began. */
interface Run {
  beganMs: number;
  isFresh: boolean;
}

/**
 * So many runs may have begun within the last second: by then nearly all who answer have done so, and more at a time would take
 * the processor from each other until they are out of time. Those that wait longer leave their place to others.
 */
const MAX_FRESH = 256;
const FRESH_MS = 1_000;

/** Builds a schedule; nothing runs before `start`. */
export function createSchedule(options: ScheduleOptions) {
  const { clock, run, onError, maxInFlight, maxPerHost = 4 } = options;
  const heap = createDueHeap<Entry>();
  const entries = new Map<string, Entry>();
  const hostLimit = createPerHostLimit<Entry>(maxPerHost);
  const running = new Set<Promise<void>>();
  /** Those that began within `FRESH_MS`, in that order, with some that have ended since. */
  const begun: Run[] = [];
  let freshCount = 0;
  const lag = createLagWindow(clock);
  const detectSleep = createSleepDetector(clock);
  const overload = createOverload(clock, options);
  let state: 'new' | 'started' | 'waking' | 'stopped' = 'new';
  let missed = 0;
  let sleeps = 0;
  let timer: { dueMs: number; atMs: number; cancel: () => void } | undefined;

  function plan(entry: Entry) {
    entry.dueMs = Math.min(entry.rhythmMs, entry.onceMs);
    if (entry.dueMs !== NEVER) return heap.put(entry);
    heap.remove(entry);
    entries.delete(entry.id);
  }

  function startDue(timerMs = timer?.atMs) {
    if (state !== 'started') return;
    const gap = detectSleep(timerMs);
    if (gap.sleptMs > 0 || gap.setBack) wake(gap);
    const nowMs = clock.monotonicMs();
    const head = heap.peek();
    if (head) overload.see(nowMs - Math.max(head.dueMs, head.heldUntilMs));
    age(nowMs);
    while (running.size < maxInFlight && freshCount < MAX_FRESH) {
      const entry = heap.peek();
      if (entry === undefined || entry.dueMs > nowMs) break;
      heap.remove(entry);
      if (hostLimit.take(entry)) begin(entry, nowMs);
    }
    setTimer();
  }

  function begin(entry: Entry, nowMs: number) {
    lag.add(nowMs - entry.dueMs);
    if (entry.rhythmMs <= nowMs) {
      const skipped = Math.floor((nowMs - entry.rhythmMs) / entry.intervalMs);
      missed += skipped;
      entry.rhythmMs = nearestOnGrid(entry, entry.rhythmMs + (skipped + 1) * entry.intervalMs);
    }
    if (entry.onceMs <= nowMs) entry.onceMs = NEVER;
    entry.heldUntilMs = Number.NEGATIVE_INFINITY;
    entry.running = true;
    const { host } = entry;
    const own: Run = { beganMs: nowMs, isFresh: true };
    begun.push(own);
    freshCount += 1;
    const done = run(entry.id)
      .catch((error: unknown) => onError(error, entry.id))
      .then(() => {
        running.delete(done);
        leaveFresh(own);
        finish(entry, host);
      });
    running.add(done);
  }

  /** The wall clock gains or loses on the monotonic one, seconds a day; the rhythm stays with it, as in other processes. */
  function nearestOnGrid({ intervalMs, phaseMs }: Entry, atMs: number): number {
    const wallOffsetMs = clock.wallMs() - clock.monotonicMs();
    const latestMs = atMs + wallOffsetMs + intervalMs / 2;
    return lastOnGrid(latestMs, intervalMs, phaseMs) - wallOffsetMs;
  }

  function leaveFresh(own: Run) {
    if (!own.isFresh) return;
    own.isFresh = false;
    freshCount -= 1;
  }

  function age(nowMs: number) {
    for (let first = begun[0]; first; first = begun[0]) {
      if (first.isFresh && nowMs - first.beganMs < FRESH_MS) return;
      leaveFresh(first);
      begun.shift();
    }
  }

  function finish(entry: Entry, host: string | undefined) {
    entry.running = false;
    hostLimit.free(host);
    resumeNext(host);
    // Taken off while it ran, and not put on again, it is due no more.
    plan(entry);
    startDue();
  }

  /** Who waits longest for this host goes back to the heap, where its old due time puts it in front. */
  function resumeNext(host: string | undefined) {
    const nowMs = clock.monotonicMs();
    for (let next = hostLimit.takeFirst(host); next; next = hostLimit.takeFirst(host)) {
      next.heldUntilMs = nowMs;
      plan(next);
      // One that was moved to later while it waited leaves its place to the next.
      if (next.dueMs <= nowMs) return;
    }
  }

  /** First at `firstMs`, then on the grid of the wall clock, half an interval later at the earliest, one and a half at the latest. */
  function setRhythm(entry: Entry, firstMs: number, { goesOn = false } = {}) {
    const { id, intervalMs } = entry;
    const nowMs = clock.monotonicMs();
    const wallOffsetMs = clock.wallMs() - nowMs;
    const afterMs = wallOffsetMs + (goesOn ? nowMs : firstMs + intervalMs / 2);
    entry.phaseMs = phaseOf(id, intervalMs);
    entry.rhythmMs = nextOnGrid(afterMs, intervalMs, entry.phaseMs) - wallOffsetMs;
    entry.onceMs = firstMs;
  }

  /** After a sleep nothing is made up for: what is due, or was abandoned, is spread as at a start. */
  function wake({ sleptMs, unseenMs }: TimeGap) {
    state = 'waking';
    const nowMs = clock.monotonicMs();
    if (sleptMs > 0) {
      sleeps += 1;
      const due: Entry[] = [];
      for (const entry of entries.values()) {
        if (entry.intervalMs === NEVER) continue;
        // One that runs is among them: it was due when it began, and what it finds now counts for nothing.
        if (entry.dueMs <= nowMs + unseenMs) {
          due.push(entry);
          continue;
        }
        // On the grid of the wall clock, as before.
        entry.rhythmMs -= unseenMs;
        plan(entry);
      }
      due.sort((a, b) => a.dueMs - b.dueMs);
      for (const [index, entry] of due.entries()) {
        const { host } = entry;
        hostLimit.leave(entry);
        setRhythm(entry, nowMs + catchUpAfterMs(index, due.length, entry.intervalMs));
        if (!entry.running) plan(entry);
        resumeNext(host);
      }
    }
    options.onWake?.(sleptMs);
    state = 'started';
  }

  function setTimer() {
    // With every slot taken, the end of a run goes on; no timer is needed.
    const nextMs = running.size < maxInFlight ? heap.peek()?.dueMs : undefined;
    const [first] = begun;
    const isHeld = nextMs !== undefined && first !== undefined && freshCount >= MAX_FRESH;
    const dueMs = isHeld ? Math.max(nextMs, first.beganMs + FRESH_MS) : nextMs;
    if (timer && dueMs !== undefined && timer.dueMs === dueMs) return;
    timer?.cancel();
    timer = undefined;
    if (dueMs === undefined || state !== 'started') return;
    const nowMs = clock.monotonicMs();
    const delayMs = Math.min(Math.max(Math.ceil(dueMs - nowMs), 1), LONGEST_TIMER_MS);
    const atMs = nowMs + delayMs;
    const cancel = clock.after(delayMs, () => {
      timer = undefined;
      startDue(atMs);
    });
    timer = { dueMs, atMs, cancel };
  }

  function entryOf(id: string): Entry {
    const known = entries.get(id);
    if (known) return known;
    const entry: Entry = {
      id,
      intervalMs: NEVER,
      phaseMs: 0,
      host: undefined,
      rhythmMs: NEVER,
      onceMs: NEVER,
      heldUntilMs: Number.NEGATIVE_INFINITY,
      dueMs: NEVER,
      heapIndex: -1,
      running: false,
    };
    entries.set(id, entry);
    return entry;
  }

  return {
    /**
     * Runs the job at `firstMs` and then on its rhythm: every interval, at a phase taken from the id. The phase stays the
     * same over restarts and spreads the jobs. Of a job that is there already it replaces all that was set before. One that
     * `goesOn`, which another process has begun, leaves out no time of its rhythm; `firstMs` may be `Infinity` then.
     */
    every(
      id: string,
      job: { intervalMs: number; firstMs: number; host: string | undefined; goesOn?: boolean },
    ): void {
      const { firstMs, goesOn = false, ...rhythm } = job;
      const entry = entryOf(id);
      const hostBefore = entry.host;
      hostLimit.leave(entry);
      Object.assign(entry, rhythm);
      setRhythm(entry, firstMs, { goesOn });
      // While it runs it is in no heap; the end of the run plans it again.
      if (!entry.running) plan(entry);
      // Moved away, it may leave free the place at its host that it was called for.
      resumeNext(hostBefore);
      startDue();
    },
    /** One run at `dueMs` beside the rhythm, if the job has one; a later call moves it, `Infinity` takes it back. */
    at(id: string, dueMs: number): void {
      const entry = entryOf(id);
      // It takes the place of a first run that is still to come, and the rhythm after that would be too far away.
      if (entry.rhythmMs > dueMs + 1.5 * entry.intervalMs) setRhythm(entry, dueMs);
      else entry.onceMs = dueMs;
      if (entry.running) return;
      if (!hostLimit.isWaiting(entry)) plan(entry);
      resumeNext(entry.host);
      startDue();
    },
    /** Takes the job off; a run under way goes on to its end. */
    remove(id: string): void {
      const entry = entries.get(id);
      if (entry === undefined) return;
      hostLimit.leave(entry);
      Object.assign(entry, { intervalMs: NEVER, rhythmMs: NEVER, onceMs: NEVER });
      if (!entry.running) plan(entry);
      resumeNext(entry.host);
      startDue();
    },
    /** Notices that the machine slept, before what was found meanwhile is believed; `onWake` is called then. */
    noticeSleep: () => startDue(),
    start(): void {
      if (state === 'new') state = 'started';
      // What went by before the start is no sleep.
      detectSleep(undefined);
      startDue();
    },
    /** Starts nothing more; resolves when the runs under way have ended. */
    async stop(): Promise<void> {
      state = 'stopped';
      timer?.cancel();
      timer = undefined;
      await Promise.all(running);
    },
    inFlight: () => running.size,
    /** How late runs started lately, the worst and the 99th percentile, milliseconds. */
    lagMs: () => lag.worst(),
    lagP99Ms: () => lag.percentile(0.99),
    /** Runs skipped because their time had passed by a whole interval. */
    missed: () => missed,
    /** How often the machine slept. */
    sleeps: () => sleeps,
    isOverloaded: () => overload.is(),
  };
}
