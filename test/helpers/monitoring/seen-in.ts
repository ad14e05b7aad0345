/** One check of a monitor, as the models of the history take it; `unconfirmed` is a failure that nothing has confirmed yet. */
export interface Check {
  atMs: number;
  as: 'up' | 'down' | 'unconfirmed' | 'covered' | 'paused';
  tookMs: number;
}

/** How a check failed or passed, and the status that it left, as a history takes them. */
export function resultOf({ as, tookMs }: Check) {
  const ok = as !== 'down' && as !== 'unconfirmed';
  return {
    result: { ok, outcome: ok ? ('ok' as const) : ('timeout' as const), responseTimeMs: tookMs },
    found: as === 'down' ? ('DOWN' as const) : ('UP' as const),
  };
}

/** What was seen in a range, moment by moment: the model that every history is held to. */
export function seenIn(checks: readonly Check[], everyMs: number, fromMs: number, toMs: number) {
  const moments = checks
    .flatMap(({ atMs }) => [atMs, atMs + 2 * everyMs])
    .filter((ms) => ms > fromMs && ms < toMs)
    .sort((a, b) => a - b);
  let upMs = 0;
  let downMs = 0;
  let startMs = fromMs;
  for (const endMs of [...moments, toMs]) {
    const as = asAt(checks, everyMs, startMs);
    if (as === 'up') upMs += Math.max(0, endMs - startMs);
    if (as === 'down') downMs += Math.max(0, endMs - startMs);
    startMs = endMs;
  }
  return { upMs, downMs };
}

/** A check is worth two intervals; one that failed is down if the next one within that time says so. */
function asAt(checks: readonly Check[], everyMs: number, ms: number): Check['as'] | undefined {
  const at = checks.findLastIndex(({ atMs }) => atMs <= ms);
  const check = checks[at];
  if (!check || ms >= check.atMs + 2 * everyMs) return undefined;
  if (check.as !== 'unconfirmed') return check.as;
  for (let place = at; ; place += 1) {
    const next = checks[place + 1];
    const endMs = (checks[place]?.atMs ?? 0) + 2 * everyMs;
    if (!next || next.atMs > endMs) return undefined;
    if (next.as !== 'unconfirmed') return next.as === 'down' ? 'down' : undefined;
  }
}
