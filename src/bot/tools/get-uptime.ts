import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { Rollup, RollupList, Uptime } from '../../contracts/monitoring-additions.ts';
import { matches, requireTags, taggedInWords, tagsField } from '../channels/monitor-filter.ts';
import { counted, percentOf, shortened } from '../shared/text-format.ts';
import { findMonitor, ifOffered, offered, pageOf } from './monitors.ts';
import { type TimeSpan, timeSpanFields, timeSpanInWords, timeSpanOf } from './time-span.ts';
import { asOf, isoTime, limitField, monitorField, type ToolContext, tool } from './tool.ts';

const DEFAULT_SPAN = '7d';
const DEFAULT_LIMIT = 20;
const DAY_MS = 86_400_000;

/** The service keeps minutes for two hours, and lists hours of up to 60 days. */
const MINUTES_KEPT_MS = 2 * 3_600_000;
const HOURS_UP_TO_MS = 60 * DAY_MS;

/** The service's limit for days of all monitors. */
const MAX_DAYS = 90;

const UptimeSpan = z.object({
  from: z.string(),
  to: z.string(),
  /** Share of the checked time, 0 to 100; absent if there was none. */
  uptime_percent: z.number().optional(),
  down_seconds: z.number(),
  /** Not checked, paused or in maintenance. */
  unseen_seconds: z.number(),
  checks: z.int().optional(),
  failed_checks: z.int().optional(),
  /** Passed checks only. */
  response_time_ms: z.object({ min: z.number(), mean: z.number(), max: z.number() }).optional(),
});
export type UptimeSpan = z.infer<typeof UptimeSpan>;

export const UptimeShown = z.object({
  as_of: z.string(),
  monitor_id: z.string().optional(),
  monitor: z.string().optional(),
  /** Only of one monitor. */
  span: UptimeSpan.optional(),
  span_before: UptimeSpan.optional(),
  /** Only of all monitors: the days that are counted. */
  first_day: z.string().optional(),
  last_day: z.string().optional(),
  uptime_percent: z.number().optional(),
  /** Checked time of the monitor with the most. */
  watched_seconds: z.number().optional(),
  monitors: z
    .array(
      z.object({
        monitor_id: z.string(),
        monitor: z.string(),
        uptime_percent: z.number(),
        watched_seconds: z.number(),
        down_seconds: z.number(),
      }),
    )
    .optional(),
  /** Monitors with checked time; `monitors` are the ones with the lowest uptime. */
  total: z.int().optional(),
});
export type UptimeShown = z.infer<typeof UptimeShown>;

export const getUptime = tool({
  name: 'get_uptime',
  title: 'Show uptime and response times',
  description:
    'Uptime in a time span: of one monitor, with response times and the span before; or of all monitors by whole UTC days, lowest first.',
  input: z.object({
    monitor: monitorField.optional().describe('Id or name; all monitors if omitted.'),
    tags: tagsField,
    ...timeSpanFields(DEFAULT_SPAN),
    limit: limitField(50, DEFAULT_LIMIT),
  }),
  output: UptimeShown,
  what: (input) => whatOf(input, input.monitor),
  account: ({ as_of, monitor_id, monitor, span, uptime_percent, total, ...days }, input) => {
    const percent = span ? span.uptime_percent : uptime_percent;
    const found = percent === undefined ? 'no data' : `${percent} %`;
    return {
      // Whole days may be more than the requested span.
      what: monitor
        ? whatOf(input, monitor)
        : `uptime of ${allInWords(input)} from ${days.first_day} to ${days.last_day}`,
      found: `${found}${total === undefined ? '' : ` over ${counted(total, 'monitor')}`}, ${asOf(Date.parse(as_of))}`,
      page: monitor_id === undefined ? '/status' : pageOf({ id: monitor_id }),
    };
  },
  async run({ monitor: meant, tags, limit = DEFAULT_LIMIT, ...wanted }, context) {
    const { monitoring, nowMs, signal } = context;
    const span = timeSpanOf(wanted, DEFAULT_SPAN, nowMs);
    const monitors = await monitoring.list({ signal });
    const as_of = isoTime(nowMs);
    if (meant === undefined) {
      requireTags(tags, monitors);
      const of = { monitoring, monitors, tags, span, nowMs, limit, signal };
      return { as_of, ...(await ofAll(of)) };
    }
    const { id, name, check_type } = findMonitor(monitors, meant);
    const lengthMs = span.toMs - span.fromMs;
    const before = { fromMs: span.fromMs - lengthMs, toMs: span.fromMs };
    // A heartbeat has no meaningful response time.
    const hasTimes = check_type !== 'HEARTBEAT';
    const [now, then, rollups] = await Promise.all([
      offered('uptime', monitoring.uptime(id, { ...rangeOf(span), signal })),
      ifOffered(monitoring.uptime(id, { ...rangeOf(before), signal })),
      hasTimes ? readRollups(context, id, { fromMs: before.fromMs, toMs: span.toMs }) : [],
    ]);
    return {
      as_of,
      monitor_id: id,
      monitor: shortened(name, 200),
      span: spanOf(now, timesIn(rollups, span)),
      span_before:
        then && then.uptime !== null ? spanOf(then, timesIn(rollups, before)) : undefined,
    };
  },
});

const allInWords = ({ tags }: { tags?: string[] }) => `all monitors${taggedInWords(tags)}`;

const whatOf = (
  input: Parameters<typeof timeSpanInWords>[0] & { tags?: string[] },
  monitor: string | undefined,
) =>
  `uptime of ${monitor === undefined ? allInWords(input) : shortened(monitor, 60)} in ${timeSpanInWords(input, DEFAULT_SPAN)}`;

const seconds = (ms: number) => Math.round(ms / 1000);
const rangeOf = ({ fromMs, toMs }: TimeSpan) => ({ from: isoTime(fromMs), to: isoTime(toMs) });

function spanOf(
  { from, to, uptime, down_ms, unseen_ms }: Uptime,
  times: Partial<UptimeSpan>,
): UptimeSpan {
  return {
    from,
    to,
    uptime_percent: uptime === null ? undefined : percentOf(uptime),
    down_seconds: seconds(down_ms),
    unseen_seconds: seconds(unseen_ms),
    ...times,
  };
}

/** The finest rollups of a span; empty if the service has none. */
async function readRollups(
  { monitoring, nowMs, signal }: ToolContext,
  id: string,
  span: TimeSpan,
): Promise<Rollup[]> {
  const isLong = span.toMs - span.fromMs > HOURS_UP_TO_MS;
  const isRecent = nowMs - span.fromMs <= MINUTES_KEPT_MS;
  const by: RollupList['by'] = isLong ? 'day' : isRecent ? 'minute' : 'hour';
  const found = await ifOffered(monitoring.rollups(id, { by, ...rangeOf(span), signal }));
  return found?.rollups ?? [];
}

/** Checks and response times of the rollups that begin in the span. Pure. */
function timesIn(rollups: readonly Rollup[], { fromMs, toMs }: TimeSpan): Partial<UptimeSpan> {
  const sums = { checks: 0, failed_checks: 0, passed: 0, ms: 0 };
  const range = { min: Number.POSITIVE_INFINITY, max: 0 };
  for (const { starts_at, checks, failures, response_time_ms: times } of rollups) {
    const startsMs = Date.parse(starts_at);
    if (startsMs < fromMs || startsMs >= toMs) continue;
    sums.checks += checks;
    sums.failed_checks += failures;
    if (!times) continue;
    sums.passed += checks - failures;
    sums.ms += times.mean * (checks - failures);
    range.min = Math.min(range.min, times.min);
    range.max = Math.max(range.max, times.max);
  }
  const { checks, failed_checks, passed, ms } = sums;
  if (checks === 0) return {};
  const mean = Math.round((ms / passed) * 10) / 10;
  return { checks, failed_checks, response_time_ms: passed > 0 ? { ...range, mean } : undefined };
}

/** Uptime of all monitors on the days from `firstDay` to `lastDay`, as numbers of days since 1970. */
async function readDays(
  monitoring: MonitoringClient,
  { days, firstDay, lastDay }: { days: number; firstDay: number; lastDay: number },
  signal: AbortSignal,
): Promise<MonitorUptime[]> {
  const found: MonitorUptime[] = [];
  let after: string | undefined;
  do {
    const page = await offered('daily uptime', monitoring.days({ days, after, signal }));
    const listLastDay = dayOf(Date.parse(page.last));
    for (const { id, up_ms, down_ms } of page.monitors) {
      const sum = (counts: readonly number[]) =>
        counts.reduce((all, ms, at) => {
          const day = listLastDay - (counts.length - 1 - at);
          return day >= firstDay && day <= lastDay ? all + ms : all;
        }, 0);
      found.push({ id, upMs: sum(up_ms), downMs: sum(down_ms) });
    }
    after = page.next ?? undefined;
  } while (after !== undefined);
  return found;
}

interface MonitorUptime {
  id: string;
  upMs: number;
  downMs: number;
}

async function ofAll(options: {
  monitoring: MonitoringClient;
  monitors: readonly Monitor[];
  tags: string[] | undefined;
  span: TimeSpan;
  nowMs: number;
  limit: number;
  signal: AbortSignal;
}) {
  const { monitoring, monitors, tags, span, nowMs, limit, signal } = options;
  const names = new Map(monitors.map(({ id, name }) => [id, name]));
  const tagged =
    tags && new Set(monitors.filter((one) => matches(one, { tags })).map(({ id }) => id));
  const firstDay = dayOf(span.fromMs);
  const lastDay = dayOf(span.toMs - 1);
  const days = Math.min(MAX_DAYS, dayOf(nowMs) - firstDay + 1);
  const found = await readDays(monitoring, { days, firstDay, lastDay }, signal);
  const seen = found.filter(
    ({ id, upMs, downMs }) => upMs + downMs > 0 && (tagged === undefined || tagged.has(id)),
  );
  const downMs = seen.reduce((sum, one) => sum + one.downMs, 0);
  const allMs = seen.reduce((sum, one) => sum + one.upMs, downMs);
  const first = Math.max(firstDay, dayOf(nowMs) - days + 1);
  return {
    first_day: isoTime(first * DAY_MS).slice(0, 10),
    last_day: isoTime(lastDay * DAY_MS).slice(0, 10),
    uptime_percent: allMs > 0 ? percentOf(1 - downMs / allMs) : undefined,
    watched_seconds: allMs > 0 ? seconds(Math.max(...seen.map(watchedMs))) : undefined,
    monitors: seen
      .sort((a, b) => shareUp(a) - shareUp(b) || b.downMs - a.downMs)
      .slice(0, limit)
      .map((one) => ({
        monitor_id: one.id,
        monitor: shortened(names.get(one.id) ?? one.id, 200),
        uptime_percent: percentOf(shareUp(one)),
        watched_seconds: seconds(watchedMs(one)),
        down_seconds: seconds(one.downMs),
      })),
    total: seen.length,
  };
}

const dayOf = (ms: number) => Math.floor(ms / DAY_MS);
const watchedMs = ({ upMs, downMs }: MonitorUptime) => upMs + downMs;
const shareUp = (one: MonitorUptime) => one.upMs / watchedMs(one);
