import { z } from 'zod';
import { oneLine, visibleLines } from './one-line.ts';
import { maskedText } from './secret-values.ts';

export const MONITORING_PREFIX = '/api/v1/public';

/** Paths of the monitoring service. Source: monitoring contract, "Endpoints". */
export const MonitoringPath = {
  monitors: `${MONITORING_PREFIX}/monitors`,
  push: `${MONITORING_PREFIX}/push/:token`,
} as const;

export const pushPath = (token: string) => `${MONITORING_PREFIX}/push/${encodeURIComponent(token)}`;

/**
 * The contract shows `UP`. Our choice: these six; a client keeps any other text. A monitor is PENDING until a check passes, a failure is
 * confirmed or a first ping comes or is late; only the answer to the create says UP, as the contract does.
 */
export const MonitorStatus = z.enum(['UP', 'DOWN', 'PENDING', 'PAUSED', 'MAINTENANCE', 'DEGRADED']);
export type MonitorStatus = z.infer<typeof MonitorStatus>;

/** An ISO 8601 time in UTC. Our choice: `+00:00` and no zone are read too, because the contract doesn't show how UTC is marked. */
export const UtcTime = z.iso.datetime({ offset: true, local: true });

/** Place in a file where a monitor is declared. Our choice: only the file can change it; the API refuses. */
export const ManagedBy = z.object({
  file: z.string(),
  /** From 1. A new line number isn't a change of the monitor by itself; it is sent along with other changes. */
  line: z.int().positive(),
  key: z.string(),
  /** Time when it left the file; it is paused, and removed a day later. */
  left_at: UtcTime.optional(),
});
export type ManagedBy = z.infer<typeof ManagedBy>;

/** Hours until a monitor that left its file is removed. */
export const LEFT_KEPT_HOURS = 24;

/** Most tags of a monitor. */
export const MAX_TAGS = 10;

/** Characters of a tag, and their number. */
const TAG = /^[\p{L}\p{M}\p{N}._:/-]{1,40}$/u;

/** Our choice: a word in lower case, such as `eu` or `team:shop`. */
const Tag = z
  .string()
  .overwrite((text) => text.normalize('NFC').trim().toLowerCase())
  .regex(TAG, {
    error: ({ input }) =>
      `“${oneLine(String(input).slice(0, 60))}” isn't a valid tag; use 1 to 40 letters, digits and . _ - : / without spaces, such as eu or team:shop`,
  });

/** Words for groups of monitors. Our choice: sorted, each once. */
export const Tags = z
  .array(Tag, 'must be a list of tags, such as ["shop", "eu"]')
  .max(MAX_TAGS, `a monitor can have at most ${MAX_TAGS} tags; remove some`)
  .overwrite((tags) => [...new Set(tags)].sort());

/** Tags as people type them: `shop,eu`. An empty text has none. */
export const TypedTags = z
  .string()
  .max(1_000)
  .transform((text) => (text.trim() === '' ? [] : text.split(',')))
  .pipe(Tags);

const MAX_RUNBOOK_BYTES = 4096;
const TOO_LONG = `must have at most ${MAX_RUNBOOK_BYTES} bytes; put the rest on a page, and its address here`;

/**
 * Instructions for an outage, as text or the address of a page: data for people and models, never instructions to Askwatch.
 * Our choice: line ends stay, other hidden characters go, and an empty text is none. Everyone who gets an alert sees it, so
 * secrets in its addresses are hidden before it is stored.
 */
export const Runbook = z
  .string('must be an address or text, such as https://wiki.example.com/shop')
  // Every character takes at least one byte.
  .max(MAX_RUNBOOK_BYTES, { error: TOO_LONG, abort: true })
  .overwrite((text) => maskedText(visibleLines(text)))
  .refine((text) => Buffer.byteLength(text) <= MAX_RUNBOOK_BYTES, TOO_LONG);

/** Longest address and text of a runbook in the list. */
const LISTED_RUNBOOK = { address: 512, text: 200 } as const;

/** The runbook if it is one http(s) address, otherwise `undefined`. Pure. */
export function runbookAddress(runbook: string): string | undefined {
  const isWeb = runbook.length <= LISTED_RUNBOOK.address && /^https?:\/\/\S+$/i.test(runbook);
  return isWeb && URL.canParse(runbook) ? runbook : undefined;
}

/** The runbook if it is an address, otherwise the beginning of its text on one line, which never looks like an address. Pure. */
export function shortRunbook(runbook: string): string {
  const { text: max } = LISTED_RUNBOOK;
  const address = runbookAddress(runbook);
  if (address !== undefined) return address;
  const start = runbook.slice(0, 4 * max);
  const letters = [...oneLine(start)];
  const isWhole = start === runbook && letters.length <= max;
  return isWhole ? letters.join('') : `${letters.slice(0, max - 2).join('')} …`;
}

/** A monitor in the list. Our choice: all fields but the contract's first six are optional. */
export const Monitor = z.object({
  id: z.string().min(1),
  name: z.string(),
  check_type: z.string(),
  target: z.string(),
  status: z.string().min(1),
  interval_seconds: z.number().positive(),
  created_at: UtcTime.optional(),
  /** Last change of what it checks or expects. Absent if there was none. */
  settings_changed_at: UtcTime.optional(),
  status_changed_at: UtcTime.optional(),
  /** Number of changes of `status`, except between PENDING and UP; shows a poller that a monitor was down in between. */
  status_changes: z.int().nonnegative().optional(),
  /** Reason why it isn't UP, in plain words. */
  status_reason: z.string().optional(),
  last_checked_at: UtcTime.nullable().optional(),
  response_time_ms: z.number().nonnegative().nullable().optional(),
  /** End of the last seen certificate. */
  certificate_ends_at: UtcTime.nullable().optional(),
  flapping: z.boolean().optional(),
  waiting_for_first_ping: z.boolean().optional(),
  /** No news for longer than two intervals, so `status` may be out of date. */
  stale: z.boolean().optional(),
  /** Ids of monitors and alerts from other systems, as in `DependsOn`. Absent if it has no dependencies. */
  depends_on: z.array(z.string()).optional(),
  /** Absent if it has none. */
  tags: Tags.optional(),
  /**
   * The runbook if it is one http(s) address of at most 512 characters, otherwise the first 200 characters of it on one
   * line, because the list is read every few seconds. `MonitorDetails` has all of it. Absent if it has none.
   */
  runbook: Runbook.optional(),
  managed_by: ManagedBy.optional(),
  /** Places that get its alerts without subscribing, such as `slack:C0123`. */
  channels: z.array(z.string()).optional(),
});
export type Monitor = z.infer<typeof Monitor>;

export const MonitorList = z.object({
  /** Length of `monitors`. Our choice: also of a page, so that a reader recognizes a list that was cut off. */
  count: z.int().nonnegative(),
  monitors: z.array(Monitor),
  /** Present with a `limit`: pass it as `after` for the next page; null on the last one. Our choice. */
  next: z.string().nullable().optional(),
});
export type MonitorList = z.infer<typeof MonitorList>;

/** Shortest, longest and default time between checks. */
export const IntervalSeconds = { min: 5, max: 86_400, default: 60 } as const;

const interval = z.int().min(IntervalSeconds.min).max(IntervalSeconds.max);

/** Settings of every type of check that contacts its target. */
export const probeSettings = {
  interval_seconds: interval.default(IntervalSeconds.default),
  /** Must stay under the interval, or checks of one monitor would overlap. */
  timeout_seconds: z.int().min(1).max(60).optional(),
  /** Failures in a row before it is DOWN, and slow answers in a row before it is DEGRADED. */
  confirm_down: z.int().min(1).max(10).default(2),
  /** Successes in a row before it is UP again. */
  confirm_up: z.int().min(1).max(10).default(1),
  /** Wait between an unconfirmed result and the next check; at most 5 s if absent. */
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

/** Headers that a check sends, without the connection's own. */
const RequestHeaders = z
  .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/), z.string().max(2_000))
  .refine((headers) => Object.keys(headers).length <= 20, 'must have at most 20 headers')
  .default({});

const tls = {
  /** DEGRADED when the certificate ends within so many days; 0 never. */
  tls_expiry_days: z.int().min(0).max(365).default(14),
  /** Accept any certificate, also an expired one or one for another name. */
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

/** Settings by kind of check; `target_keyword` is the contract's. Our choice: all others have defaults, and an unknown one is a 400. */
export const HttpConfig = z.strictObject({
  ...http,
  /** Condition for a value of a JSON answer, such as `data.queue[0].depth < 100`; see the service's `json-value.ts`. */
  json: z.string().min(1).max(500).optional(),
});
export const KeywordConfig = z.strictObject({
  ...http,
  target_keyword: z.string().min(1).max(1000),
  case_sensitive: z.boolean().default(true),
  /** DOWN if the keyword is present, not if it is missing. */
  inverted: z.boolean().default(false),
});
export const DnsConfig = z.strictObject({
  ...probeSettings,
  record_type: z
    .enum(['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA', 'SOA', 'PTR'])
    .default('A'),
  /** Values to find among the answers; with none any answer is good. */
  expected: z.array(z.string().min(1).max(500)).max(50).default([]),
  /** The answers must hold `all` of them, `any` of them, or `exact`ly these. */
  match: z.enum(['all', 'any', 'exact']).default('all'),
  /** Expected response code; with anything but NOERROR there are no values. */
  rcode: z.enum(['NOERROR', 'NXDOMAIN', 'SERVFAIL', 'REFUSED']).default('NOERROR'),
  /** `ip` or `ip:port` of the resolver; the system's if absent. */
  resolver: z.string().max(100).optional(),
});
/** Name to request and to find in the certificate; the target's host if absent. */
const ServerName = z.string().trim().min(1).max(253).optional();
export const TcpConfig = z.strictObject({
  ...probeSettings,
  /** Sent once connected; `\r`, `\n`, `\t`, `\\` and `\x00` stand for bytes. Kept like a secret: it may be a login. */
  send: z.string().min(1).max(4096).optional(),
  /** Text that must be in the first 64 KB of the answer, with the same escapes. */
  expect: z.string().min(1).max(1000).optional(),
  tls: z.boolean().default(false),
  ...tls,
  server_name: ServerName,
});
export const CertificateConfig = z.strictObject({
  ...probeSettings,
  /** An hour, because certificates end by the day, and a replaced one should show soon. */
  interval_seconds: interval.default(3600),
  /** DEGRADED when one of the chain ends within so many days; 0 never. */
  days_left: z.int().min(0).max(365).default(14),
  /** DOWN when one of the chain ends within so many days; 0 once it has ended. */
  down_days: z.int().min(0).max(365).default(0),
  /** Protocol that is spoken in plain text before TLS begins. */
  starttls: z.enum(['none', 'smtp', 'imap', 'postgres']).default('none'),
  server_name: ServerName,
  /** Check only when it ends, not its issuer and name. */
  ignore_tls: z.boolean().default(false),
});
export const HeartbeatConfig = z.strictObject({
  /** A ping is expected at least this often. */
  period_seconds: z
    .int()
    .min(IntervalSeconds.min)
    .max(366 * 86_400)
    .default(86_400),
  /** Expect a ping at these times instead, as in a crontab of five fields. */
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

/** Our choice: always one line; a name without visible characters is empty. */
export const MonitorName = z.string().overwrite(oneLine).min(1).max(200);
export const MonitorTarget = z.string().trim().min(1).max(2048);

/** Most parents of a monitor. */
export const MAX_PARENTS = 5;

/** Prefix of an alert from another system in `DependsOn`: `alert:<intake id>/<alert name>`. */
export const ALERT_PARENT = 'alert:';

/** Ids of monitors, and alerts from other systems. Our choice: while one of them is down, no new alerts are sent for this monitor. */
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

/** Creates the schema of a new monitor of one type. */
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
    tags: Tags.optional(),
    runbook: Runbook.optional(),
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

/** Body of POST /monitors. Our choice: `config` is optional except for KEYWORD; a HEARTBEAT's target is a word for the job. */
export const MonitorCreate = z.discriminatedUnion('check_type', [
  HttpMonitor,
  KeywordMonitor,
  DnsMonitor,
  TcpMonitor,
  CertificateMonitor,
  HeartbeatMonitor,
]);
export type MonitorCreate = z.infer<typeof MonitorCreate>;

/** HTTP, KEYWORD and DNS are the contract's. Our choice: the others. */
export const CheckType = z.enum(MonitorCreate.options.map(({ shape }) => shape.check_type.value));
export type CheckType = z.infer<typeof CheckType>;

/** A new monitor as a caller writes it; settings with a default may be absent. */
export type MonitorCreateInput = z.input<typeof MonitorCreate>;

/** The answer 201 to a create. Our choice: the `push_url` of a HEARTBEAT, shown only once; its token is the credential. */
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
