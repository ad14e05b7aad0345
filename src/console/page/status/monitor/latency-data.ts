import type { LatencyPoint, StatusDetails, StatusIncident } from '../../../status/api-types.ts';

/** The columns of the chart: seconds, and milliseconds or null where no check passed. */
export interface LatencyColumns {
  times: number[];
  means: (number | null)[];
  least: (number | null)[];
  most: (number | null)[];
}

/** Points further apart than so many steps have a gap between them. */
const JOINED_STEPS = 1.5;

/** The points as columns, each in the middle of its step, with an empty one where points are missing. Pure. */
export function columnsOf({ latency, latency_step_ms: stepMs }: StatusDetails): LatencyColumns {
  const columns: LatencyColumns = { times: [], means: [], least: [], most: [] };
  const add = (atMs: number, point?: LatencyPoint) => {
    columns.times.push((atMs + stepMs / 2) / 1_000);
    columns.means.push(point?.mean_ms ?? null);
    columns.least.push(point?.min_ms ?? null);
    columns.most.push(point?.max_ms ?? null);
  };
  let lastMs: number | undefined;
  for (const point of latency) {
    const atMs = Date.parse(point.at);
    if (lastMs !== undefined && atMs - lastMs > JOINED_STEPS * stepMs) add(lastMs + stepMs);
    add(atMs, point);
    lastMs = atMs;
  }
  return columns;
}

/** The times in which it was down, within the span, in milliseconds. Pure. */
export function outagesOf(
  incidents: readonly StatusIncident[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): { fromMs: number; toMs: number }[] {
  return incidents
    .map(({ started_at, ended_at }) => ({
      fromMs: Math.max(fromMs, Date.parse(started_at)),
      toMs: Math.min(toMs, ended_at === null ? toMs : Date.parse(ended_at)),
    }))
    .filter((outage) => outage.fromMs < outage.toMs);
}
