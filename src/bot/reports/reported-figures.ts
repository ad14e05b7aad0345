import { isFiring, type Reported } from '../incidents/watch-state.ts';
import { fromMsOf, type ReportSpan, toMsOf } from './schedule.ts';

/** What other systems reported to a channel in the time of a report. */
export interface ReportedFigures {
  /** How often an alert fired; of alerts that fired very often there were more. */
  fired: number;
  isLeast: boolean;
  /** Of how many alerts. */
  alerts: number;
  /** Within the time. */
  longest: { name: string; lastedMs: number; goesOn: boolean };
  firingNow: string[];
}

/** The figures of some alerts; `undefined` where none fired in that time. Pure. */
export function reportedFigures(
  reported: readonly Reported[],
  span: ReportSpan,
  mostTimes: number,
): ReportedFigures | undefined {
  const [fromMs, toMs] = [fromMsOf(span), toMsOf(span)];
  let fired = 0;
  let alerts = 0;
  let isLeast = false;
  let longest = { name: '', lastedMs: -1, goesOn: false };
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
      const goesOn = endedAtMs === undefined;
      if (lastedMs > longest.lastedMs) longest = { name: one.name, lastedMs, goesOn };
    }
  }
  if (fired === 0) return undefined;
  const firingNow = reported.filter(isFiring).map(({ name }) => name);
  return { fired, isLeast, alerts, longest, firingNow };
}
