import { CallError } from './errors.ts';

/** Failures in a row that open the breaker, and how long it stays open. */
const MAX_FAILURES = 3;
const FIRST_OPEN_MS = 30_000;
const LONGEST_OPEN_MS = 300_000;

/** State of a server, for people. */
export interface ToolServerHealth {
  /** `unknown` before the first call. */
  state: 'unknown' | 'answers' | 'fails';
  /** The last failure, a sentence, while it fails. */
  problem?: string;
  /** No calls go to it until then, Unix time. */
  openUntilMs?: number;
}

/** The server isn't called for a while because it failed. */
export class CircuitOpenError extends CallError {
  override name = 'CircuitOpenError' as const;
}

/** One call. Call one of these once. */
export interface BreakerTrial {
  /** Returns true if the server failed before. */
  succeeded(): boolean;
  /** Returns true if the breaker opened just now. */
  failed(problem: string): boolean;
  /** The caller left, which says nothing about the server. */
  cancelled(): void;
}

/**
 * Stops calls to a server that fails.
 *
 * - Closed, the first state: every call goes through. Three failures in a row open it for 30 s.
 * - Open: calls throw `CircuitOpenError`. After its time the next call is the trial.
 * - Trial in progress: all other calls throw. An answer closes the breaker. A failure opens it for twice as long, up to
 *   5 min. If its caller leaves, the next call is the trial.
 *
 * Failures of calls from before it opened change nothing.
 */
export class ToolServerBreaker {
  readonly #nowMs: () => number;
  #failures = 0;
  /** Length of the present or last opening; 0 while closed. */
  #openMs = 0;
  #openUntilMs = 0;
  #isTrying = false;
  #state: ToolServerHealth['state'] = 'unknown';
  #problem: string | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  health(): ToolServerHealth {
    const isOpen = this.#openUntilMs > this.#nowMs();
    const openUntilMs = isOpen ? this.#openUntilMs : undefined;
    return { state: this.#state, problem: this.#problem, openUntilMs };
  }

  /** Lets a call to the server through, or throws a `CircuitOpenError`. */
  enter(name: string): BreakerTrial {
    const isTrial = this.#openMs > 0;
    if (isTrial && (this.#isTrying || this.#nowMs() < this.#openUntilMs)) {
      const message = `${name} failed and is skipped for a while: ${this.#problem ?? ''}`;
      throw new CircuitOpenError(message.trim());
    }
    if (isTrial) this.#isTrying = true;
    const end = () => {
      if (isTrial) this.#isTrying = false;
    };
    return {
      succeeded: () => {
        end();
        return this.#close();
      },
      failed: (problem) => {
        end();
        // Others that were called at the same time opened it already.
        if (this.#openMs > 0 && !isTrial) return false;
        return this.#countFailure(problem);
      },
      cancelled: end,
    };
  }

  #close(): boolean {
    const wasOpen = this.#openMs > 0;
    this.#failures = 0;
    this.#openMs = 0;
    this.#openUntilMs = 0;
    this.#state = 'answers';
    this.#problem = undefined;
    return wasOpen;
  }

  #countFailure(problem: string): boolean {
    this.#failures += 1;
    this.#state = 'fails';
    this.#problem = problem;
    if (this.#failures < MAX_FAILURES) return false;
    const wasClosed = this.#openMs === 0;
    this.#openMs = Math.min(Math.max(FIRST_OPEN_MS, this.#openMs * 2), LONGEST_OPEN_MS);
    this.#openUntilMs = this.#nowMs() + this.#openMs;
    return wasClosed;
  }
}
