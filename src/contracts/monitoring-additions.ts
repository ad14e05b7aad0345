import { z } from 'zod';
import {
  DependsOn,
  MONITORING_PREFIX,
  Monitor,
  MonitorList,
  MonitorName,
  MonitorTarget,
  UtcTime,
} from './monitoring.ts';
import { oneLine } from './one-line.ts';

/** Paths that we add under the same prefix. Our choice: the contract has nothing about a single monitor. */
export const AddedPath = {
  /** Of all monitors, since a list or an earlier answer. */
  changes: `${MONITORING_PREFIX}/monitors/changes`,
  monitor: `${MONITORING_PREFIX}/monitors/:id`,
  pause: `${MONITORING_PREFIX}/monitors/:id/pause`,
  resume: `${MONITORING_PREFIX}/monitors/:id/resume`,
  check: `${MONITORING_PREFIX}/monitors/:id/check`,
  maintenance: `${MONITORING_PREFIX}/monitors/:id/maintenance`,
  pushToken: `${MONITORING_PREFIX}/monitors/:id/push-token`,
  results: `${MONITORING_PREFIX}/monitors/:id/results`,
  rollups: `${MONITORING_PREFIX}/monitors/:id/rollups`,
  incidents: `${MONITORING_PREFIX}/monitors/:id/incidents`,
  uptime: `${MONITORING_PREFIX}/monitors/:id/uptime`,
  /** Of all monitors, in one call or a few. */
  days: `${MONITORING_PREFIX}/days`,
  parts: `${MONITORING_PREFIX}/parts`,
  recentIncidents: `${MONITORING_PREFIX}/incidents`,
  planned: `${MONITORING_PREFIX}/maintenance`,
  /** `start`, `fail`, or the exit code of the job, 0 to 255. */
  pushSignal: `${MONITORING_PREFIX}/push/:token/:signal`,
} as const;

/** One of `AddedPath` with what stands in it. */
export const addedPath = (path: keyof typeof AddedPath, values: Readonly<Record<string, string>>) =>
  AddedPath[path].replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));

/**
 * Headers of a create that may be repeated: 1 to 255 visible characters in the request, and `true` in the answer where
 * it is that to an earlier request. Our choice: the name and its meaning are those of the IETF draft.
 */
export const IdempotencyHeader = {
  key: 'idempotency-key',
  replayed: 'idempotency-replayed',
} as const;

/** Header of every list of monitors: the cursor from which its changes are told. Its values are for the service that gave them. */
export const CURSOR_HEADER = 'x-monitors-cursor';

/**
 * What is listed otherwise than whoever has the cursor knows. What every check makes new, and what ends by time alone
 * (`last_checked_at`, `response_time_ms`, `flapping`, `stale`), makes no change: it is told along with others.
 */
export const MonitorChanges = MonitorList.omit({ next: true }).extend({
  /** Ids of those that are listed no more, if they were. */
  removed: z.array(z.string()),
  /** What to ask for next. */
  cursor: z.string(),
});
export type MonitorChanges = z.infer<typeof MonitorChanges>;

/** Stands in answers for a value of a header or of a target that looks like a secret; sent back, it keeps the secret. */
export const HIDDEN = '…';

/** The last moment with a year of four digits. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A time that callers give, kept as we write it; without a zone it is UTC. */
export const GivenTime = z.iso
  .datetime({
    offset: true,
    local: true,
    error: 'must be a time such as 2026-12-01T09:30:00Z, with Z or an offset such as +01:00',
  })
  .refine(
    (text) => unixMs(text) >= 0 && unixMs(text) <= LAST_MS,
    'the year must be from 1970 to 9999',
  )
  .overwrite(inUtc);

/** Unix milliseconds; NaN when it is no time. */
function unixMs(text: string): number {
  return Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
}

/** As it is when it is no time. */
function inUtc(text: string): string {
  const ms = unixMs(text);
  return ms >= 0 && ms <= LAST_MS ? new Date(ms).toISOString() : text;
}

/** The days of a week as windows name them, in its order. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** A minute as clocks on a wall show it, without an offset: `2026-12-01T22:00`. */
const LocalTime = z
  .string()
  .regex(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d$/,
    'with timezone, use the local time there, such as 2026-12-01T22:00, without Z or an offset',
  )
  .refine((text) => isMinute(text), 'no such date or time exists');

function isMinute(text: string): boolean {
  const ms = unixMs(text);
  // Date.parse takes the 31st of a short month for the day after it.
  return ms >= 0 && ms <= LAST_MS && new Date(ms).toISOString().startsWith(text);
}

const TimeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a 24-hour time such as 02:00');

const Reason = z.string().overwrite(oneLine).max(200).optional();

/** Of a window that comes back, and of one that does not. */
const WEEK_MINUTES = 7 * 24 * 60;
const YEAR_MINUTES = 366 * 24 * 60;

/**
 * A time in which nobody is told: one window, or one that comes back. With a zone it begins when the clocks there show that
 * time, and lasts so many minutes however they are set. Our choice: a time that they show twice is the first of the two, and
 * one that they leave out is the moment at which they move on.
 */
export const MaintenanceWindow = z.union([
  z
    .strictObject({ starts_at: GivenTime, ends_at: GivenTime, reason: Reason })
    .refine((window) => unixMs(window.starts_at) < unixMs(window.ends_at), {
      path: ['ends_at'],
      message: 'must be after starts_at',
    }),
  z.strictObject({
    starts_at: LocalTime,
    timezone: z.string().max(100),
    duration_minutes: z.int().min(1).max(YEAR_MINUTES),
    reason: Reason,
  }),
  z.strictObject({
    /** The days on which it begins. */
    weekly: z
      .array(z.enum(WEEKDAYS))
      .min(1)
      .max(7)
      .overwrite((days) => WEEKDAYS.filter((day) => days.includes(day))),
    from: TimeOfDay,
    timezone: z.string().max(100).default('UTC'),
    duration_minutes: z.int().min(1).max(WEEK_MINUTES),
    reason: Reason,
  }),
  z.strictObject({
    /** When it begins, as in a crontab of five fields. */
    cron: z.string().trim().min(1).max(200),
    timezone: z.string().max(100).default('UTC'),
    duration_minutes: z.int().min(1).max(WEEK_MINUTES),
    reason: Reason,
  }),
]);
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>;

/** Most windows of a monitor. */
export const MAX_WINDOWS = 20;

/** The body of PUT …/maintenance: all windows of a monitor. */
export const MaintenanceChange = z.strictObject({
  windows: z.array(MaintenanceWindow).max(MAX_WINDOWS),
});
export type MaintenanceChange = z.infer<typeof MaintenanceChange>;

/** Most monitors that one `MaintenancePlan` is for. */
export const MAX_PLANNED = 500;

/** The body of POST /maintenance: a window for each of some monitors, besides those they have. */
export const MaintenancePlan = z.strictObject({
  /** Their ids. */
  monitors: z.array(z.string().min(1).max(200)).min(1).max(MAX_PLANNED),
  /** `null` takes away all they have, and ends what goes on. */
  window: MaintenanceWindow.nullable(),
});
export type MaintenancePlan = z.infer<typeof MaintenancePlan>;

/** What became of a `MaintenancePlan`: each of its monitors in one of these. */
export const MaintenancePlanned = z.object({
  /** They are as it says, whether or not they were before. */
  planned: z.array(z.string()),
  /** They have as many windows as a monitor can have, and did not change. */
  full: z.array(z.string()),
  /** Files declare them, also their windows, and they did not change. */
  declared: z.array(z.string()).default([]),
  /** There are no monitors with these ids. */
  missing: z.array(z.string()),
});
export type MaintenancePlanned = z.infer<typeof MaintenancePlanned>;

/** A window when it goes on, or comes next. */
export const ComingWindow = z.object({
  starts_at: UtcTime,
  ends_at: UtcTime,
  /** The zone that it was set in. */
  timezone: z.string(),
  /** Whether it comes back. */
  repeats: z.boolean(),
  reason: z.string().optional(),
});
export type ComingWindow = z.infer<typeof ComingWindow>;

/** The same among those of all monitors. */
export const PlannedWindow = ComingWindow.extend({ monitor: z.string(), name: z.string() });
export type PlannedWindow = z.infer<typeof PlannedWindow>;

/** Those that go on or begin soon, in the order of their begins. */
export const PlannedWindowList = z.object({
  windows: z.array(PlannedWindow),
  /** How many there are, with those beyond the limit. */
  total: z.int().nonnegative(),
});
export type PlannedWindowList = z.infer<typeof PlannedWindowList>;

/** The body of PATCH /monitors/:id. Settings that are not named stay; the kind of check cannot change. */
export const MonitorChange = z.strictObject({
  name: MonitorName.optional(),
  target: MonitorTarget.optional(),
  /** Settings of the kind of check; `null` takes one back to its default. */
  config: z.record(z.string(), z.unknown()).optional(),
  /** All that it depends on from now on; an empty list is nothing. */
  depends_on: DependsOn.optional(),
});
export type MonitorChange = z.infer<typeof MonitorChange>;

/** The answer to POST …/push-token: the new address, shown this once; the one before has stopped working. */
export const RenewedPushToken = z.object({ id: z.string(), push_url: z.url() });
export type RenewedPushToken = z.infer<typeof RenewedPushToken>;

/** A time in which a monitor was DOWN. */
export const Incident = z.object({
  id: z.string(),
  /** The number of the change that it began with, as `status_changes` counts them. */
  change: z.int(),
  started_at: UtcTime,
  /** Absent while it goes on. */
  ended_at: UtcTime.nullable(),
  /** Why, in words a person understands. */
  cause: z.string(),
  /** The kind of failure, such as `timeout`. */
  outcome: z.string(),
  /** What it was afterwards. */
  ended_as: z.string().nullable(),
});
export type Incident = z.infer<typeof Incident>;

/** Everything known of one monitor. */
export const MonitorDetails = Monitor.extend({
  created_at: UtcTime,
  config: z.record(z.string(), z.unknown()),
  maintenance: z.array(MaintenanceWindow),
  /** When those go on or come next, the first ones first. */
  planned_maintenance: z.array(ComingWindow).optional(),
  /** When the certificate ends that was last seen; null when none was. */
  certificate_ends_at: UtcTime.nullable(),
  /** What goes on now. */
  incident: Incident.nullable(),
});
export type MonitorDetails = z.infer<typeof MonitorDetails>;

/** One look at a monitor, or one signal of a job. */
export const CheckRecord = z.object({
  at: UtcTime,
  ok: z.boolean(),
  outcome: z.string(),
  reason: z.string().optional(),
  response_time_ms: z.number().nonnegative(),
});
export type CheckRecord = z.infer<typeof CheckRecord>;
export const CheckRecordList = z.object({ results: z.array(CheckRecord) });

/** What was seen of a monitor in a minute, hour or day. Times of status are milliseconds; what is missing was not seen. */
export const Rollup = z.object({
  starts_at: UtcTime,
  checks: z.int().nonnegative(),
  failures: z.int().nonnegative(),
  /** Of the checks that passed; null when none did. */
  response_time_ms: z.object({ min: z.number(), mean: z.number(), max: z.number() }).nullable(),
  up_ms: z.number().nonnegative(),
  down_ms: z.number().nonnegative(),
});
export type Rollup = z.infer<typeof Rollup>;
export const RollupList = z.object({
  by: z.enum(['minute', 'hour', 'day']),
  rollups: z.array(Rollup),
});
export type RollupList = z.infer<typeof RollupList>;

/** Whether all incidents of the time that was asked about were looked at; false when there may be more. */
const complete = z.boolean().optional();

export const IncidentList = z.object({ incidents: z.array(Incident), complete });

/** An incident among those of all monitors. */
export const RecentIncident = Incident.extend({ monitor: z.string(), name: z.string() });
export type RecentIncident = z.infer<typeof RecentIncident>;
export const RecentIncidentList = z.object({
  incidents: z.array(RecentIncident),
  /** How many there are, with those beyond the limit. */
  total: z.int().nonnegative().optional(),
  complete,
});

/** Most days of `MonitorDays`. */
export const MAX_DAYS = 90;

/**
 * How the days of a monitor went, UTC, oldest first, up to the last of the list: milliseconds of what was seen up and down.
 * Days before the first of them were not seen. Two lists, because ten thousand monitors have a million days.
 */
export const MonitorDays = z.object({
  id: z.string(),
  up_ms: z.array(z.number().nonnegative()).max(MAX_DAYS),
  down_ms: z.array(z.number().nonnegative()).max(MAX_DAYS),
});
export type MonitorDays = z.infer<typeof MonitorDays>;

/** Monitors with their days, by id; `next` is what to ask for the next ones `after`, null when there are none. */
export const DayList = z.object({
  /** Today, so far as it has gone. */
  last: z.iso.date(),
  monitors: z.array(MonitorDays),
  next: z.string().nullable(),
});
export type DayList = z.infer<typeof DayList>;

/** Most moments that `MonitorParts` are between. */
export const MAX_MOMENTS = 100;

/**
 * How parts of a time went for a monitor, between each two of the moments that were asked about: in each list one number for
 * each part, in their order. Lists of numbers, as those of `MonitorDays`.
 */
export const MonitorParts = z.object({
  id: z.string(),
  created_at: UtcTime,
  up_ms: z.array(z.number().nonnegative()).max(MAX_MOMENTS),
  down_ms: z.array(z.number().nonnegative()).max(MAX_MOMENTS),
  /** Checks that passed, and their mean response time, 0 where none did. */
  passed: z.array(z.int().nonnegative()).max(MAX_MOMENTS),
  mean_ms: z.array(z.number().nonnegative()).max(MAX_MOMENTS),
});
export type MonitorParts = z.infer<typeof MonitorParts>;

/** Monitors with their parts, by id, as `DayList` has them. */
export const PartList = z.object({ monitors: z.array(MonitorParts), next: z.string().nullable() });
export type PartList = z.infer<typeof PartList>;

/** How much of the time that was seen a monitor was not DOWN. */
export const Uptime = z.object({
  from: UtcTime,
  to: UtcTime,
  /** 0 to 1; null when nothing was seen. */
  uptime: z.number().min(0).max(1).nullable(),
  up_ms: z.number().nonnegative(),
  down_ms: z.number().nonnegative(),
  /** Nobody looked, it was paused, or it was in maintenance. */
  unseen_ms: z.number().nonnegative(),
});
export type Uptime = z.infer<typeof Uptime>;
