import { z } from 'zod';

/** What every path of the monitoring service begins with. Source: monitoring contract, "Endpoints". */
export const MONITORING_PREFIX = '/api/v1/public';

/** Paths of the monitoring service. Source: monitoring contract, "Endpoints". */
export const MonitoringPath = {
  monitors: `${MONITORING_PREFIX}/monitors`,
  push: `${MONITORING_PREFIX}/push/:token`,
} as const;

/** Paths that we add under the same prefix. Our choice: the contract has nothing about a single monitor. */
export const AddedPath = {
  monitor: `${MONITORING_PREFIX}/monitors/:id`,
  pause: `${MONITORING_PREFIX}/monitors/:id/pause`,
  resume: `${MONITORING_PREFIX}/monitors/:id/resume`,
  check: `${MONITORING_PREFIX}/monitors/:id/check`,
  maintenance: `${MONITORING_PREFIX}/monitors/:id/maintenance`,
  results: `${MONITORING_PREFIX}/monitors/:id/results`,
  rollups: `${MONITORING_PREFIX}/monitors/:id/rollups`,
  incidents: `${MONITORING_PREFIX}/monitors/:id/incidents`,
  uptime: `${MONITORING_PREFIX}/monitors/:id/uptime`,
  /** `start`, `fail`, or the exit code of the job, 0 to 255. */
  pushSignal: `${MONITORING_PREFIX}/push/:token/:signal`,
} as const;

/** Path of one heartbeat's push endpoint. */
export const pushPath = (token: string) => `${MONITORING_PREFIX}/push/${encodeURIComponent(token)}`;

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

/** Stands in answers for a header of a check that looks like a secret; sent back, it keeps the secret. */
export const HIDDEN = '…';

/**
 * The kinds of check. HTTP, KEYWORD and DNS are the contract's.
 * Our choice: HEARTBEAT is an addition: a monitor that is UP while its job pings it.
 */
export const CheckType = z.enum(['HTTP', 'KEYWORD', 'DNS', 'HEARTBEAT']);
export type CheckType = z.infer<typeof CheckType>;

/**
 * The statuses our service gives. The contract shows `UP` and leaves the rest open.
 * Our choice: these five; a new monitor is UP (presumed) until checked; a client keeps any other text as it is.
 */
export const MonitorStatus = z.enum(['UP', 'DOWN', 'PAUSED', 'MAINTENANCE', 'DEGRADED']);
export type MonitorStatus = z.infer<typeof MonitorStatus>;

/**
 * An ISO 8601 time in UTC. We write `2026-12-01T09:30:00.000Z`.
 * Our choice: `+00:00` and no zone at all are read too, since the contract does not show how UTC is marked.
 */
const UtcTime = z.iso.datetime({ offset: true, local: true });

/**
 * A monitor in the list. The first six fields are the contract's.
 * Our choice: the others are additions, all optional: a list without them is a good list.
 */
export const Monitor = z.object({
  id: z.string().min(1),
  name: z.string(),
  check_type: z.string(),
  target: z.string(),
  status: z.string().min(1),
  interval_seconds: z.number().positive(),
  /** When `status` last changed. */
  status_changed_at: UtcTime.optional(),
  /** How often `status` has changed; tells "down and back" from "nothing happened" between two looks. */
  status_changes: z.int().nonnegative().optional(),
  /** Why it is not UP, in words a person understands. */
  status_reason: z.string().optional(),
  last_checked_at: UtcTime.nullable().optional(),
  /** How long the last check took. */
  response_time_ms: z.number().nonnegative().nullable().optional(),
  /** It goes up and down all the time. */
  flapping: z.boolean().optional(),
  /** Nothing has been learned of it for longer than two intervals: `status` may be out of date. */
  stale: z.boolean().optional(),
});
export type Monitor = z.infer<typeof Monitor>;

export const MonitorList = z.object({
  count: z.int().nonnegative(),
  monitors: z.array(Monitor),
});
export type MonitorList = z.infer<typeof MonitorList>;

/** Shortest and longest time between checks, and the one taken when none is given. */
export const IntervalSeconds = { min: 5, max: 86_400, default: 60 } as const;

const interval = z
  .int()
  .min(IntervalSeconds.min)
  .max(IntervalSeconds.max)
  .default(IntervalSeconds.default);

/** Must stay under the interval, or checks of one monitor would overlap. */
const timeout = z.int().min(1).max(60).optional();

/** HTTP statuses that mean UP: codes and ranges, such as `200-299,401`. */
const ExpectedStatus = z
  .string()
  .max(200)
  .regex(/^\d{3}(-\d{3})?(,\d{3}(-\d{3})?)*$/, 'write codes and ranges like 200-299,401')
  .default('200-299');

/** When a monitor changes its status. */
const confirmation = {
  /** Failures in a row before it is DOWN, and slow answers in a row before it is DEGRADED. */
  confirm_down: z.int().min(1).max(10).default(2),
  /** Successes in a row before it is UP again. */
  confirm_up: z.int().min(1).max(10).default(1),
  /** How long after a result that is not confirmed the next look comes; at most 5 s when absent. */
  retry_seconds: z.int().min(1).max(3600).optional(),
};

/** An answer that took longer is DEGRADED. */
const degradedAfter = z.int().min(1).max(60_000).optional();

/** Headers that a check sends; those that belong to the connection are not for settings. */
const RequestHeaders = z
  .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/), z.string().max(2_000))
  .refine((headers) => Object.keys(headers).length <= 20, 'at most 20 headers')
  .default({});

const http = {
  interval_seconds: interval,
  timeout_seconds: timeout,
  ...confirmation,
  degraded_after_ms: degradedAfter,
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).default('GET'),
  expected_status: ExpectedStatus,
  headers: RequestHeaders,
  /** Sent with the request; not with GET and HEAD. */
  body: z.string().max(65_536).optional(),
  follow_redirects: z.boolean().default(true),
  max_redirects: z.int().min(0).max(10).default(5),
  /** DEGRADED when the certificate ends within so many days; 0 never. */
  tls_expiry_days: z.int().min(0).max(365).default(14),
  /** Take any certificate, also one that is expired or for another name. */
  ignore_tls: z.boolean().default(false),
};

/**
 * Check-specific settings, by kind of check. `target_keyword` is the contract's; it is required for KEYWORD.
 * Our choice: all other keys are additions with a default; a key that is not listed is a 400 that names it.
 */
export const HttpConfig = z.strictObject(http);
export const KeywordConfig = z.strictObject({
  ...http,
  target_keyword: z.string().min(1).max(1000),
  case_sensitive: z.boolean().default(true),
  /** DOWN when the keyword is there, not when it is missing. */
  inverted: z.boolean().default(false),
});
export const DnsConfig = z.strictObject({
  interval_seconds: interval,
  timeout_seconds: timeout,
  ...confirmation,
  degraded_after_ms: degradedAfter,
  record_type: z
    .enum(['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA', 'SOA', 'PTR'])
    .default('A'),
  /** Values to look for among the answers; none asked for means any answer will do. */
  expected: z.array(z.string().min(1).max(500)).max(50).default([]),
  /** `all` of them are there, `any` one is, or the answers are `exact`ly these. */
  match: z.enum(['all', 'any', 'exact']).default('all'),
  /** How the resolver is to answer; with anything but NOERROR there are no values to look for. */
  rcode: z.enum(['NOERROR', 'NXDOMAIN', 'SERVFAIL', 'REFUSED']).default('NOERROR'),
  /** `ip` or `ip:port` of the resolver to ask; the system's when absent. */
  resolver: z.string().max(100).optional(),
});
export const HeartbeatConfig = z.strictObject({
  /** A ping is expected at least this often. */
  period_seconds: z
    .int()
    .min(IntervalSeconds.min)
    .max(366 * 86_400)
    .default(86_400),
  /** A ping is expected at these times instead, as in a crontab of five fields. */
  cron: z.string().trim().min(9).max(200).optional(),
  /** The zone that `cron` is in, such as `Europe/Berlin`. */
  timezone: z.string().max(100).default('UTC'),
  /** How late a ping may be. */
  grace_seconds: z
    .int()
    .min(1)
    .max(30 * 86_400)
    .default(3600),
  /** A job that said it started must ping within this time; the grace when absent. */
  max_run_seconds: z
    .int()
    .min(1)
    .max(30 * 86_400)
    .optional(),
});
export type HttpConfig = z.infer<typeof HttpConfig>;
export type KeywordConfig = z.infer<typeof KeywordConfig>;
export type DnsConfig = z.infer<typeof DnsConfig>;
export type HeartbeatConfig = z.infer<typeof HeartbeatConfig>;

const name = z.string().trim().min(1).max(200);
const target = z.string().trim().min(1).max(2048);

/**
 * The body of POST /monitors.
 * Our choice: `name`, `target` and `check_type` are required and `config` is optional, except that KEYWORD needs its
 * keyword; for HEARTBEAT the target is a word for the job, shown in lists.
 */
export const MonitorCreate = z.discriminatedUnion('check_type', [
  z.strictObject({
    check_type: z.literal('HTTP'),
    name,
    target,
    config: HttpConfig.prefault({}),
  }),
  z.strictObject({ check_type: z.literal('KEYWORD'), name, target, config: KeywordConfig }),
  z.strictObject({ check_type: z.literal('DNS'), name, target, config: DnsConfig.prefault({}) }),
  z.strictObject({
    check_type: z.literal('HEARTBEAT'),
    name,
    target,
    config: HeartbeatConfig.prefault({}),
  }),
]);
export type MonitorCreate = z.infer<typeof MonitorCreate>;
/** What a caller writes: settings with a default may be left out. */
export type MonitorCreateInput = z.input<typeof MonitorCreate>;

/**
 * The answer 201 to a create. The first six fields are the contract's.
 * Our choice: `push_url` is added for HEARTBEAT and shown this once; its token is the credential.
 */
export const MonitorCreated = z.object({
  id: z.string().min(1),
  name: z.string(),
  check_type: z.string(),
  target: z.string(),
  status: z.string().min(1),
  created_at: UtcTime,
  interval_seconds: z.number().positive().optional(),
  push_url: z.url().optional(),
});
export type MonitorCreated = z.infer<typeof MonitorCreated>;

/** The answer 200 to a ping. Our choice: the contract does not show it. */
export const PushAnswer = z.object({ ok: z.literal(true) });

/** The last moment with a year of four digits. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A time that callers give, kept as we write it; without a zone it is UTC. */
export const GivenTime = z.iso
  .datetime({
    offset: true,
    local: true,
    error: 'write a time like 2026-12-01T09:30:00Z, with Z or an offset such as +01:00',
  })
  .refine((text) => unixMs(text) >= 0 && unixMs(text) <= LAST_MS, 'give a year from 1970 to 9999')
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

/** A time in which nobody is told: one window, or one that comes back. */
export const MaintenanceWindow = z.union([
  z
    .strictObject({
      starts_at: GivenTime,
      ends_at: GivenTime,
      reason: z.string().trim().max(200).optional(),
    })
    .refine((window) => unixMs(window.starts_at) < unixMs(window.ends_at), {
      path: ['ends_at'],
      message: 'it must be after starts_at',
    }),
  z.strictObject({
    /** When it begins, as in a crontab of five fields. */
    cron: z.string().trim().min(9).max(200),
    timezone: z.string().max(100).default('UTC'),
    duration_minutes: z
      .int()
      .min(1)
      .max(7 * 24 * 60),
    reason: z.string().trim().max(200).optional(),
  }),
]);
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>;

/** The body of PUT …/maintenance: all windows of a monitor. */
export const MaintenanceChange = z.strictObject({
  windows: z.array(MaintenanceWindow).max(20),
});
export type MaintenanceChange = z.infer<typeof MaintenanceChange>;

/** The body of PATCH /monitors/:id. Settings that are not named stay; the kind of check cannot change. */
export const MonitorChange = z.strictObject({
  name: name.optional(),
  target: target.optional(),
  /** Settings of the kind of check; `null` takes one back to its default. */
  config: z.record(z.string(), z.unknown()).optional(),
});
export type MonitorChange = z.infer<typeof MonitorChange>;

/** A time in which a monitor was DOWN. */
export const Incident = z.object({
  id: z.string(),
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

export const IncidentList = z.object({ incidents: z.array(Incident) });

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
