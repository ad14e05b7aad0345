import type { StatusEvent, StatusReport } from './api-types.ts';

/** The report after an event; the same event a second time changes nothing. Pure, and without a library: the page runs it. */
export function withEvent(report: StatusReport | undefined, event: StatusEvent): StatusReport {
  if (event.kind === 'report') return event.report;
  if (!report) throw new Error('The first event of the status page must be the whole report.');
  const { generated_at, overall, notice, order } = event;
  const known = new Map(report.monitors.map((monitor) => [monitor.id, monitor]));
  for (const { days, uptime, ...changed } of event.monitors) {
    const before = known.get(changed.id);
    const seen = days ? { days, uptime } : { days: before?.days, uptime: before?.uptime };
    known.set(changed.id, {
      ...changed,
      ...(seen.days && { days: seen.days, uptime: seen.uptime ?? null }),
    });
  }
  const ids = order ?? report.monitors.map(({ id }) => id);
  const monitors = ids.flatMap((id) => known.get(id) ?? []);
  const { notice: _before, ...rest } = report;
  return { ...rest, generated_at, overall, ...(notice !== null && { notice }), monitors };
}
