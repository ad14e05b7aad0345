import type { Clock } from './clock.ts';
import { createDueHeap, type HeapItem } from './due-heap.ts';
import { createLagWindow } from './lag-window.ts';
import { nextOnGrid, phaseOf } from './rhythm.ts';

/** Timers longer than this are cut in pieces: `setTimeout` overflows at 2^31 ms. */
const LONGEST_SLEEP_MS = 3_600_000;

export interface ScheduleOptions {
  clock: Clock;
  /** Does the work of one job. It must not reject; what it throws goes to `onError`. */
  run: (id: string) => Promise<void>;
  onError: (error: unknown, id: string) => void;
  /** Runs at the same time, in all: bounds sockets and memory. */
  maxInFlight?: number;
  /** Runs at the same time that share a host: politeness. */
  maxPerHost?: number;
}

/**
 * Runs jobs when they are due, from one heap with one timer. All times are on the monotonic clock.
 * One job never runs twice at once, and what was missed is skipped, not made up for.
 */
export interface Schedule {
  /**
   * Runs the job at `firstMs` and then on its rhythm: every interval, at a phase taken from the id. The phase stays the
   * same over restarts and spreads the jobs.
   */
  every(id: string, job: { intervalMs: number; firstMs: number; host: string | undefined }): void;
  /** One run at `dueMs` beside the rhythm, if the job has one; a later call moves it, `Infinity` takes it back. */
  at(id: string, dueMs: number): void;
  remove(id: string): void;
  start(): void;
  /** Starts nothing more; resolves when the runs under way have ended. */
  stop(): Promise<void>;
  inFlight(): number;
  /** How late runs started lately, the worst, milliseconds. */
  lagMs(): number;
  /** Runs skipped because their time had passed by a whole interval. */
  missed(): number;
}

interface Entry extends HeapItem {
  readonly id: string;
  readonly intervalMs: number;
  readonly host: string | undefined;
  /** The next ideal time of the rhythm. It moves by whole intervals only, so that run times never add up to drift. */
  rhythmMs: number;
  onceMs: number;
  running: boolean;
}

/** Builds a schedule; nothing runs before `start`. */
export function createSchedule(options: ScheduleOptions): Schedule {
  const { clock, run, onError, maxInFlight = 256, maxPerHost = 4 } = options;
  const heap = createDueHeap<Entry>();
  const entries = new Map<string, Entry>();
  const hosts = new Map<string, { inFlight: number; waiting: Entry[] }>();
  const running = new Set<Promise<void>>();
  const lag = createLagWindow(clock);
  let state: 'new' | 'started' | 'stopped' = 'new';
  let missed = 0;
  let timer: { dueMs: number; cancel: () => void } | undefined;

  function plan(entry: Entry) {
    entry.dueMs = Math.min(entry.rhythmMs, entry.onceMs);
    if (entry.dueMs === Number.POSITIVE_INFINITY) heap.remove(entry);
    else heap.put(entry);
  }

  function startDue() {
    if (state !== 'started') return;
    const nowMs = clock.monotonicMs();
    while (running.size < maxInFlight) {
      const entry = heap.peek();
      if (entry === undefined || entry.dueMs > nowMs) break;
      heap.remove(entry);
      const host = hostOf(entry);
      if (host && host.inFlight >= maxPerHost) host.waiting.push(entry);
      else begin(entry, nowMs);
    }
    setTimer();
  }

  function begin(entry: Entry, nowMs: number) {
    lag.add(nowMs - entry.dueMs);
    if (entry.rhythmMs <= nowMs) {
      const skipped = Math.floor((nowMs - entry.rhythmMs) / entry.intervalMs);
      missed += skipped;
      entry.rhythmMs += (skipped + 1) * entry.intervalMs;
    }
    if (entry.onceMs <= nowMs) entry.onceMs = Number.POSITIVE_INFINITY;
    entry.running = true;
    const host = hostOf(entry);
    if (host) host.inFlight += 1;
    const done = run(entry.id)
      .catch((error: unknown) => onError(error, entry.id))
      .then(() => {
        running.delete(done);
        finish(entry);
      });
    running.add(done);
  }

  function finish(entry: Entry) {
    entry.running = false;
    releaseHost(entry);
    if (entries.get(entry.id) === entry) plan(entry);
    startDue();
  }

  function hostOf({ host }: Entry) {
    if (host === undefined) return undefined;
    const known = hosts.get(host) ?? { inFlight: 0, waiting: [] };
    hosts.set(host, known);
    return known;
  }

  function releaseHost(entry: Entry) {
    const host = hostOf(entry);
    if (entry.host === undefined || host === undefined) return;
    host.inFlight -= 1;
    wakeOne(entry.host);
    if (host.inFlight === 0 && host.waiting.length === 0) hosts.delete(entry.host);
  }

  /** Who waits longest for this host goes back to the heap, where its old due time puts it in front. */
  function wakeOne(hostName: string | undefined) {
    const host = hostName === undefined ? undefined : hosts.get(hostName);
    if (host === undefined || host.inFlight >= maxPerHost) return;
    for (let next = host.waiting.shift(); next !== undefined; next = host.waiting.shift()) {
      if (entries.get(next.id) !== next) continue;
      plan(next);
      // One that was moved to later while it waited leaves its place to the next.
      if (next.dueMs <= clock.monotonicMs()) return;
    }
  }

  function setTimer() {
    // With every slot taken, the end of a run goes on; no timer is needed.
    const dueMs = running.size < maxInFlight ? heap.peek()?.dueMs : undefined;
    if (timer && dueMs !== undefined && timer.dueMs === dueMs) return;
    timer?.cancel();
    timer = undefined;
    if (dueMs === undefined || state !== 'started') return;
    const delayMs = Math.ceil(dueMs - clock.monotonicMs());
    const cancel = clock.after(Math.min(Math.max(delayMs, 1), LONGEST_SLEEP_MS), () => {
      timer = undefined;
      startDue();
    });
    timer = { dueMs, cancel };
  }

  return {
    every(id, { intervalMs, firstMs, host }) {
      const wallOffsetMs = clock.wallMs() - clock.monotonicMs();
      // The first look and the second are at least half an interval apart.
      const afterMs = firstMs + wallOffsetMs + intervalMs / 2;
      const rhythmMs = nextOnGrid(afterMs, intervalMs, phaseOf(id, intervalMs)) - wallOffsetMs;
      const entry = newEntry(id, { intervalMs, host, rhythmMs, onceMs: firstMs });
      entries.set(id, entry);
      plan(entry);
      startDue();
    },
    at(id, dueMs) {
      const entry =
        entries.get(id) ??
        newEntry(id, {
          intervalMs: Number.POSITIVE_INFINITY,
          host: undefined,
          rhythmMs: Number.POSITIVE_INFINITY,
          onceMs: dueMs,
        });
      entries.set(id, entry);
      entry.onceMs = dueMs;
      // While it runs it is in no heap; the end of the run plans it anew.
      if (entry.running) return;
      const waits = entry.host !== undefined && hosts.get(entry.host)?.waiting.includes(entry);
      if (!waits) plan(entry);
      // Moved away, it may leave free the place at its host that it was woken for.
      wakeOne(entry.host);
      startDue();
    },
    remove(id) {
      const entry = entries.get(id);
      if (entry === undefined) return;
      heap.remove(entry);
      entries.delete(id);
      wakeOne(entry.host);
      startDue();
    },
    start() {
      if (state === 'new') state = 'started';
      startDue();
    },
    async stop() {
      state = 'stopped';
      timer?.cancel();
      timer = undefined;
      await Promise.all(running);
    },
    inFlight: () => running.size,
    lagMs: () => lag.worst(),
    missed: () => missed,
  };
}

function newEntry(
  id: string,
  times: Pick<Entry, 'intervalMs' | 'host' | 'rhythmMs' | 'onceMs'>,
): Entry {
  return { id, ...times, dueMs: Number.POSITIVE_INFINITY, heapIndex: -1, running: false };
}
