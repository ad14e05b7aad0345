/** Ends a call when the client is gone, or when nothing came for too long. Release it when the call is over. */
export interface IdleTimeout {
  /** Aborts with the client's reason, or with what `onTimeout` makes. */
  readonly signal: AbortSignal;
  /** Waits so long from now on. */
  wait(ms: number): void;
  /** Waits for nothing until the next `wait`. */
  pause(): void;
  release(): void;
}

/** Joins the client's signal with a time limit that can be set anew. */
export function createIdleTimeout(cancellation: AbortSignal, onTimeout: () => Error): IdleTimeout {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const abort = () => controller.abort(cancellation.reason);
  if (cancellation.aborted) abort();
  cancellation.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    wait(ms) {
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(onTimeout()), ms);
    },
    pause: () => clearTimeout(timer),
    release() {
      clearTimeout(timer);
      cancellation.removeEventListener('abort', abort);
    },
  };
}

/** How long a provider may be silent, milliseconds. */
export interface UpstreamTimeouts {
  /** For a whole answer that is not streamed; long prompts take minutes. */
  answerMs: number;
  /** Until the first chunk of a stream. */
  firstChunkMs: number;
  /** Between two chunks. */
  stallMs: number;
}
