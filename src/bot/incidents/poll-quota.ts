import type { Logger } from 'pino';
import { StatusError } from '../../clients/errors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';

/**
 * Limits requests other than the list. The service allows 120 requests a minute per key, and people's commands need
 * some.
 */
export type RequestQuota = ReturnType<typeof createRequestQuota>;

export interface Asking {
  monitoring: MonitoringClient;
  quota: RequestQuota;
  signal: AbortSignal;
  log: Logger;
}

const MINUTE_MS = 60_000;
const PER_MINUTE = 30;

/** The client repeats a request without an answer twice. */
const REPEATS = 2;

/** Pause after a 429 without `Retry-After`. */
const PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 600_000;

export function createRequestQuota({ nowMs }: { nowMs: () => number }) {
  let takenAtMs: number[] = [];
  let pausedUntilMs = 0;

  /** A time in the future is from before the clock was set back. */
  function taken(): number {
    const now = nowMs();
    takenAtMs = takenAtMs.filter((atMs) => atMs <= now && now - atMs < MINUTE_MS);
    return takenAtMs.length;
  }

  function isPaused(): boolean {
    const leftMs = pausedUntilMs - nowMs();
    return leftMs > 0 && leftMs <= MAX_PAUSE_MS;
  }

  return {
    /** Takes a request if one is free and `leaving` remain for others. */
    take({ leaving = 0 }: { leaving?: number } = {}) {
      if (isPaused() || taken() + leaving >= PER_MINUTE) return false;
      takenAtMs.push(nowMs());
      return true;
    },
    /** False after failures used up the quota, or after a 429. */
    mayAsk: () => !isPaused() && taken() <= PER_MINUTE,
    /** Counts the client's repeats of a failed request. */
    failed(error: unknown) {
      // A refusal isn't repeated.
      if (error instanceof StatusError && error.status < 429) return;
      for (let at = 0; at < REPEATS; at += 1) takenAtMs.push(nowMs());
      if (!(error instanceof StatusError) || error.status !== 429) return;
      pausedUntilMs = nowMs() + Math.min(error.retryAfterMs ?? PAUSE_MS, MAX_PAUSE_MS);
    },
  };
}
