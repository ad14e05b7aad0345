import { isFiring, type Reported } from '../incidents/watch-state.ts';
import { fromMsOf, type ReportSpan, toMsOf } from './schedule.ts';

/** Alerts from other systems to a channel in the span of a report. */
export interface ReportedFigures {
  /** Times that alerts fired. Only the newest of an alert are kept, so there may have been more. */
  fired: number;
  isLeast: boolean;
  /** Alerts that fired. */
  alerts: number;
  /** Within the span. */
  longest: { name: string; lastedMs: number; isOngoing: boolean };
  firingNow: string[];
}

/** `undefined` if no alert fired in the span. Pure. */
export function reportedFigures(
  reported: readonly Reported[],
  span: ReportSpan,
  mostTimes: number,
): ReportedFigures | undefined {
  const [fromMs, toMs] = [fromMsOf(span), toMsOf(span)];
  let fired = 0;
  let alerts = 0;
  let isLeast = false;
  let longest = { name: '', lastedMs: -1, isOngoing: false };
  for (const one of reported) {
    const times = [
      ...(one.past ?? []),
      ...(isFiring(one) ? [{ startedAtMs: one.startedAtMs, endedAtMs: undefined }] : []),
    ].filter(({ startedAtMs, endedAtMs = toMs }) => startedAtMs < toMs && endedAtMs >= fromMs);
    if (times.length === 0) continue;
    fired += times.length;
    alerts += 1;
    isLeast ||= times.length >= mostTimes;
    for (const { startedAtMs, endedAtMs } of times) {
      const lastedMs = Math.min(endedAtMs ?? toMs, toMs) - Math.max(startedAtMs, fromMs);
      const isOngoing = endedAtMs === undefined;
      if (lastedMs > longest.lastedMs) longest = { name: one.name, lastedMs, isOngoing };
    }
  }
  if (fired === 0) return undefined;
  const firingNow = reported.filter(isFiring).map(({ name }) => name);
  return { fired, isLeast, alerts, longest, firingNow };
}
