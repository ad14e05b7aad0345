import { TimeoutError } from './errors.ts';

/** What ends a call early: its caller, or a time that is up. Release it when the call is over. */
export interface CallLimit {
  /** Aborts with the reason to throw: the caller's own, or a `TimeoutError`. */
  readonly signal: AbortSignal;
  /** Ends the call with a `TimeoutError` of this message in `ms` from now, unless the returned function is called before. */
  after(ms: number, message: string): () => void;
  release(): void;
}

/** Joins the caller's signal with time limits. Unlike `AbortSignal.any`, it leaves nothing on a signal that lives long. */
export function createCallLimit(signal: AbortSignal | undefined): CallLimit {
  const controller = new AbortController();
  const timers = new Set<NodeJS.Timeout>();
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    after(ms, message) {
      const timer = setTimeout(() => controller.abort(new TimeoutError(message)), ms);
      timers.add(timer);
      return () => {
        clearTimeout(timer);
        timers.delete(timer);
      };
    },
    release() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      signal?.removeEventListener('abort', abort);
    },
  };
}
