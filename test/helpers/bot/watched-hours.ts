import { counting, startAdditions } from './stepped-watch.ts';

const HOUR_MS = 3_600_000;

/** A monitoring service that has watched the shop for some hours, so that there is a chart to draw. */
export function startWatchedHours() {
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const rollups = [4, 3, 2, 1].map((ago) => ({
    ...{ starts_at: new Date(nowMs - ago * HOUR_MS).toISOString(), checks: 60, failures: 0 },
    ...{ response_time_ms: { min: 1, mean: ago * 100, max: 900 }, up_ms: HOUR_MS, down_ms: 0 },
  }));
  return startAdditions([counting('a', 1, { name: 'Shop' })], (what) =>
    what === 'rollups' ? { body: { by: 'hour', rollups } } : { status: 404, body: {} },
  );
}
