import { z } from 'zod';
import { shortened } from '../shared/text-format.ts';
import { findMonitor, offered } from './monitors.ts';
import { ReportedIncident, reportedIncidentsIn } from './reported-alerts.ts';
import { timeSpanFields, timeSpanInWords, timeSpanOf } from './time-span.ts';
import { isoTime, limitField, monitorField, tool } from './tool.ts';

const STANDARD = '7d';
const standardLimit = 20;

/** As many as the service gives at once, to be summed up. */
const MAX_OF_ONE = 100;
const MAX_OF_ALL = 1_000;
const MAX_MONITORS = 20;

/** A time in which a monitor was down, as results have it. */
const FoundIncident = z.object({
  monitor_id: z.string(),
  monitor: z.string(),
  started_at: z.string(),
  /** Absent while it goes on. */
  ended_at: z.string().optional(),
  /** In all, so far while it goes on. */
  lasted_seconds: z.number(),
  cause: z.string(),
  outcome: z.string(),
});
type FoundIncident = z.infer<typeof FoundIncident>;

/** Outages of a time span. */
export const listIncidents = tool({
  name: 'list_incidents',
  title: 'List incidents',
  description:
    'Lists incidents (outages) of one monitor or all in a time span, newest first, with start, end and cause, and totals by monitor. For all monitors, also lists alerts from other systems in this channel.',
  input: z.object({
    monitor: monitorField.optional(),
    ...timeSpanFields(STANDARD),
    limit: limitField(100, standardLimit),
  }),
  output: z.object({
    from: z.string(),
    to: z.string(),
    /** In the time span; `incidents` are the newest of them. */
    total: z.int(),
    /** False where older ones may be missing, since not all are kept or listed. */
    complete: z.boolean(),
    incidents: z.array(FoundIncident),
    /** Those with the most time down within the span first. */
    by_monitor: z.array(
      z.object({
        monitor_id: z.string(),
        monitor: z.string(),
        incidents: z.int(),
        /** Within the time span. */
        down_seconds: z.number(),
        longest_seconds: z.number(),
      }),
    ),
    /** When alerts fired that other systems report to this channel, as far as that is kept; some of them, newest first. */
    reported_alerts: z.object({ total: z.int(), incidents: z.array(ReportedIncident) }).optional(),
  }),
  what: (asked) => {
    const of = asked.monitor === undefined ? '' : ` of ${shortened(asked.monitor, 60)}`;
    return `incidents${of} in ${timeSpanInWords(asked, STANDARD)}`;
  },
  account: ({ total, complete, to }, { monitor, ...asked }) => ({
    what: `incidents${monitor === undefined ? '' : ` of ${shortened(monitor, 60)}`} in ${timeSpanInWords(asked, STANDARD)}`,
    found: `${complete ? total : `at least ${total}`}, until ${to.slice(11, 16)} UTC`,
    page: '/status',
  }),
  async run({ monitor: meant, limit = standardLimit, ...asked }, context) {
    const { monitoring, reported, nowMs, signal } = context;
    const span = timeSpanOf(asked, STANDARD, nowMs);
    const range = { from: isoTime(span.fromMs), to: isoTime(span.toMs) };
    const one =
      meant === undefined ? undefined : findMonitor(await monitoring.list({ signal }), meant);
    const { incidents, total, complete } = await offered(
      'incidents',
      monitoring.incidentList({
        ...range,
        ...(one ? { monitor: one.id, limit: MAX_OF_ONE } : { limit: MAX_OF_ALL }),
        signal,
      }),
    );
    const found = incidents.map((incident): FoundIncident => {
      const startedMs = Date.parse(incident.started_at);
      const endedMs = incident.ended_at === null ? nowMs : Date.parse(incident.ended_at);
      return {
        monitor_id: one?.id ?? incident.monitor ?? '',
        monitor: shortened(one?.name ?? incident.name ?? '', 200),
        started_at: incident.started_at,
        ...(incident.ended_at !== null && { ended_at: incident.ended_at }),
        lasted_seconds: seconds(endedMs - startedMs),
        cause: shortened(incident.cause, 300),
        outcome: incident.outcome,
      };
    });
    const fired = reported && !one ? reportedIncidentsIn(reported(), span) : [];
    return {
      ...range,
      total,
      complete,
      incidents: found.slice(0, limit),
      by_monitor: byMonitor(found, { ...span, nowMs }).slice(0, MAX_MONITORS),
      ...(fired.length > 0 && {
        reported_alerts: { total: fired.length, incidents: fired.slice(0, limit) },
      }),
    };
  },
});

const seconds = (ms: number) => Math.max(0, Math.round(ms / 1000));

function byMonitor(
  incidents: readonly FoundIncident[],
  { fromMs, toMs, nowMs }: { fromMs: number; toMs: number; nowMs: number },
) {
  const sums = new Map<
    string,
    { monitor: string; incidents: number; downMs: number; longest: number }
  >();
  for (const { monitor_id, monitor, started_at, ended_at, lasted_seconds } of incidents) {
    const endedMs = ended_at === undefined ? nowMs : Date.parse(ended_at);
    const downMs = Math.min(endedMs, toMs) - Math.max(Date.parse(started_at), fromMs);
    const sum = sums.get(monitor_id) ?? { monitor, incidents: 0, downMs: 0, longest: 0 };
    sums.set(monitor_id, {
      monitor,
      incidents: sum.incidents + 1,
      downMs: sum.downMs + Math.max(0, downMs),
      longest: Math.max(sum.longest, lasted_seconds),
    });
  }
  return [...sums]
    .sort(([, a], [, b]) => b.downMs - a.downMs)
    .map(([monitor_id, { monitor, incidents: count, downMs, longest }]) => ({
      monitor_id,
      monitor,
      incidents: count,
      down_seconds: seconds(downMs),
      longest_seconds: longest,
    }));
}
