import type { ServiceClock } from '../time/clock.ts';
import { catchUpAfterMs, lastOnGrid, nextOnGrid, phaseOf } from '../time/rhythm.ts';
import { createDueHeap, type HeapItem } from './due-heap.ts';
import { createLagWindow, createOverload } from './lateness.ts';
import { createPerHostLimit } from './per-host-limit.ts';
import { createSleepDetector, type TimeGap } from './sleep-detector.ts';

/** Long waits are cut into pieces: `setTimeout` overflows at 2^31 ms, and each timer notices a clock that was set. */
const LONGEST_TIMER_MS = 60_000;

const NEVER = Number.POSITIVE_INFINITY;

interface ScheduleOptions {
  clock: ServiceClock;
  /** Does the work of one job. Errors go to `onError`. */
  run: (id: string) => Promise<void>;
  onError: (error: unknown, id: string) => void;
  /** The machine slept, or the wall clock was set back (0 ms). The owner then sets times of the wall clock again. */
  onWake?: (sleptMs: number) => void;
  /** Called once when runs start late for lack of room, and `onTimely` once when they don't any more. */
  onLate?: (lateMs: number) => void;
  onTimely?: () => void;
  /** Limits all runs at the same time, and with them sockets and memory. */
  maxInFlight: number;
  /** Limits runs at the same time that share a host, out of politeness. */
  maxPerHost?: number;
}

/** `goesOn`: another process began the job, so no time of its rhythm is left out, and `firstMs` may be `Infinity`. */
interface JobRhythm {
  intervalMs: number;
  firstMs: number;
  host: string | undefined;
  goesOn?: boolean;
}

/**
 * A job: waiting (in the heap) → due → running → waiting. A job whose host is busy waits in the host's line between due and
 * running. A job without a next time leaves the schedule.
 */
interface ScheduledJob extends HeapItem {
  readonly id: string;
  intervalMs: number;
  /** Position of the rhythm within the interval, on the wall clock. */
  phaseMs: number;
  host: string | undefined;
  /** The next time of the rhythm. It lies on a grid of the wall clock, so that run times never add up to drift. */
  rhythmMs: number;
  /** One more run, outside the rhythm. */
  onceMs: number;
  /** The job waited for its host until then, which doesn't count as lateness. */
  heldUntilMs: number;
  running: boolean;
}

/**
 * Runs jobs when they are due, from one heap with one timer; all times are on the monotonic clock. A job never runs twice at the
 * same time, and missed runs are skipped. Nothing runs before `start`.
 */
export class Schedule {
  private readonly options: ScheduleOptions;
  private readonly clock: ServiceClock;
  private readonly heap = createDueHeap<ScheduledJob>();
  private readonly jobs = new Map<string, ScheduledJob>();
  private readonly hostLimit;
  private readonly running = new Set<Promise<void>>();
  private readonly lag;
  private readonly detectSleep;
  private readonly overload;
  private state: 'new' | 'started' | 'waking' | 'stopped' = 'new';
  private skippedCount = 0;
  private sleepCount = 0;
  private timer: { dueMs: number; atMs: number; cancel: () => void } | undefined;

  constructor(options: ScheduleOptions) {
    const { clock, maxPerHost = 4 } = options;
    this.options = options;
    this.clock = clock;
    this.hostLimit = createPerHostLimit<ScheduledJob>(maxPerHost);
    this.lag = createLagWindow(clock);
    this.detectSleep = createSleepDetector(clock);
    this.overload = createOverload(clock, options);
  }

  start(): void {
    if (this.state === 'new') this.state = 'started';
    // Time before the start is no sleep.
    this.detectSleep(undefined);
    this.startDue();
  }

  /** Starts nothing more; resolves when the current runs have ended. */
  async stop(): Promise<void> {
    this.state = 'stopped';
    this.timer?.cancel();
    this.timer = undefined;
    await Promise.all(this.running);
  }

  /**
   * Runs the job at `firstMs` and then every interval, at a phase derived from the id: the phase survives restarts and spreads the
   * jobs. Replaces everything that was set for the job before.
   */
  every(id: string, { intervalMs, firstMs, host, goesOn = false }: JobRhythm): void {
    const job = this.jobOf(id);
    const hostBefore = job.host;
    this.hostLimit.leave(job);
    job.intervalMs = intervalMs;
    job.host = host;
    this.setRhythm(job, firstMs, goesOn);
    this.plan(job);
    // The place at the old host may have been reserved for this job.
    this.resumeNext(hostBefore);
    this.startDue();
  }

  /** Adds one run at `dueMs`; a later call moves it, and `Infinity` takes it back. */
  at(id: string, dueMs: number): void {
    const job = this.jobOf(id);
    // It replaces a first run that is still to come, and the rhythm after that would be too far away.
    if (job.rhythmMs > dueMs + 1.5 * job.intervalMs) this.setRhythm(job, dueMs);
    else job.onceMs = dueMs;
    if (job.running) return;
    if (!this.hostLimit.isWaiting(job)) this.plan(job);
    this.resumeNext(job.host);
    this.startDue();
  }

  /** Removes the job; a current run continues to its end. */
  remove(id: string): void {
    const job = this.jobs.get(id);
    if (job === undefined) return;
    this.hostLimit.leave(job);
    Object.assign(job, { intervalMs: NEVER, rhythmMs: NEVER, onceMs: NEVER });
    this.plan(job);
    this.resumeNext(job.host);
    this.startDue();
  }

  /** Checks for a sleep before results from that time are believed; calls `onWake` if there was one. */
  noticeSleep = (): void => this.startDue();

  inFlight = (): number => this.running.size;
  /** Delays of the latest run starts, the worst and the 99th percentile, milliseconds. */
  lagMs = (): number => this.lag.worst();
  lagP99Ms = (): number => this.lag.percentile(0.99);
  /** Runs skipped because their time had passed by a whole interval. */
  missed = (): number => this.skippedCount;
  sleeps = (): number => this.sleepCount;
  isOverloaded = (): boolean => this.overload.is();

  private startDue(timerMs = this.timer?.atMs): void {
    if (this.state !== 'started') return;
    const gap = this.detectSleep(timerMs);
    if (gap.sleptMs > 0 || gap.setBack) this.wake(gap);
    const nowMs = this.clock.monotonicMs();
    const head = this.heap.peek();
    if (head) this.overload.see(nowMs - Math.max(head.dueMs, head.heldUntilMs));
    while (this.running.size < this.options.maxInFlight) {
      const job = this.heap.peek();
      if (job === undefined || job.dueMs > nowMs) break;
      this.heap.remove(job);
      if (this.hostLimit.take(job)) this.begin(job, nowMs);
    }
    this.setTimer();
  }

  private begin(job: ScheduledJob, nowMs: number): void {
    this.lag.add(nowMs - job.dueMs);
    if (job.rhythmMs <= nowMs) {
      const skipped = Math.floor((nowMs - job.rhythmMs) / job.intervalMs);
      this.skippedCount += skipped;
      job.rhythmMs = this.nearestOnGrid(job, job.rhythmMs + (skipped + 1) * job.intervalMs);
    }
    if (job.onceMs <= nowMs) job.onceMs = NEVER;
    job.heldUntilMs = Number.NEGATIVE_INFINITY;
    job.running = true;
    const { host } = job;
    const done = this.options
      .run(job.id)
      .catch((error: unknown) => this.options.onError(error, job.id))
      .then(() => {
        this.running.delete(done);
        this.finish(job, host);
      });
    this.running.add(done);
  }

  private finish(job: ScheduledJob, host: string | undefined): void {
    job.running = false;
    this.hostLimit.free(host);
    this.resumeNext(host);
    this.plan(job);
    this.startDue();
  }

  /** Puts the job into the heap at its next time. A running job is planned when it ends. */
  private plan(job: ScheduledJob): void {
    if (job.running) return;
    job.dueMs = Math.min(job.rhythmMs, job.onceMs);
    if (job.dueMs !== NEVER) {
      this.heap.put(job);
      return;
    }
    this.heap.remove(job);
    this.jobs.delete(job.id);
  }

  /** Returns the longest waiting job of a host to the heap, where its old due time puts it in front. */
  private resumeNext(host: string | undefined): void {
    const nowMs = this.clock.monotonicMs();
    let next = this.hostLimit.takeFirst(host);
    while (next) {
      next.heldUntilMs = nowMs;
      this.plan(next);
      // A job that was moved to later while it waited leaves its place to the next one.
      if (next.dueMs <= nowMs) return;
      next = this.hostLimit.takeFirst(host);
    }
  }

  /** First at `firstMs`, then on the grid of the wall clock, half an interval later at the earliest, one and a half at the latest. */
  private setRhythm(job: ScheduledJob, firstMs: number, goesOn = false): void {
    const { id, intervalMs } = job;
    const nowMs = this.clock.monotonicMs();
    const wallOffsetMs = this.clock.wallMs() - nowMs;
    const afterMs = wallOffsetMs + (goesOn ? nowMs : firstMs + intervalMs / 2);
    job.phaseMs = phaseOf(id, intervalMs);
    job.rhythmMs = nextOnGrid(afterMs, intervalMs, job.phaseMs) - wallOffsetMs;
    job.onceMs = firstMs;
  }

  /** The wall clock gains or loses seconds a day on the monotonic one; the rhythm follows it, as in other processes. */
  private nearestOnGrid({ intervalMs, phaseMs }: ScheduledJob, atMs: number): number {
    const wallOffsetMs = this.clock.wallMs() - this.clock.monotonicMs();
    const latestMs = atMs + wallOffsetMs + intervalMs / 2;
    return lastOnGrid(latestMs, intervalMs, phaseMs) - wallOffsetMs;
  }

  /** After a sleep, missed runs are skipped, and due or abandoned jobs are spread as at a start. */
  private wake({ sleptMs, unseenMs }: TimeGap): void {
    this.state = 'waking';
    if (sleptMs > 0) {
      this.sleepCount += 1;
      this.spreadDue(unseenMs);
    }
    this.options.onWake?.(sleptMs);
    this.state = 'started';
  }

  private spreadDue(unseenMs: number): void {
    const nowMs = this.clock.monotonicMs();
    const rhythmic = [...this.jobs.values()].filter(({ intervalMs }) => intervalMs !== NEVER);
    // Running jobs are among the due ones: they were due when they began, and their results won't count.
    const isDue = ({ dueMs }: ScheduledJob) => dueMs <= nowMs + unseenMs;
    for (const job of rhythmic.filter((one) => !isDue(one))) {
      // On the grid of the wall clock, as before.
      job.rhythmMs -= unseenMs;
      this.plan(job);
    }
    const due = rhythmic.filter(isDue).sort((a, b) => a.dueMs - b.dueMs);
    for (const [index, job] of due.entries()) {
      this.hostLimit.leave(job);
      this.setRhythm(job, nowMs + catchUpAfterMs(index, due.length, job.intervalMs));
      this.plan(job);
      this.resumeNext(job.host);
    }
  }

  private setTimer(): void {
    // Without a free place no timer is needed: the end of a run starts the next one.
    const hasRoom = this.running.size < this.options.maxInFlight;
    const dueMs = hasRoom ? this.heap.peek()?.dueMs : undefined;
    if (this.timer && dueMs !== undefined && this.timer.dueMs === dueMs) return;
    this.timer?.cancel();
    this.timer = undefined;
    if (dueMs === undefined || this.state !== 'started') return;
    const nowMs = this.clock.monotonicMs();
    const delayMs = Math.min(Math.max(Math.ceil(dueMs - nowMs), 1), LONGEST_TIMER_MS);
    const atMs = nowMs + delayMs;
    const cancel = this.clock.after(delayMs, () => {
      this.timer = undefined;
      this.startDue(atMs);
    });
    this.timer = { dueMs, atMs, cancel };
  }

  private jobOf(id: string): ScheduledJob {
    const known = this.jobs.get(id);
    if (known) return known;
    const job: ScheduledJob = {
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
    this.jobs.set(id, job);
    return job;
  }
}
