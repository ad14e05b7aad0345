const TURN_MS = 50;

/**
 * Calls `then` after so many milliseconds, of which each turn of the event loop counts at most 50: a machine that stands still
 * for a while is not taken for an app that waits. Returns what ends the waiting.
 */
export function afterTurns(ms: number, then: () => void): () => void {
  let leftMs = ms;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    leftMs -= Math.min(TURN_MS, nowMs - lastMs);
    lastMs = nowMs;
    if (leftMs > 0) return;
    clearInterval(timer);
    then();
  }, TURN_MS);
  timer.unref();
  return () => clearInterval(timer);
}
