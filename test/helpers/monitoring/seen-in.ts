/** One check of a monitor, as the models of the history take it. */
export interface Check {
  atMs: number;
  as: 'up' | 'down' | 'covered' | 'paused';
  tookMs: number;
}

/** What was seen in a range, moment by moment: the model that every history is held to. */
export function seenIn(checks: readonly Check[], everyMs: number, fromMs: number, toMs: number) {
  let upMs = 0;
  let downMs = 0;
  for (const [index, check] of checks.entries()) {
    const nextMs = checks[index + 1]?.atMs ?? Number.POSITIVE_INFINITY;
    const endMs = Math.min(nextMs, check.atMs + 2 * everyMs, toMs);
    const lengthMs = Math.max(0, endMs - Math.max(check.atMs, fromMs));
    if (check.as === 'up') upMs += lengthMs;
    if (check.as === 'down') downMs += lengthMs;
  }
  return { upMs, downMs };
}
