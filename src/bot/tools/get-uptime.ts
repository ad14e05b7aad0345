import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { Rollup, RollupList, Uptime } from '../../contracts/monitoring-additions.ts';
import { counted, percentOf, shortened } from '../shared/text-format.ts';
import { findMonitor, ifOffered, offered, pageOf } from './monitors.ts';
import { type TimeSpan, timeSpanFields, timeSpanInWords, timeSpanOf } from './time-span.ts';
import { asOf, isoTime, limitField, monitorField, type ToolContext, tool } from './tool.ts';

const STANDARD = '7d';
const standardLimit = 20;
const DAY_MS = 86_400_000;

/** How far back the service keeps minutes, and how many days of hours one answer of it holds. */
const MINUTES_KEPT_MS = 2 * 3_600_000;
const HOURS_UP_TO_MS = 60 * DAY_MS;

/** Days of all monitors that the service tells. */
const MAX_DAYS = 90;

const Span = z.object({
  from: z.string(),
  to: z.string(),
  /** Of the time that was seen, 0 to 100; absent where nothing was seen. */
  uptime_percent: z.number().optional(),
  down_seconds: z.number(),
  /** Nobody looked, it was paused, or it was in maintenance. */
  unseen_seconds: z.number(),
  checks: z.int().optional(),
  failed_checks: z.int().optional(),
  /** Of the checks that passed. */
  response_time_ms: z.object({ min: z.number(), mean: z.number(), max: z.number() }).optional(),
});
type Span = z.infer<typeof Span>;

/** How well one monitor, or all, went in a time span. */
export const getUptime = tool({
  name: 'get_uptime',
  title: 'Show uptime and response times',
  description:
    'Uptime in a time span: of one monitor, with response times and the span before; or of all monitors by whole UTC days, lowest first.',
  input: z.object({
    monitor: monitorField.optional().describe('Id or name; all monitors if omitted.'),
    ...timeSpanFields(STANDARD),
    limit: limitField(50, standardLimit),
  }),
  output: z.object({
    as_of: z.string(),
    monitor_id: z.string().optional(),
    monitor: z.string().optional(),
    /** Of one monitor. */
    span: Span.optional(),
    span_before: Span.optional(),
    /** Of all monitors: the days that were counted. */
    first_day: z.string().optional(),
    last_day: z.string().optional(),
    uptime_percent: z.number().optional(),
    /** Of the one that was watched for longest. */
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
    /** Monitors that were seen in these days; `monitors` are the worst of them. */
    total: z.int().optional(),
  }),
  what: (asked) => whatOf(asked, asked.monitor),
  account: ({ as_of, monitor_id, monitor, span, uptime_percent, total, ...days }, asked) => {
    const percent = span ? span.uptime_percent : uptime_percent;
    const found = percent === undefined ? 'no data' : `${percent} %`;
    return {
      // Whole days may be more than what was asked for.
      what: monitor
        ? whatOf(asked, monitor)
        : `uptime of all monitors from ${days.first_day} to ${days.last_day}`,
      found: `${found}${total === undefined ? '' : ` over ${counted(total, 'monitor')}`}, ${asOf(Date.parse(as_of))}`,
      page: monitor_id === undefined ? '/status' : pageOf({ id: monitor_id }),
    };
  },
  async run({ monitor: meant, limit = standardLimit, ...asked }, context) {
    const { monitoring, nowMs, signal } = context;
    const span = timeSpanOf(asked, STANDARD, nowMs);
    const monitors = await monitoring.list({ signal });
    const as_of = isoTime(nowMs);
    if (meant === undefined) {
      return { as_of, ...(await ofAll({ monitoring, monitors, span, nowMs, limit, signal })) };
    }
    const { id, name, check_type } = findMonitor(monitors, meant);
    const lengthMs = span.toMs - span.fromMs;
    const before = { fromMs: span.fromMs - lengthMs, toMs: span.fromMs };
    // How long a job takes to tell us of itself means nothing.
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
      ...(then?.uptime != null && { span_before: spanOf(then, timesIn(rollups, before)) }),
    };
  },
});

const whatOf = (asked: Parameters<typeof timeSpanInWords>[0], monitor: string | undefined) =>
  `uptime of ${monitor === undefined ? 'all monitors' : shortened(monitor, 60)} in ${timeSpanInWords(asked, STANDARD)}`;

const seconds = (ms: number) => Math.round(ms / 1000);
const rangeOf = ({ fromMs, toMs }: TimeSpan) => ({ from: isoTime(fromMs), to: isoTime(toMs) });

function spanOf({ from, to, uptime, down_ms, unseen_ms }: Uptime, times: Partial<Span>): Span {
  return {
    from,
    to,
    ...(uptime !== null && { uptime_percent: percentOf(uptime) }),
    down_seconds: seconds(down_ms),
    unseen_seconds: seconds(unseen_ms),
    ...times,
  };
}

/** The finest pieces that the service has of the time; none where it does not tell them. */
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

/** Checks and response times of the pieces that begin in the span. Pure. */
function timesIn(rollups: readonly Rollup[], { fromMs, toMs }: TimeSpan): Partial<Span> {
  const own = rollups.filter(({ starts_at }) => {
    const startsMs = Date.parse(starts_at);
    return startsMs >= fromMs && startsMs < toMs;
  });
  const checks = own.reduce((sum, one) => sum + one.checks, 0);
  if (checks === 0) return {};
  const failed_checks = own.reduce((sum, one) => sum + one.failures, 0);
  const timed = own.flatMap(({ response_time_ms: times, checks: all, failures }) =>
    times ? [{ ...times, passed: all - failures }] : [],
  );
  const passed = timed.reduce((sum, one) => sum + one.passed, 0);
  const mean = timed.reduce((sum, one) => sum + one.mean * one.passed, 0) / passed;
  return {
    checks,
    failed_checks,
    ...(passed > 0 && {
      response_time_ms: {
        min: Math.min(...timed.map(({ min }) => min)),
        mean: Math.round(mean * 10) / 10,
        max: Math.max(...timed.map(({ max }) => max)),
      },
    }),
  };
}

async function ofAll(options: {
  monitoring: MonitoringClient;
  monitors: readonly Monitor[];
  span: TimeSpan;
  nowMs: number;
  limit: number;
  signal: AbortSignal;
}) {
  const { monitoring, monitors, span, nowMs, limit, signal } = options;
  const names = new Map(monitors.map(({ id, name }) => [id, name]));
  const firstDay = dayOf(span.fromMs);
  const lastDay = dayOf(span.toMs - 1);
  const days = Math.min(MAX_DAYS, dayOf(nowMs) - firstDay + 1);
  const found: Array<{ id: string; upMs: number; downMs: number }> = [];
  let after: string | undefined;
  do {
    const page = await offered(
      'daily uptime',
      monitoring.days({ days, ...(after !== undefined && { after }), signal }),
    );
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
  const seen = found.filter(({ upMs, downMs }) => upMs + downMs > 0);
  const downMs = seen.reduce((sum, one) => sum + one.downMs, 0);
  const allMs = seen.reduce((sum, one) => sum + one.upMs, downMs);
  const first = Math.max(firstDay, dayOf(nowMs) - days + 1);
  return {
    first_day: isoTime(first * DAY_MS).slice(0, 10),
    last_day: isoTime(lastDay * DAY_MS).slice(0, 10),
    ...(allMs > 0 && {
      uptime_percent: percentOf(1 - downMs / allMs),
      watched_seconds: seconds(Math.max(...seen.map(watchedMs))),
    }),
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
const watchedMs = ({ upMs, downMs }: { upMs: number; downMs: number }) => upMs + downMs;
const shareUp = (seen: { upMs: number; downMs: number }) => seen.upMs / watchedMs(seen);
