import { z } from 'zod';
import {
  DependsOn,
  MONITORING_PREFIX,
  Monitor,
  MonitorList,
  MonitorName,
  MonitorTarget,
  Runbook,
  Tags,
  UtcTime,
} from './monitoring.ts';
import { oneLine } from './one-line.ts';

/** Paths that we add under the same prefix. Our choice: the contract has nothing about a single monitor. */
export const AddedPath = {
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
  days: `${MONITORING_PREFIX}/days`,
  parts: `${MONITORING_PREFIX}/parts`,
  recentIncidents: `${MONITORING_PREFIX}/incidents`,
  planned: `${MONITORING_PREFIX}/maintenance`,
  /** `start`, `fail`, or the exit code of the job, 0 to 255. */
  pushSignal: `${MONITORING_PREFIX}/push/:token/:signal`,
} as const;

/** Fills in the parameters of an `AddedPath`. */
export const addedPath = (path: keyof typeof AddedPath, values: Readonly<Record<string, string>>) =>
  AddedPath[path].replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));

/** Headers of a create that may be repeated; the answer to an earlier request is marked. Our choice: as in the IETF draft. */
export const IdempotencyHeader = {
  key: 'idempotency-key',
  replayed: 'idempotency-replayed',
} as const;

/** Header of every list: the cursor for the first call of its changes. */
export const CURSOR_HEADER = 'x-monitors-cursor';

/** Changes of the list since a cursor. Fields that each check renews, or that end with time, are sent along only with other changes. */
export const MonitorChanges = MonitorList.omit({ next: true }).extend({
  /** Ids that are no longer listed. */
  removed: z.array(z.string()),
  /** Cursor for the next call. */
  cursor: z.string(),
});
export type MonitorChanges = z.infer<typeof MonitorChanges>;

const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A time from a caller, rewritten in our form; without a zone it is UTC. */
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

function unixMs(text: string): number {
  return Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
}

function inUtc(text: string): string {
  const ms = unixMs(text);
  return ms >= 0 && ms <= LAST_MS ? new Date(ms).toISOString() : text;
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** A minute of local time, without an offset: `2026-12-01T22:00`. */
const LocalTime = z
  .string()
  .regex(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d$/,
    'with timezone, use the local time there, such as 2026-12-01T22:00, without Z or an offset',
  )
  .refine((text) => isMinute(text), 'no such date or time exists');

function isMinute(text: string): boolean {
  const ms = unixMs(text);
  // Date.parse reads the 31st of a short month as the day after it.
  return ms >= 0 && ms <= LAST_MS && new Date(ms).toISOString().startsWith(text);
}

const TimeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a 24-hour time such as 02:00');

const Reason = z.string().overwrite(oneLine).max(200).optional();

/** Longest repeating window, and longest single one. */
const WEEK_MINUTES = 7 * 24 * 60;
const YEAR_MINUTES = 366 * 24 * 60;

/**
 * A time without alerts. With a zone it begins when the clocks there show that time, and lasts its minutes. Our choice: of a time
 * that comes twice the first counts, and a skipped time is the moment when the clocks move on.
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
    /** Days on which it begins. */
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
    /** Times when it begins, as in a crontab of five fields. */
    cron: z.string().trim().min(1).max(200),
    timezone: z.string().max(100).default('UTC'),
    duration_minutes: z.int().min(1).max(WEEK_MINUTES),
    reason: Reason,
  }),
]);
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>;

export const MAX_WINDOWS = 20;

/** The body of PUT …/maintenance: all windows of a monitor. */
export const MaintenanceChange = z.strictObject({
  windows: z.array(MaintenanceWindow).max(MAX_WINDOWS),
});
export type MaintenanceChange = z.infer<typeof MaintenanceChange>;

/** Most monitors that one `MaintenancePlan` is for. */
export const MAX_PLANNED = 500;

/** The body of POST /maintenance: one more window for each of some monitors. */
export const MaintenancePlan = z.strictObject({
  /** Their ids. */
  monitors: z.array(z.string().min(1).max(200)).min(1).max(MAX_PLANNED),
  /** `null` removes all windows, including active ones. */
  window: MaintenanceWindow.nullable(),
});
export type MaintenancePlan = z.infer<typeof MaintenancePlan>;

/** Each monitor of the plan is in one of these lists. */
export const MaintenancePlanned = z.object({
  /** Monitors that are now as planned, whether or not they were before. */
  planned: z.array(z.string()),
  /** Monitors with the most windows already, which did not change. */
  full: z.array(z.string()),
  /** Monitors declared in files with their windows, which did not change. */
  declared: z.array(z.string()).default([]),
  /** Unknown ids. */
  missing: z.array(z.string()),
});
export type MaintenancePlanned = z.infer<typeof MaintenancePlanned>;

/** A window that is active or comes next. */
export const ComingWindow = z.object({
  starts_at: UtcTime,
  ends_at: UtcTime,
  timezone: z.string(),
  repeats: z.boolean(),
  reason: z.string().optional(),
});
export type ComingWindow = z.infer<typeof ComingWindow>;

export const PlannedWindow = ComingWindow.extend({ monitor: z.string(), name: z.string() });
export type PlannedWindow = z.infer<typeof PlannedWindow>;

/** Windows that are active or begin soon, in order of their start. */
export const PlannedWindowList = z.object({
  windows: z.array(PlannedWindow),
  /** Number of windows, including those beyond the limit. */
  total: z.int().nonnegative(),
});
export type PlannedWindowList = z.infer<typeof PlannedWindowList>;

/** The body of PATCH /monitors/:id. Absent settings stay as they are; the kind of check can't change. */
export const MonitorChange = z.strictObject({
  name: MonitorName.optional(),
  target: MonitorTarget.optional(),
  /** Settings of the kind of check; `null` resets one to its default. */
  config: z.record(z.string(), z.unknown()).optional(),
  /** Everything that it depends on from now on. */
  depends_on: DependsOn.optional(),
  /** All its tags from now on; an empty list removes them. */
  tags: Tags.optional(),
  /** An empty text removes it. */
  runbook: Runbook.optional(),
});
export type MonitorChange = z.infer<typeof MonitorChange>;

/** The new push address, shown only once. The old one has stopped working. */
export const RenewedPushToken = z.object({ id: z.string(), push_url: z.url() });
export type RenewedPushToken = z.infer<typeof RenewedPushToken>;

/** A time in which a monitor was DOWN. */
export const Incident = z.object({
  id: z.string(),
  /** Value of `status_changes` when it began. */
  change: z.int(),
  started_at: UtcTime,
  /** Null while it is ongoing. */
  ended_at: UtcTime.nullable(),
  /** Cause in plain words. */
  cause: z.string(),
  /** The kind of failure, such as `timeout`. */
  outcome: z.string(),
  /** Status afterwards. */
  ended_as: z.string().nullable(),
});
export type Incident = z.infer<typeof Incident>;

export const MonitorDetails = Monitor.extend({
  created_at: UtcTime,
  /** All of it. */
  runbook: Runbook.optional(),
  config: z.record(z.string(), z.unknown()),
  maintenance: z.array(MaintenanceWindow),
  /** Active and next windows, in order. */
  planned_maintenance: z.array(ComingWindow).optional(),
  /** End of the last seen certificate; null if there was none. */
  certificate_ends_at: UtcTime.nullable(),
  /** The ongoing incident. */
  incident: Incident.nullable(),
});
export type MonitorDetails = z.infer<typeof MonitorDetails>;

/** One check of a monitor, or one signal of a job. */
export const CheckRecord = z.object({
  at: UtcTime,
  ok: z.boolean(),
  outcome: z.string(),
  reason: z.string().optional(),
  response_time_ms: z.number().nonnegative(),
});
export type CheckRecord = z.infer<typeof CheckRecord>;
export const CheckRecordList = z.object({ results: z.array(CheckRecord) });

/** Summary of a minute, hour or day of a monitor. Unwatched time is in neither `up_ms` nor `down_ms`. */
export const Rollup = z.object({
  starts_at: UtcTime,
  checks: z.int().nonnegative(),
  failures: z.int().nonnegative(),
  /** Times of passed checks; null if there were none. */
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

/** False if there may be more incidents in the requested time. */
const complete = z.boolean().optional();

export const IncidentList = z.object({ incidents: z.array(Incident), complete });

export const RecentIncident = Incident.extend({ monitor: z.string(), name: z.string() });
export type RecentIncident = z.infer<typeof RecentIncident>;
export const RecentIncidentList = z.object({
  incidents: z.array(RecentIncident),
  /** Number of incidents, including those beyond the limit. */
  total: z.int().nonnegative().optional(),
  complete,
});

/** Most days of `MonitorDays`. */
export const MAX_DAYS = 90;

/**
 * Days of a monitor, UTC, oldest first, up to the last day of the list. Two lists of numbers, because ten thousand monitors have a
 * million days.
 */
export const MonitorDays = z.object({
  id: z.string(),
  up_ms: z.array(z.number().nonnegative()).max(MAX_DAYS),
  down_ms: z.array(z.number().nonnegative()).max(MAX_DAYS),
});
export type MonitorDays = z.infer<typeof MonitorDays>;

/** Monitors with their days, by id. Pass `next` as `after` for the next page; it is null on the last one. */
export const DayList = z.object({
  /** Today, which isn't over. */
  last: z.iso.date(),
  monitors: z.array(MonitorDays),
  next: z.string().nullable(),
});
export type DayList = z.infer<typeof DayList>;

/** Most moments of `MonitorParts`. */
export const MAX_MOMENTS = 100;

/** Every list has one number for each part between two of the requested moments, in order. */
export const MonitorParts = z.object({
  id: z.string(),
  created_at: UtcTime,
  up_ms: z.array(z.number().nonnegative()).max(MAX_MOMENTS),
  down_ms: z.array(z.number().nonnegative()).max(MAX_MOMENTS),
  /** Passed checks, and their mean response time, 0 if there were none. */
  passed: z.array(z.int().nonnegative()).max(MAX_MOMENTS),
  mean_ms: z.array(z.number().nonnegative()).max(MAX_MOMENTS),
});
export type MonitorParts = z.infer<typeof MonitorParts>;

/** Monitors with their parts, in pages as of `DayList`. */
export const PartList = z.object({ monitors: z.array(MonitorParts), next: z.string().nullable() });
export type PartList = z.infer<typeof PartList>;

/** Share of the watched time in which a monitor wasn't DOWN. */
export const Uptime = z.object({
  from: UtcTime,
  to: UtcTime,
  /** 0 to 1; null if it wasn't watched. */
  uptime: z.number().min(0).max(1).nullable(),
  up_ms: z.number().nonnegative(),
  down_ms: z.number().nonnegative(),
  /** Time without checks, paused, or in maintenance. */
  unseen_ms: z.number().nonnegative(),
});
export type Uptime = z.infer<typeof Uptime>;
