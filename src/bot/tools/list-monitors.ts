import { z } from 'zod';
import { CheckType, MAX_PARENTS, type Monitor } from '../../contracts/monitoring.ts';
import { matches } from '../channels/channels.ts';
import { isDegraded, isDown, isPending, isSilenced, isUp } from '../shared/status.ts';
import { shownTarget } from '../shared/target-link.ts';
import { counted, shortened } from '../shared/text-format.ts';
import { byUrgency, urgency } from './monitors.ts';
import { firingAlerts, ReportedAlertState } from './reported-alerts.ts';
import { asOf, isoTime, limitField, tool } from './tool.ts';

/** A monitor with its live status, as results have it. */
export const MonitorState = z.object({
  id: z.string(),
  name: z.string(),
  check_type: z.string(),
  target: z.string(),
  status: z.string(),
  created_at: z.string().optional(),
  /** Since when that is its status. */
  since: z.string().optional(),
  /** Why it is not UP. */
  reason: z.string().optional(),
  last_checked_at: z.string().optional(),
  /** How long the last check took. */
  response_time_ms: z.number().optional(),
  /** It goes up and down all the time. */
  flapping: z.boolean().optional(),
  /** A heartbeat whose job has said nothing yet. */
  waiting_for_first_ping: z.boolean().optional(),
  /** Nothing has been learned of it for longer than two intervals. */
  stale: z.boolean().optional(),
  /** Ids of what it needs to be well. */
  depends_on: z.array(z.string()).optional(),
});
export type MonitorState = z.infer<typeof MonitorState>;

const MAX_NAME = 200;
const MAX_REASON = 300;

/** A monitor as results have it; what is not known is left out. Pure. */
export function stateOf(monitor: Monitor): MonitorState {
  const { id, name, check_type, target, status, created_at } = monitor;
  const { status_changed_at, status_reason } = monitor;
  const { last_checked_at, response_time_ms, flapping, waiting_for_first_ping, stale } = monitor;
  const { depends_on = [] } = monitor;
  return {
    id,
    name: shortened(name, MAX_NAME),
    check_type,
    target: shortened(shownTarget(target), MAX_NAME),
    status,
    ...(created_at !== undefined && { created_at }),
    ...(status_changed_at !== undefined && { since: status_changed_at }),
    ...(status_reason !== undefined && { reason: shortened(status_reason, MAX_REASON) }),
    ...(last_checked_at != null && { last_checked_at }),
    ...(response_time_ms != null && { response_time_ms }),
    ...(flapping && { flapping }),
    ...(waiting_for_first_ping && { waiting_for_first_ping }),
    ...(stale && { stale }),
    ...(depends_on.length > 0 && { depends_on: depends_on.slice(0, MAX_PARENTS) }),
  };
}

/** What monitors are listed by, as people say it. */
const STATUS = {
  down: { is: isDown, words: 'down' },
  degraded: { is: isDegraded, words: 'degraded' },
  up: { is: isUp, words: 'up' },
  pending: { is: isPending, words: 'not checked yet' },
  paused_or_maintenance: { is: isSilenced, words: 'paused or in maintenance' },
  not_up: { is: (monitor: Monitor) => !isUp(monitor), words: 'not up' },
} as const;

const SORT = ['urgency', 'name', 'slowest', 'latest_change', 'newest'] as const;

const standardLimit = 20;

/** All monitors, or some of them. */
export const listMonitors = tool({
  name: 'list_monitors',
  title: 'List monitors',
  description:
    'Lists monitors with status, since when and why they are not UP, counts by status, and firing alerts from other systems in this channel.',
  input: z.object({
    status: z
      .enum(Object.keys(STATUS) as [keyof typeof STATUS])
      .optional()
      .describe('Current status; not_up means any but UP.'),
    text: z.string().max(200).optional().describe('Part of the name or target.'),
    check_type: z.string().max(40).optional().describe(CheckType.options.join(', ')),
    flapping: z.boolean().optional().describe('Only monitors that keep going up and down.'),
    sort: z
      .enum(SORT)
      .optional()
      .describe(
        'urgency (default): down first. slowest: by last response time. latest_change: by last status change. newest: by creation.',
      ),
    limit: limitField(50, standardLimit),
    offset: z.int().min(0).max(100_000).optional().describe('How many to skip.'),
  }),
  output: z.object({
    as_of: z.string(),
    /** Of all there are. */
    total: z.int(),
    by_status: z.record(z.string(), z.int()),
    /** Those that were asked for; `monitors` are some of them. */
    matching: z.int(),
    monitors: z.array(MonitorState),
    /** For the next ones; absent when these are the last. */
    next_offset: z.int().optional(),
    /** Alerts that other systems report to this channel and that fire, of the status and text asked for; some of them. */
    reported_alerts: z.object({ total: z.int(), alerts: z.array(ReportedAlertState) }).optional(),
  }),
  what: ({ status, text, check_type, flapping }) => {
    const type = check_type === undefined ? '' : `${shortened(check_type, 20)} `;
    const which = [
      ...(status === undefined ? [] : [` that are ${STATUS[status].words}`]),
      ...(flapping ? [' that flap'] : []),
      ...(text === undefined ? [] : [` with “${shortened(text, 60)}”`]),
    ];
    return `${which.length === 0 ? 'all ' : ''}${type}monitors${which.join('')}`;
  },
  account: ({ as_of, total, matching, by_status, reported_alerts }) => {
    const counts = Object.entries(by_status).map(
      ([status, count]) => `${count} ${shortened(status, 20)}`,
    );
    const found = matching === total ? counts.slice(0, 6).join(', ') : String(matching);
    const firing = reported_alerts ? `, ${counted(reported_alerts.total, 'alert')} FIRING` : '';
    return { found: `${found || 'none'}${firing}, ${asOf(Date.parse(as_of))}`, page: '/status' };
  },
  async run(asked, { monitoring, reported, nowMs, signal }) {
    const { status, text, check_type, flapping, sort = 'urgency' } = asked;
    const { limit = standardLimit, offset = 0 } = asked;
    const all = await monitoring.list({ signal });
    const found = all.filter(
      (monitor) =>
        (status === undefined || STATUS[status].is(monitor)) &&
        (text === undefined || matches(monitor, text)) &&
        (check_type === undefined ||
          monitor.check_type.toLowerCase() === check_type.toLowerCase()) &&
        (flapping === undefined || (monitor.flapping ?? false) === flapping),
    );
    const next = offset + limit;
    // What is asked of checks alone is not about them.
    const isOfChecks = check_type !== undefined || flapping !== undefined || sort === 'slowest';
    const firing = reported && !isOfChecks ? firingAlerts(reported(), { status, text }) : [];
    return {
      as_of: isoTime(nowMs),
      total: all.length,
      by_status: countsOf(all),
      matching: found.length,
      monitors: ordered(found, sort).slice(offset, next).map(stateOf),
      ...(next < found.length && { next_offset: next }),
      ...(firing.length > 0 && {
        reported_alerts: { total: firing.length, alerts: firing.slice(0, limit) },
      }),
    };
  },
});

/** What they are sorted by, the newest first. */
const TIMES: Partial<Record<(typeof SORT)[number], (monitor: Monitor) => string | undefined>> = {
  latest_change: ({ status_changed_at }) => status_changed_at,
  newest: ({ created_at }) => created_at,
};

function ordered(monitors: readonly Monitor[], sort: (typeof SORT)[number]): Monitor[] {
  if (sort === 'slowest') {
    const timeOf = ({ response_time_ms }: Monitor) => response_time_ms ?? -1;
    return [...monitors].sort((a, b) => timeOf(b) - timeOf(a));
  }
  const momentOf = TIMES[sort];
  if (momentOf) {
    const ms = (monitor: Monitor) => Date.parse(momentOf(monitor) ?? '') || 0;
    return [...monitors].sort((a, b) => ms(b) - ms(a));
  }
  const urgent = byUrgency(monitors);
  return sort === 'name' ? urgent.sort((a, b) => a.name.localeCompare(b.name, 'en')) : urgent;
}

/** Statuses that are counted by name: a service may have as many as it has monitors. */
const MAX_STATUSES = 20;

function countsOf(monitors: readonly Monitor[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of monitors) counts.set(status, (counts.get(status) ?? 0) + 1);
  const named = new Map<string, number>();
  for (const [status, count] of [...counts].sort(
    ([a], [b]) => urgency({ status: a }) - urgency({ status: b }),
  )) {
    const word = shortened(status, 40);
    const name = named.has(word) || named.size < MAX_STATUSES ? word : 'other';
    named.set(name, (named.get(name) ?? 0) + count);
  }
  return Object.fromEntries(named);
}
