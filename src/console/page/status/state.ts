import type { StatusEvent, StatusReport } from '../../status/api-types.ts';

export interface StatusState {
  connection: 'connecting' | 'open' | 'lost';
  report: StatusReport | undefined;
}

export const emptyStatus: StatusState = { connection: 'connecting', report: undefined };

/** Applies an event. Unchanged monitors stay the same objects. Pure. */
export const applyEvent = (state: StatusState, event: StatusEvent): StatusState => ({
  connection: 'open',
  report: withEvent(state.report, event),
});

/** Applies an event to the report; a second time without effect. Pure. */
export function withEvent(report: StatusReport | undefined, event: StatusEvent): StatusReport {
  if (event.kind === 'report') return event.report;
  if (!report) throw new Error('The first event of the status page must be the whole report.');
  const { generated_at, overall, notice, order } = event;
  const known = new Map(report.monitors.map((monitor) => [monitor.id, monitor]));
  for (const { days, uptime, ...changed } of event.monitors) {
    const before = known.get(changed.id);
    const seen = days ? { days, uptime } : { days: before?.days, uptime: before?.uptime };
    known.set(changed.id, { ...changed, ...seen });
  }
  const ids = order ?? report.monitors.map(({ id }) => id);
  const monitors = ids.flatMap((id) => known.get(id) ?? []);
  const maintenance = event.maintenance === undefined ? report.maintenance : event.maintenance;
  return {
    public: report.public,
    generated_at,
    overall,
    monitors,
    notice: notice ?? undefined,
    maintenance: maintenance ?? undefined,
  };
}
