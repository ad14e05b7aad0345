import { setTimeout as pauseFor } from 'node:timers/promises';

export interface Clock {
  /** Unix time, milliseconds. */
  nowMs(): number;
  /** Resolves early if the signal aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

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

/** Doubles with every failure in a row, from 1 s to 60 s, with a random quarter more or less. */
export function backoffMs(failures: number, random: () => number): number {
  const meantMs = Math.min(60_000, 1000 * 2 ** (Math.min(failures, 16) - 1));
  return Math.min(60_000, Math.max(1000, meantMs * (0.75 + random() / 2)));
}
