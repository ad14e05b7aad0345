import { afterTurns } from './after-turns.ts';

/** Records requests that ignore a `Retry-After`. */
export interface TooEarly {
  /** A call came. */
  came(kind: string): void;
  /** It was refused: none of its kind may come for so long. */
  limited(kind: string, seconds: number): void;
  /** The app was killed, so it may not have received or stored the latest `Retry-After`. */
  killed(): void;
  /** Throws when calls came before their time. */
  check(): void;
}

/** A call that was sent before the refusal was heard may come so much after it, beside a busy core, too. */
const HEARD_MS = 300;

/** Resolves when every call that was sent before a refusal was heard has come. */
export const callsUnderWay = () => new Promise<void>((resolve) => afterTurns(HEARD_MS, resolve));

/** Within which an app, also on a slow machine, has stored a refusal. */
const STORED_MS = 1_000;

/** Timers may fire a little early, and both clocks are rounded. */
const ROUNDING_MS = 20;

/** Time until other processes of the app must respect a refusal. */
export const HEARD_BY_ALL_MS = 2_000;

/** Uses the real time. `heardMs` is the time until all processes of the app must respect a refusal. */
export function createTooEarly(heardMs = HEARD_MS): TooEarly {
  const limits = new Map<string, { fromMs: number; untilMs: number; heard: boolean }>();
  const early: string[] = [];
  return {
    came(kind) {
      const nowMs = performance.now();
      const limit = limits.get(kind);
      if (!limit?.heard) return;
      const leftMs = Math.round(limit.untilMs - nowMs);
      if (leftMs > ROUNDING_MS) early.push(`${kind} ${leftMs} ms too early`);
    },
    limited(kind, seconds) {
      const nowMs = performance.now();
      const limit = { fromMs: nowMs, untilMs: nowMs + 1_000 * seconds, heard: false };
      limits.set(kind, limit);
      afterTurns(heardMs, () => {
        limit.heard = true;
      });
    },
    killed() {
      for (const [kind, { fromMs }] of limits) {
        if (performance.now() - fromMs < STORED_MS) limits.delete(kind);
      }
    },
    check() {
      if (early.length === 0) return;
      const shown = early.slice(0, 5).join(', ');
      throw new Error(`${early.length} calls came before their Retry-After was over: ${shown}`);
    },
  };
}
