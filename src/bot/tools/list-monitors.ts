import { z } from 'zod';
import { CheckType, type Monitor } from '../../contracts/monitoring.ts';
import { PlannedWindow } from '../../contracts/monitoring-additions.ts';
import {
  filterInWords,
  type MonitorFilter,
  matches,
  requireTags,
  taggedInWords,
  tagsField,
} from '../channels/monitor-filter.ts';
import { sortByUrgency } from '../incidents/monitor-order.ts';
import { isDegraded, isDown, isPending, isSilenced, isUp } from '../shared/status.ts';
import { counted, shortened } from '../shared/text-format.ts';
import { ifOffered } from './monitors.ts';
import { countByStatus, countsInWords, MonitorView, monitorView } from './read-model.ts';
import { firingAlerts, ReportedAlertState } from './reported-alerts.ts';
import { asOf, isoTime, limitField, tool } from './tool.ts';

/** Filters by status, with their words. */
const STATUS = {
  down: { is: isDown, words: 'down' },
  degraded: { is: isDegraded, words: 'degraded' },
  up: { is: isUp, words: 'up' },
  pending: { is: isPending, words: 'not checked yet' },
  paused_or_maintenance: { is: isSilenced, words: 'paused or in maintenance' },
  not_up: { is: (monitor: Monitor) => !isUp(monitor), words: 'not up' },
} as const;

const SORT = ['urgency', 'name', 'slowest', 'latest_change', 'newest', 'certificate'] as const;
type SortOrder = (typeof SORT)[number];

const DEFAULT_LIMIT = 20;

/** The longest time that the service lists maintenance for. */
const PLANNED_DAYS = 31;
export const MAX_PLANNED = 100;

export const MonitorsFound = z.object({
  as_of: z.string(),
  /** All monitors, or the ones with the tags, as in `by_status`. */
  total: z.int(),
  by_status: z.record(z.string(), z.int()),
  /** Monitors that match the filters; `monitors` is one page of them. */
  matching: z.int(),
  monitors: z.array(MonitorView),
  /** Absent on the last page. */
  next_offset: z.int().optional(),
  /** Active and coming maintenance, by start. Only with the status `paused_or_maintenance`, if the service lists it. */
  planned_maintenance: z.array(PlannedWindow).optional(),
  /** Firing alerts from other systems in this channel that match the filters; `alerts` is the first page of them. */
  reported_alerts: z.object({ total: z.int(), alerts: z.array(ReportedAlertState) }).optional(),
});
export type MonitorsFound = z.infer<typeof MonitorsFound>;

export const listMonitors = tool({
  name: 'list_monitors',
  title: 'List monitors',
  description:
    'Lists monitors with status, since when and why they are not UP, counts by status, and firing alerts from other systems in this channel. With status paused_or_maintenance also planned maintenance.',
  input: z.object({
    status: z
      .enum(Object.keys(STATUS) as [keyof typeof STATUS])
      .optional()
      .describe('Current status; not_up means any but UP.'),
    text: z.string().max(200).optional().describe('Part of the name or target.'),
    tags: tagsField,
    check_type: z.string().max(40).optional().describe(CheckType.options.join(', ')),
    flapping: z.boolean().optional().describe('Only monitors that keep going up and down.'),
    sort: z
      .enum(SORT)
      .optional()
      .describe(
        'urgency (default): down first. slowest: by last response time. latest_change: by last status change. newest: by creation. certificate: only the ones with a certificate, the first to expire first.',
      ),
    limit: limitField(50, DEFAULT_LIMIT),
    offset: z.int().min(0).max(100_000).optional().describe('How many to skip.'),
  }),
  output: MonitorsFound,
  what: ({ status, text, tags, check_type, flapping }) => {
    const type = check_type === undefined ? '' : `${shortened(check_type, 20)} `;
    const which = [
      taggedInWords(tags),
      ...(status === undefined ? [] : [` that are ${STATUS[status].words}`]),
      ...(flapping ? [' that flap'] : []),
      filterInWords({ text }),
    ].join('');
    return `${which === '' ? 'all ' : ''}${type}monitors${which}`;
  },
  account: ({ as_of, total, matching, by_status, reported_alerts }) => {
    const counts = countsInWords(new Map(Object.entries(by_status)));
    const found = matching === total ? counts : String(matching);
    const firing = reported_alerts ? `, ${counted(reported_alerts.total, 'alert')} FIRING` : '';
    return { found: `${found || 'none'}${firing}, ${asOf(Date.parse(as_of))}`, page: '/status' };
  },
  async run(filter, { monitoring, reported, nowMs, signal }) {
    const { status, text, tags, check_type, flapping, sort = 'urgency' } = filter;
    const { limit = DEFAULT_LIMIT, offset = 0 } = filter;
    const isOfMaintenance = status === 'paused_or_maintenance';
    const [all, planned] = await Promise.all([
      monitoring.list({ signal }),
      isOfMaintenance
        ? ifOffered(monitoring.planned({ days: PLANNED_DAYS, limit: MAX_PLANNED, signal }))
        : undefined,
    ]);
    requireTags(tags, all);
    const scope = all.filter((monitor) => matches(monitor, { tags }));
    const matching = scope.filter(
      (monitor) =>
        isMatch(monitor, filter) && (sort !== 'certificate' || monitor.certificate_ends_at),
    );
    const next = offset + limit;
    // Filters that only fit checks leave reported alerts out.
    const isOfChecks =
      check_type !== undefined ||
      tags !== undefined ||
      flapping !== undefined ||
      sort === 'slowest' ||
      sort === 'certificate';
    const firing = reported && !isOfChecks ? firingAlerts(reported(), { status, text }) : [];
    return {
      as_of: isoTime(nowMs),
      total: scope.length,
      by_status: Object.fromEntries(countByStatus(scope)),
      matching: matching.length,
      monitors: sorted(matching, sort)
        .slice(offset, next)
        .map((monitor) => ({
          ...monitorView(monitor),
          certificate_ends_at:
            sort === 'certificate' ? (monitor.certificate_ends_at ?? undefined) : undefined,
        })),
      next_offset: next < matching.length ? next : undefined,
      planned_maintenance: planned?.windows
        .filter(({ monitor }) => tags === undefined || scope.some(({ id }) => id === monitor))
        .map((window) => ({
          ...window,
          name: shortened(window.name, 200),
          reason: window.reason === undefined ? undefined : shortened(window.reason, 200),
        })),
      reported_alerts:
        firing.length > 0 ? { total: firing.length, alerts: firing.slice(0, limit) } : undefined,
    };
  },
});

interface MonitorQuery extends MonitorFilter {
  status?: keyof typeof STATUS;
  check_type?: string;
  flapping?: boolean;
}

function isMatch(monitor: Monitor, filter: MonitorQuery): boolean {
  const { status, check_type, flapping } = filter;
  return (
    (status === undefined || STATUS[status].is(monitor)) &&
    matches(monitor, filter) &&
    (check_type === undefined || monitor.check_type.toLowerCase() === check_type.toLowerCase()) &&
    (flapping === undefined || (monitor.flapping ?? false) === flapping)
  );
}

function sorted(monitors: readonly Monitor[], sort: SortOrder): Monitor[] {
  const descending = (rankOf: (monitor: Monitor) => number) =>
    [...monitors].sort((a, b) => rankOf(b) - rankOf(a));
  const timeOf = (text: string | undefined) => Date.parse(text ?? '') || 0;
  switch (sort) {
    case 'slowest':
      return descending(({ response_time_ms }) => response_time_ms ?? -1);
    case 'latest_change':
      return descending(({ status_changed_at }) => timeOf(status_changed_at));
    case 'newest':
      return descending(({ created_at }) => timeOf(created_at));
    case 'certificate':
      return descending(({ certificate_ends_at }) => -timeOf(certificate_ends_at ?? undefined));
    case 'name':
      return [...monitors].sort((a, b) => a.name.localeCompare(b.name, 'en'));
    case 'urgency':
      return sortByUrgency(monitors);
  }
}
