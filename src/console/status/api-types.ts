import { z } from 'zod';

const Time = z.iso.datetime();

/** Days that the status page shows, today included. */
export const STATUS_DAYS = 90;

/**
 * The days of a monitor, UTC, oldest first, up to the day `last`: milliseconds observed up and down. The rest of a day, and
 * earlier days, weren't observed. An object for each day would take five times as many bytes.
 */
export const StatusDays = z.object({
  last: z.iso.date(),
  up_ms: z.array(z.number().nonnegative()).max(STATUS_DAYS),
  /** One entry for each of `up_ms`. */
  down_ms: z.array(z.number().nonnegative()).max(STATUS_DAYS),
});
export type StatusDays = z.infer<typeof StatusDays>;

/** A monitor in the list. On a public page, the members' fields are absent. */
export const StatusMonitor = z.object({
  id: z.string(),
  name: z.string(),
  check_type: z.string(),
  status: z.string(),
  status_changed_at: Time.optional(),
  /** The status changes too often to mean much. */
  flapping: z.boolean().optional(),
  waiting_for_first_ping: z.boolean().optional(),
  /** It may be out of date, because the last check was too long ago. */
  stale: z.boolean().optional(),
  /** Absent if it has none. */
  tags: z.array(z.string()).optional(),
  last_checked_at: Time.optional(),
  response_time_ms: z.number().nonnegative().optional(),
  /** For members only. */
  target: z.string().optional(),
  /** For members only, because reasons may contain addresses. */
  status_reason: z.string().optional(),
  /** 0 to 1 over the days shown; null if nothing was observed. Absent if the service keeps no history. */
  uptime: z.number().min(0).max(1).nullable().optional(),
  /** Absent if the service keeps no history, and until the history is read. */
  days: StatusDays.optional(),
});
export type StatusMonitor = z.infer<typeof StatusMonitor>;

/** A maintenance window, without alerts, that is ongoing or begins within a week. */
export const StatusMaintenance = z.object({
  starts_at: Time,
  ends_at: Time,
  /** The time zone in which it was planned. */
  timezone: z.string(),
  monitors: z.array(z.object({ id: z.string(), name: z.string() })),
  more: z.int().nonnegative(),
  /** For members only. */
  reason: z.string().optional(),
});
export type StatusMaintenance = z.infer<typeof StatusMaintenance>;

/** Planned maintenance, earliest first. */
export const StatusPlanned = z.object({
  windows: z.array(StatusMaintenance),
  more: z.int().nonnegative(),
});
export type StatusPlanned = z.infer<typeof StatusPlanned>;

/** The content of `/status.json`, and the page's first event. */
export const StatusReport = z.object({
  generated_at: Time,
  /** True if this is what anyone may see. */
  public: z.boolean(),
  /**
   * `pending`: none is up, and at least one waits for its first check. `unknown`: the service hasn't answered yet, or not for
   * a while; the list is its last answer.
   */
  overall: z.enum(['up', 'degraded', 'down', 'pending', 'unknown']),
  /** Why the list may be out of date, a sentence. */
  notice: z.string().optional(),
  /** Absent if nothing is planned, or the service doesn't offer it. */
  maintenance: StatusPlanned.optional(),
  /** In the order of `sortByUrgency`. */
  monitors: z.array(StatusMonitor),
});
export type StatusReport = z.infer<typeof StatusReport>;

export const StatusIncident = z.object({
  id: z.string(),
  monitor: z.string(),
  name: z.string(),
  started_at: Time,
  ended_at: Time.nullable(),
  /** For members only. */
  cause: z.string().optional(),
  /** The kind of failure, such as `timeout`. */
  outcome: z.string(),
  ended_as: z.string().nullable(),
});
export type StatusIncident = z.infer<typeof StatusIncident>;

/** One point of the latency chart; null if no check passed. */
export const LatencyPoint = z.object({
  at: Time,
  mean_ms: z.number().nonnegative().nullable(),
  min_ms: z.number().nonnegative().nullable(),
  max_ms: z.number().nonnegative().nullable(),
});
export type LatencyPoint = z.infer<typeof LatencyPoint>;

/** One opened monitor; the content of `/status/monitors/:id?hours=…`. */
export const StatusDetails = z.object({
  monitor: StatusMonitor,
  interval_seconds: z.number().positive().optional(),
  /** Oldest first, over the hours asked for. */
  latency: z.array(LatencyPoint),
  /** Milliseconds between two points. */
  latency_step_ms: z.number().positive(),
  /** Uptime over these spans; null if nothing was observed. */
  uptime: z.array(
    z.object({
      days: z.int().positive(),
      uptime: z.number().nullable(),
      /** Observed milliseconds of the span. */
      seen_ms: z.number().nonnegative().optional(),
    }),
  ),
  /** Newest first. */
  incidents: z.array(StatusIncident),
  certificate_ends_at: Time.nullable(),
  /** For a HEARTBEAT: the expected rhythm of its job as a sentence, and its last signal. */
  heartbeat: z.object({ expected: z.string(), last_signal_at: Time.nullable() }).nullable(),
  /** Current and next maintenance, as sentences. */
  maintenance: z.array(z.string()),
  /** For members only. `url` if it is an address. */
  runbook: z.object({ text: z.string(), url: z.url().optional() }).optional(),
});
export type StatusDetails = z.infer<typeof StatusDetails>;

/**
 * An event of `/status/events`: the whole report first, then changes. The page's `withEvent` applies it, twice without
 * harm.
 */
export type StatusEvent =
  | { kind: 'report'; report: StatusReport }
  | {
      kind: 'changed';
      generated_at: string;
      overall: StatusReport['overall'];
      notice: string | null;
      maintenance?: StatusPlanned | null;
      /** New or changed monitors. Absent `days` and `uptime` are unchanged. */
      monitors: StatusMonitor[];
      /** All ids in their new order; absent if unchanged. */
      order?: string[];
    };
