import { z } from 'zod';
import type { IncidentPage } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import { matches, requireTags, taggedInWords, tagsField } from '../channels/monitor-filter.ts';
import { shortened } from '../shared/text-format.ts';
import { monitorMeant, offered } from './monitors.ts';
import { incidentTimes } from './read-model.ts';
import { ReportedIncident, reportedIncidentsIn } from './reported-alerts.ts';
import { type TimeSpan, timeSpanFields, timeSpanInWords, timeSpanOf } from './time-span.ts';
import { isoTime, limitField, monitorField, tool } from './tool.ts';

const DEFAULT_SPAN = '7d';
const DEFAULT_LIMIT = 20;

/** The service's limits for one list. */
const MAX_OF_ONE = 100;
const MAX_OF_ALL = 1_000;
const MAX_MONITORS = 20;

const FoundIncident = z.object({
  monitor_id: z.string(),
  monitor: z.string(),
  started_at: z.string(),
  /** Absent while it is ongoing. */
  ended_at: z.string().optional(),
  /** Until now while it is ongoing. */
  lasted_seconds: z.number(),
  cause: z.string(),
  outcome: z.string(),
});
export type FoundIncident = z.infer<typeof FoundIncident>;

export const IncidentsFound = z.object({
  from: z.string(),
  to: z.string(),
  /** Only of one monitor. */
  monitor: z.string().optional(),
  /** In the time span; `incidents` are the newest of them. */
  total: z.int(),
  /** False if older ones may be missing. */
  complete: z.boolean(),
  incidents: z.array(FoundIncident),
  /** Most downtime first. */
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
  /** Incidents of alerts from other systems in this channel, as far as they are kept; the newest of them. */
  reported_alerts: z.object({ total: z.int(), incidents: z.array(ReportedIncident) }).optional(),
});
export type IncidentsFound = z.infer<typeof IncidentsFound>;

export const listIncidents = tool({
  name: 'list_incidents',
  title: 'List incidents',
  description:
    'Lists incidents (outages) of one monitor or all in a time span, newest first, with start, end and cause, and totals by monitor. For all monitors, also lists alerts from other systems in this channel.',
  input: z.object({
    monitor: monitorField.optional(),
    tags: tagsField,
    ...timeSpanFields(DEFAULT_SPAN),
    limit: limitField(100, DEFAULT_LIMIT),
  }),
  output: IncidentsFound,
  what: whatOf,
  account: ({ total, complete, to, monitor }, input) => ({
    what: whatOf({ ...input, monitor: monitor ?? input.monitor }),
    found: `${complete ? total : `at least ${total}`}, until ${to.slice(11, 16)} UTC`,
    page: '/status',
  }),
  async run({ monitor: meant, tags, limit = DEFAULT_LIMIT, ...wanted }, context) {
    const { monitoring, reported, nowMs, signal } = context;
    const span = timeSpanOf(wanted, DEFAULT_SPAN, nowMs);
    const range = { from: isoTime(span.fromMs), to: isoTime(span.toMs) };
    const one = meant === undefined ? undefined : await monitorMeant(meant, context);
    const query = one ? { monitor: one.id, limit: MAX_OF_ONE } : { limit: MAX_OF_ALL };
    const list = await offered(
      'incidents',
      monitoring.incidentList({ ...range, ...query, signal }),
    );
    const { incidents, total, complete } =
      tags === undefined ? list : taggedIncidents(list, tags, await monitoring.list({ signal }));
    const found = incidents.map((incident): FoundIncident => {
      const { lastedMs } = incidentTimes(incident, nowMs);
      return {
        monitor_id: one?.id ?? incident.monitor ?? '',
        monitor: shortened(one?.name ?? incident.name ?? '', 200),
        started_at: incident.started_at,
        ended_at: incident.ended_at ?? undefined,
        lasted_seconds: seconds(lastedMs),
        cause: shortened(incident.cause, 300),
        outcome: incident.outcome,
      };
    });
    const fired = reported && !one && !tags ? reportedIncidentsIn(reported(), span) : [];
    return {
      ...range,
      monitor: one && shortened(one.name, 200),
      total,
      complete,
      incidents: found.slice(0, limit),
      by_monitor: byMonitor(found, span).slice(0, MAX_MONITORS),
      reported_alerts:
        fired.length > 0 ? { total: fired.length, incidents: fired.slice(0, limit) } : undefined,
    };
  },
});

/** The incidents of monitors with any of the tags. Throws a `CommandError` for an unknown tag. */
function taggedIncidents(
  { incidents, total, complete }: IncidentPage,
  tags: string[],
  monitors: readonly Monitor[],
): IncidentPage {
  requireTags(tags, monitors);
  const ids = new Set(monitors.filter((one) => matches(one, { tags })).map(({ id }) => id));
  const tagged = incidents.filter(({ monitor = '' }) => ids.has(monitor));
  return {
    incidents: tagged,
    total: tagged.length,
    complete: complete && total <= incidents.length,
  };
}

function whatOf({
  monitor,
  tags,
  ...span
}: { monitor?: string; tags?: string[] } & Parameters<typeof timeSpanInWords>[0]) {
  const of = monitor === undefined ? '' : ` of ${shortened(monitor, 60)}`;
  const tagged = monitor === undefined && tags ? ` of monitors${taggedInWords(tags)}` : '';
  return `incidents${of}${tagged} in ${timeSpanInWords(span, DEFAULT_SPAN)}`;
}

const seconds = (ms: number) => Math.max(0, Math.round(ms / 1000));

function byMonitor(incidents: readonly FoundIncident[], { fromMs, toMs }: TimeSpan) {
  const sums = new Map<
    string,
    { monitor: string; count: number; downMs: number; longest: number }
  >();
  for (const { monitor_id, monitor, started_at, ended_at = null, lasted_seconds } of incidents) {
    const times = incidentTimes({ started_at, ended_at }, toMs);
    const sum = sums.get(monitor_id) ?? { monitor, count: 0, downMs: 0, longest: 0 };
    sum.count += 1;
    sum.downMs += Math.max(0, times.toMs - Math.max(times.fromMs, fromMs));
    sum.longest = Math.max(sum.longest, lasted_seconds);
    sums.set(monitor_id, sum);
  }
  return [...sums]
    .sort(([, a], [, b]) => b.downMs - a.downMs)
    .map(([monitor_id, { monitor, count, downMs, longest }]) => ({
      ...{ monitor_id, monitor, incidents: count },
      down_seconds: seconds(downMs),
      longest_seconds: longest,
    }));
}
