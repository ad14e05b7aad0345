/** One run at a time. Callers during a run share the next one, so what a run reads is never older than the call. */
export function inTurn(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function begin(): Promise<void> {
    running = run().finally(() => {
      running = undefined;
    });
    return running;
  }

  return () => {
    if (!running) return begin();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return begin();
      });
    return next;
  };
}
