import { performance } from 'node:perf_hooks';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Time as the service sees it; tests bring their own. */
export interface ServiceClock {
  /** Unix time in milliseconds: for showing and storing; it may jump. */
  wallMs(): number;
  /** Milliseconds from any start; never goes back: for planning and measuring. */
  monotonicMs(): number;
  /** Milliseconds of work of the event loop, from any start: tells a busy process from a sleeping one. */
  workedMs(): number;
  /** Calls once after the delay; the returned function cancels it. */
  after(delayMs: number, call: () => void): () => void;
}

export const systemClock: ServiceClock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  workedMs: () => performance.eventLoopUtilization().active,
  after(delayMs, call) {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};
