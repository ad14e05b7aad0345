import { z } from 'zod';
import { oneLine } from './one-line.ts';

/** What every path of the monitoring service begins with. Source: monitoring contract, "Endpoints". */
export const MONITORING_PREFIX = '/api/v1/public';

/** Paths of the monitoring service. Source: monitoring contract, "Endpoints". */
export const MonitoringPath = {
  monitors: `${MONITORING_PREFIX}/monitors`,
  push: `${MONITORING_PREFIX}/push/:token`,
} as const;

/** Path of one heartbeat's push endpoint. */
export const pushPath = (token: string) => `${MONITORING_PREFIX}/push/${encodeURIComponent(token)}`;

/**
 * The statuses our service gives. The contract shows `UP` and leaves the rest open.
 * Our choice: these six; a client keeps any other text as it is. A monitor is PENDING until a check passed, a failure was
 * confirmed or, for a HEARTBEAT, its first ping came or was late; only the answer to the create says UP, as the contract does.
 */
export const MonitorStatus = z.enum(['UP', 'DOWN', 'PENDING', 'PAUSED', 'MAINTENANCE', 'DEGRADED']);
export type MonitorStatus = z.infer<typeof MonitorStatus>;

/**
 * An ISO 8601 time in UTC. We write `2026-12-01T09:30:00.000Z`.
 * Our choice: `+00:00` and no zone at all are read too, since the contract does not show how UTC is marked.
 */
export const UtcTime = z.iso.datetime({ offset: true, local: true });

/** Where a monitor of a file is declared. Our choice: there alone it is changed, and the API refuses to. */
export const ManagedBy = z.object({
  /** As the service reads it. */
  file: z.string(),
  /** Counted from 1. That it moved within the file is no change of the monitor: it is told along with others. */
  line: z.int().positive(),
  /** Its key among the monitors of the file. */
  key: z.string(),
  /** Since when it is not in the file any more; it is paused, and removed a day after. */
  left_at: UtcTime.optional(),
});
export type ManagedBy = z.infer<typeof ManagedBy>;

/** How long a monitor that left its file is kept, paused. */
export const LEFT_KEPT_HOURS = 24;

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
  /** When it was made. */
  created_at: UtcTime.optional(),
  /** When `status` last changed. */
  status_changed_at: UtcTime.optional(),
  /** How often `status` has changed, but from PENDING to UP and back; tells "down and back" from "nothing happened" between two polls. */
  status_changes: z.int().nonnegative().optional(),
  /** Why it is not UP, in words a person understands. */
  status_reason: z.string().optional(),
  last_checked_at: UtcTime.nullable().optional(),
  /** How long the last check took. */
  response_time_ms: z.number().nonnegative().nullable().optional(),
  /** It goes up and down all the time. */
  flapping: z.boolean().optional(),
  /** HEARTBEAT: its job has said nothing yet. */
  waiting_for_first_ping: z.boolean().optional(),
  /** Nothing has been learned of it for longer than two intervals: `status` may be out of date. */
  stale: z.boolean().optional(),
  /** What it needs to be well: ids of monitors, or alerts from other systems as `DependsOn` has them. Absent when nothing. */
  depends_on: z.array(z.string()).optional(),
  managed_by: ManagedBy.optional(),
  /** Places that are told of it whether or not they asked for that, such as `slack:C0123`. */
  channels: z.array(z.string()).optional(),
});
export type Monitor = z.infer<typeof Monitor>;

export const MonitorList = z.object({
  /** Of those in `monitors`. Our choice: also where fewer were asked for, so that a reader can tell a list that was cut. */
  count: z.int().nonnegative(),
  monitors: z.array(Monitor),
  /** Where a `limit` was asked for: the id to ask for the next ones `after`, null when these are the last. Our choice. */
  next: z.string().nullable().optional(),
});
export type MonitorList = z.infer<typeof MonitorList>;

/** Shortest and longest time between checks, and the one taken when none is given. */
export const IntervalSeconds = { min: 5, max: 86_400, default: 60 } as const;

const interval = z.int().min(IntervalSeconds.min).max(IntervalSeconds.max);

/** Settings of every type of check that asks its target, whatever else it has. */
export const probeSettings = {
  interval_seconds: interval.default(IntervalSeconds.default),
  /** Must stay under the interval, or checks of one monitor would overlap. */
  timeout_seconds: z.int().min(1).max(60).optional(),
  /** Failures in a row before it is DOWN, and slow answers in a row before it is DEGRADED. */
  confirm_down: z.int().min(1).max(10).default(2),
  /** Successes in a row before it is UP again. */
  confirm_up: z.int().min(1).max(10).default(1),
  /** How long after a result that is not confirmed the next check comes; at most 5 s when absent. */
  retry_seconds: z.int().min(1).max(3600).optional(),
  /** An answer that took longer is DEGRADED. */
  degraded_after_ms: z.int().min(1).max(60_000).optional(),
};

/** HTTP statuses that mean UP: codes and ranges, such as `200-299,401`. */
const ExpectedStatus = z
  .string()
  .max(200)
  .regex(/^\d{3}(-\d{3})?(,\d{3}(-\d{3})?)*$/, 'must be codes and ranges such as 200-299,401')
  .default('200-299');

/** Headers that a check sends; those that belong to the connection are not for settings. */
const RequestHeaders = z
  .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/), z.string().max(2_000))
  .refine((headers) => Object.keys(headers).length <= 20, 'must have at most 20 headers')
  .default({});

/** What a check minds of the TLS that it speaks. */
const tls = {
  /** DEGRADED when the certificate ends within so many days; 0 never. */
  tls_expiry_days: z.int().min(0).max(365).default(14),
  /** Take any certificate, also one that is expired or for another name. */
  ignore_tls: z.boolean().default(false),
};

const http = {
  ...probeSettings,
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).default('GET'),
  expected_status: ExpectedStatus,
  headers: RequestHeaders,
  /** Sent with the request; not with GET and HEAD. */
  body: z.string().max(65_536).optional(),
  follow_redirects: z.boolean().default(true),
  max_redirects: z.int().min(0).max(10).default(5),
  ...tls,
};

/**
 * Check-specific settings, by kind of check. `target_keyword` is the contract's; it is required for KEYWORD.
 * Our choice: all other keys are additions with a default; a key that is not listed is a 400 that names it.
 */
export const HttpConfig = z.strictObject({
  ...http,
  /** What a value of a JSON answer is to be, such as `data.queue[0].depth < 100`; see the service's `json-value.ts`. */
  json: z.string().min(1).max(500).optional(),
});
export const KeywordConfig = z.strictObject({
  ...http,
  target_keyword: z.string().min(1).max(1000),
  case_sensitive: z.boolean().default(true),
  /** DOWN when the keyword is there, not when it is missing. */
  inverted: z.boolean().default(false),
});
export const DnsConfig = z.strictObject({
  ...probeSettings,
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
/** The name asked for and looked for in the certificate; the host of the target when absent. */
const ServerName = z.string().trim().min(1).max(253).optional();
export const TcpConfig = z.strictObject({
  ...probeSettings,
  /** Sent once connected; `\r`, `\n`, `\t`, `\\` and `\x00` stand for bytes. Kept like a secret: it may be a login. */
  send: z.string().min(1).max(4096).optional(),
  /** Text that is to be in the first 64 KB of the answer, with the same escapes. */
  expect: z.string().min(1).max(1000).optional(),
  /** Speak TLS. */
  tls: z.boolean().default(false),
  ...tls,
  server_name: ServerName,
});
export const CertificateConfig = z.strictObject({
  ...probeSettings,
  /** An hour: certificates end by the day, and one that was replaced is to be seen soon. */
  interval_seconds: interval.default(3600),
  /** DEGRADED when one of the chain ends within so many days; 0 never. */
  days_left: z.int().min(0).max(365).default(14),
  /** DOWN when one of the chain ends within so many days; 0 once it has ended. */
  down_days: z.int().min(0).max(365).default(0),
  /** What is said in plain text before TLS begins. */
  starttls: z.enum(['none', 'smtp', 'imap', 'postgres']).default('none'),
  server_name: ServerName,
  /** Mind only when it ends, not who issued it and for which name. */
  ignore_tls: z.boolean().default(false),
});
export const HeartbeatConfig = z.strictObject({
  /** A ping is expected at least this often. */
  period_seconds: z
    .int()
    .min(IntervalSeconds.min)
    .max(366 * 86_400)
    .default(86_400),
  /** A ping is expected at these times instead, as in a crontab of five fields. */
  cron: z.string().trim().min(1).max(200).optional(),
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
export type TcpConfig = z.infer<typeof TcpConfig>;
export type CertificateConfig = z.infer<typeof CertificateConfig>;
export type HeartbeatConfig = z.infer<typeof HeartbeatConfig>;

/** Our choice: one line, whatever was sent; what has nothing to see in it is empty. */
export const MonitorName = z.string().overwrite(oneLine).min(1).max(200);
export const MonitorTarget = z.string().trim().min(1).max(2048);

/** Most parents of a monitor. */
export const MAX_PARENTS = 5;

/** How the alert of another system begins that a monitor depends on: `alert:<intake id>/<name of the alert>`. */
export const ALERT_PARENT = 'alert:';

/**
 * What a monitor depends on: ids of monitors, and alerts of other systems, of which the service knows nothing but how they are
 * written. Our choice: while one of these is down, whoever alerts says nothing new of this monitor; it is checked all the same.
 */
export const DependsOn = z
  .array(
    z
      .string()
      .overwrite(oneLine)
      .min(1)
      .max(300)
      .refine(
        (id) => !id.startsWith(ALERT_PARENT) || /^alert:[^/\s]+\/\S/.test(id),
        'write an alert from another system as alert:<intake id>/<alert name>',
      ),
  )
  .max(MAX_PARENTS)
  .overwrite((ids) => [...new Set(ids)]);

/** A monitor of one type of check, as it is asked for. */
export const monitorOfType = <Type extends string, Config extends z.ZodType>(
  type: Type,
  config: Config,
) =>
  z.strictObject({
    check_type: z.literal(type),
    name: MonitorName,
    target: MonitorTarget,
    config,
    depends_on: DependsOn.optional(),
  });

export const HttpMonitor = monitorOfType('HTTP', HttpConfig.prefault({}));
export const KeywordMonitor = monitorOfType('KEYWORD', KeywordConfig);
export const DnsMonitor = monitorOfType('DNS', DnsConfig.prefault({}));
export const TcpMonitor = monitorOfType('TCP', TcpConfig.prefault({}));
export const CertificateMonitor = monitorOfType('CERTIFICATE', CertificateConfig.prefault({}));
export const HeartbeatMonitor = monitorOfType('HEARTBEAT', HeartbeatConfig.prefault({}));
export type HttpMonitor = z.infer<typeof HttpMonitor>;
export type KeywordMonitor = z.infer<typeof KeywordMonitor>;
export type DnsMonitor = z.infer<typeof DnsMonitor>;
export type TcpMonitor = z.infer<typeof TcpMonitor>;
export type CertificateMonitor = z.infer<typeof CertificateMonitor>;
export type HeartbeatMonitor = z.infer<typeof HeartbeatMonitor>;

/**
 * The body of POST /monitors.
 * Our choice: `name`, `target` and `check_type` are required and `config` is optional, except that KEYWORD needs its
 * keyword; for HEARTBEAT the target is a word for the job, shown in lists.
 */
export const MonitorCreate = z.discriminatedUnion('check_type', [
  HttpMonitor,
  KeywordMonitor,
  DnsMonitor,
  TcpMonitor,
  CertificateMonitor,
  HeartbeatMonitor,
]);
export type MonitorCreate = z.infer<typeof MonitorCreate>;

/**
 * The kinds of check. HTTP, KEYWORD and DNS are the contract's.
 * Our choice: the others are additions. A HEARTBEAT is UP while its job pings it; its first ping is due as every other.
 */
export const CheckType = z.enum(MonitorCreate.options.map(({ shape }) => shape.check_type.value));
export type CheckType = z.infer<typeof CheckType>;

/** What a caller writes: settings with a default may be left out. */
export type MonitorCreateInput = z.input<typeof MonitorCreate>;

/**
 * The answer 201 to a create. The first six fields are the contract's.
 * Our choice: `push_url` is added for HEARTBEAT and shown this once; its token is the credential. A lost one is renewed.
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
