import type { Logger } from 'pino';
import { StatusError } from '../../clients/errors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';

/**
 * What the watch may ask the monitoring service besides the list. The service allows a key 120 requests a minute, and
 * people's commands need them too.
 */
export type RequestQuota = ReturnType<typeof createRequestQuota>;

/** What it takes to ask for more than the list. */
export interface Asking {
  monitoring: MonitoringClient;
  quota: RequestQuota;
  signal: AbortSignal;
  log: Logger;
}

const MINUTE_MS = 60_000;
const PER_MINUTE = 30;

/** A client that gets no answer asks twice more. */
const REPEATS = 2;

/** How long a service is left alone that says "too often" and not until when. */
const PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 600_000;

/** A quota of 30 requests in any minute. */
export function createRequestQuota({ nowMs }: { nowMs: () => number }) {
  let takenAtMs: number[] = [];
  let pausedUntilMs = 0;

  /** Requests of the last minute; of one in the future nothing is known but that the clock was set back. */
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
    /** Takes one request, if one is free and `leaving` stay for others. */
    take({ leaving = 0 }: { leaving?: number } = {}) {
      if (isPaused() || taken() + leaving >= PER_MINUTE) return false;
      takenAtMs.push(nowMs());
      return true;
    },
    /** Whether what was taken may still be asked: not when failures used more, or the service asked for quiet. */
    mayAsk: () => !isPaused() && taken() <= PER_MINUTE,
    /** Notes why a request that was taken had no answer. */
    failed(error: unknown) {
      // A plain refusal is not repeated.
      if (error instanceof StatusError && error.status < 429) return;
      for (let at = 0; at < REPEATS; at += 1) takenAtMs.push(nowMs());
      if (!(error instanceof StatusError) || error.status !== 429) return;
      pausedUntilMs = nowMs() + Math.min(error.retryAfterMs ?? PAUSE_MS, MAX_PAUSE_MS);
    },
  };
}
