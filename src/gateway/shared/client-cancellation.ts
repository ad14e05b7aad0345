/**
 * Tells when the client that waits for an answer no longer does. An `AbortController` for every call would cost more than the other
 * checks of a call together, so one is made only for those who need a signal.
 */
export class ClientCancellation {
  cancelled = false;
  /** Why the answer is no longer waited for. */
  reason: unknown;
  private controller: AbortController | undefined;
  private readonly listeners: Array<() => void> = [];

  /** Aborts when the client leaves, with the same reason. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.cancelled) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  /** Calls `listener` when the client leaves, until the returned function is called; never when it has left already. */
  onCancel(listener: () => void): () => void {
    this.listeners.push(listener);
    return () => {
      const at = this.listeners.indexOf(listener);
      if (at !== -1) this.listeners.splice(at, 1);
    };
  }

  /** Only the first reason counts. */
  cancel(reason: unknown): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.reason = reason;
    for (const listener of [...this.listeners]) listener();
    this.controller?.abort(reason);
  }
}
