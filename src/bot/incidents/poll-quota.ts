import { StatusError } from '../../clients/errors.ts';

/**
 * What the watch may ask the monitoring service besides the list. The service allows a key 120 requests a minute, and
 * people's commands need them too.
 */
export interface AskBudget {
  /** Takes one request, if one is free and `leaving` stay for others. */
  take(options?: { leaving?: number }): boolean;
  /** Whether what was taken may still be asked: not when failures used more, or the service asked for quiet. */
  mayAsk(): boolean;
  /** Notes why a request that was taken had no answer. */
  failed(error: unknown): void;
}

const MINUTE_MS = 60_000;
const PER_MINUTE = 30;

/** A client that gets no answer asks twice more. */
const REPEATS = 2;

/** How long a service is left alone that says "too often" and not until when. */
const REST_MS = 30_000;
const MAX_REST_MS = 600_000;

/** A budget of 30 requests in any minute. */
export function createAskBudget({ nowMs }: { nowMs: () => number }): AskBudget {
  let takenAtMs: number[] = [];
  let restUntilMs = 0;

  /** Requests of the last minute; of one in the future nothing is known but that the clock was set back. */
  function taken(): number {
    const now = nowMs();
    takenAtMs = takenAtMs.filter((atMs) => atMs <= now && now - atMs < MINUTE_MS);
    return takenAtMs.length;
  }

  function rests(): boolean {
    const leftMs = restUntilMs - nowMs();
    return leftMs > 0 && leftMs <= MAX_REST_MS;
  }

  return {
    take({ leaving = 0 } = {}) {
      if (rests() || taken() + leaving >= PER_MINUTE) return false;
      takenAtMs.push(nowMs());
      return true;
    },
    mayAsk: () => !rests() && taken() <= PER_MINUTE,
    failed(error) {
      // A plain refusal is not repeated.
      if (error instanceof StatusError && error.status < 429) return;
      for (let at = 0; at < REPEATS; at += 1) takenAtMs.push(nowMs());
      if (!(error instanceof StatusError) || error.status !== 429) return;
      restUntilMs = nowMs() + Math.min(error.retryAfterMs ?? REST_MS, MAX_REST_MS);
    },
  };
}
