import { overallOf } from '../shared/from-bot.ts';
import type { StatusMonitor, StatusReport } from './api-types.ts';

interface TaggedPart extends Pick<StatusReport, 'overall' | 'maintenance'> {
  monitors: readonly StatusMonitor[];
}

/** Limits a report to the monitors with a tag. Maintenance stays if some of its monitors aren't listed. Pure. */
export function taggedPart<Report extends TaggedPart>(report: Report, tag: string): Report {
  const { overall, maintenance } = report;
  const monitors = report.monitors.filter(({ tags }) => tags?.includes(tag));
  const ids = new Set(monitors.map(({ id }) => id));
  const windows = maintenance?.windows.filter(
    (window) => window.more > 0 || window.monitors.some(({ id }) => ids.has(id)),
  );
  return {
    ...report,
    overall: overall === 'unknown' ? overall : overallOf(monitors),
    monitors,
    maintenance: maintenance && windows?.length ? { ...maintenance, windows } : undefined,
  };
}
