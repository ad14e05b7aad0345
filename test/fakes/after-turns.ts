const TURN_MS = 50;

/**
 * Calls `then` after `ms`, counting at most 50 ms per turn of the event loop, so that a frozen machine isn't mistaken for a slow app.
 * Returns a function that cancels it.
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
