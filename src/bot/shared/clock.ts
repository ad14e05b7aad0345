import { setTimeout as pauseFor } from 'node:timers/promises';

/** Time, as what watches and sends needs it. */
export interface Clock {
  /** Unix time, milliseconds. */
  nowMs(): number;
  /** Waits, no longer than until the signal aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** The real time. */
export const systemClock: Clock = {
  nowMs: Date.now,
  async pause(ms, signal) {
    try {
      await pauseFor(ms, undefined, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  },
};

/** A wait that doubles with every failure in a row: 1 s at first, 60 s at most, a quarter more or less by chance. */
export function backoffMs(failures: number, random: () => number): number {
  const meantMs = Math.min(60_000, 1000 * 2 ** (Math.min(failures, 16) - 1));
  return Math.min(60_000, Math.max(1000, meantMs * (0.75 + random() / 2)));
}
