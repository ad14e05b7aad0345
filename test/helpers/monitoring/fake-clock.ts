import type { ServiceClock } from '../../../src/monitoring/time/clock.ts';

/** A clock that moves only by its own methods. */
export interface FakeClock extends ServiceClock {
  /** Lets time pass, calling timers at their times; what they start is awaited between two of them. */
  advance(ms: number): Promise<void>;
  /** Time passes without timers, as while a machine sleeps; they come late, together. */
  sleep(ms: number): Promise<void>;
  /** Time passes on the wall only, as while a machine is suspended or when its clock is set. */
  jump(ms: number): void;
  /** Time passes without timers, as while the event loop is busy; they come late, together. */
  work(ms: number): Promise<void>;
}

/** Lets promises under way go on, and all that hangs on them. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Both clocks start at different, odd numbers, so that mixing them up shows. */
export function createFakeClock(
  startWallMs = 1_800_000_000_123,
  /** Lateness of each timer, as of real ones. */
  latenessMs: () => number = () => 0,
): FakeClock {
  let elapsedMs = 0;
  let jumpedMs = 0;
  let workedMs = 0;
  let sequence = 0;
  const timers: Array<{ atMs: number; sequence: number; call: () => void }> = [];

  async function runUntil(endMs: number) {
    for (;;) {
      timers.sort((a, b) => a.atMs - b.atMs || a.sequence - b.sequence);
      const next = timers[0];
      if (next === undefined || next.atMs > endMs) break;
      timers.shift();
      elapsedMs = Math.max(elapsedMs, next.atMs);
      next.call();
      await settle();
    }
    elapsedMs = Math.max(elapsedMs, endMs);
  }

  return {
    wallMs: () => startWallMs + jumpedMs + elapsedMs,
    monotonicMs: () => 777.5 + elapsedMs,
    workedMs: () => 33.25 + workedMs,
    after(delayMs, call) {
      const timer = { atMs: elapsedMs + delayMs + latenessMs(), sequence: sequence++, call };
      timers.push(timer);
      return () => {
        const index = timers.indexOf(timer);
        if (index !== -1) timers.splice(index, 1);
      };
    },
    async advance(ms) {
      await settle();
      await runUntil(elapsedMs + ms);
    },
    async sleep(ms) {
      elapsedMs += ms;
      await runUntil(elapsedMs);
    },
    jump(ms) {
      jumpedMs += ms;
    },
    async work(ms) {
      workedMs += ms;
      elapsedMs += ms;
      await runUntil(elapsedMs);
    },
  };
}
