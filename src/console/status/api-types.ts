import { z } from 'zod';

const Time = z.iso.datetime();

/** Days of which the status page shows how they went, today included. */
export const STATUS_DAYS = 90;

/**
 * How the days of a monitor went, UTC, oldest first, up to the day `last`: milliseconds observed up and down; the
 * rest of a day nothing was observed, as on days before the first of them. A day each as an object would be five times as
 * much to send.
 */
export const StatusDays = z.object({
  last: z.iso.date(),
  up_ms: z.array(z.number().nonnegative()).max(STATUS_DAYS),
  /** As many as of `up_ms`. */
  down_ms: z.array(z.number().nonnegative()).max(STATUS_DAYS),
});
export type StatusDays = z.infer<typeof StatusDays>;

/** A monitor as the status page lists it. What only those who may open the console see is absent on a public page. */
export const StatusMonitor = z.object({
  id: z.string(),
  name: z.string(),
  check_type: z.string(),
  status: z.string(),
  status_changed_at: Time.optional(),
  /** It changes so often that its changes say little. */
  flapping: z.boolean().optional(),
  /** Its job has sent no signal yet. */
  waiting_for_first_ping: z.boolean().optional(),
  /** Nothing was learned of it for so long that what is shown may be out of date. */
  stale: z.boolean().optional(),
  last_checked_at: Time.optional(),
  response_time_ms: z.number().nonnegative().optional(),
  /** Not on a public page. */
  target: z.string().optional(),
  /** Why it is as it is. Not on a public page: reasons name addresses. */
  status_reason: z.string().optional(),
  /** 0 to 1 over the days shown; null when nothing was seen. Absent where the service keeps no history. */
  uptime: z.number().min(0).max(1).nullable().optional(),
  /** Absent where the service keeps no history, and until it has sent them. */
  days: StatusDays.optional(),
});
export type StatusMonitor = z.infer<typeof StatusMonitor>;

/** A time in which nobody is told of some monitors, which goes on or begins within a week. */
export const StatusMaintenance = z.object({
  starts_at: Time,
  ends_at: Time,
  /** By whose clocks it was planned. */
  timezone: z.string(),
  /** Those that are named. */
  monitors: z.array(z.object({ id: z.string(), name: z.string() })),
  /** How many others it is for. */
  more: z.int().nonnegative(),
  /** Not on a public page. */
  reason: z.string().optional(),
});
export type StatusMaintenance = z.infer<typeof StatusMaintenance>;

/** What is planned, in the order of the begins. */
export const StatusPlanned = z.object({
  windows: z.array(StatusMaintenance),
  /** How many more there are. */
  more: z.int().nonnegative(),
});
export type StatusPlanned = z.infer<typeof StatusPlanned>;

/** Everything the status page shows first; also `/status.json`. */
export const StatusReport = z.object({
  generated_at: Time,
  /** Whether this is what anyone may see. */
  public: z.boolean(),
  /**
   * `pending`: none is up, and one or more wait for their first check. `unknown`: the service has not answered yet or not for a
   * while; what is listed is what it said last.
   */
  overall: z.enum(['up', 'degraded', 'down', 'pending', 'unknown']),
  /** Why the list may be out of date, a sentence. */
  notice: z.string().optional(),
  /** Absent where nothing is planned, or the service does not tell it. */
  maintenance: StatusPlanned.optional(),
  /** DOWN first, then what else is not well, then PENDING, then by name. */
  monitors: z.array(StatusMonitor),
});
export type StatusReport = z.infer<typeof StatusReport>;

/** A time in which a monitor was DOWN. */
export const StatusIncident = z.object({
  id: z.string(),
  monitor: z.string(),
  name: z.string(),
  started_at: Time,
  ended_at: Time.nullable(),
  /** Not on a public page. */
  cause: z.string().optional(),
  /** The kind of failure, such as `timeout`. */
  outcome: z.string(),
  /** What it was afterwards. */
  ended_as: z.string().nullable(),
});
export type StatusIncident = z.infer<typeof StatusIncident>;

/** One point of the latency chart; null where no check passed. */
export const LatencyPoint = z.object({
  at: Time,
  mean_ms: z.number().nonnegative().nullable(),
  min_ms: z.number().nonnegative().nullable(),
  max_ms: z.number().nonnegative().nullable(),
});
export type LatencyPoint = z.infer<typeof LatencyPoint>;

/** What the page shows of one monitor when it is opened; at `/status/monitors/:id?hours=…`. */
export const StatusDetails = z.object({
  monitor: StatusMonitor,
  interval_seconds: z.number().positive().optional(),
  /** Oldest first, over the hours asked for. */
  latency: z.array(LatencyPoint),
  /** Milliseconds between two points. */
  latency_step_ms: z.number().positive(),
  /** Uptime over these spans; null when nothing was seen. */
  uptime: z.array(
    z.object({
      days: z.int().positive(),
      uptime: z.number().nullable(),
      /** Milliseconds of the span that were seen. */
      seen_ms: z.number().nonnegative().optional(),
    }),
  ),
  /** Newest first. */
  incidents: z.array(StatusIncident),
  certificate_ends_at: Time.nullable(),
  /** Of a HEARTBEAT: how often its job should say something, as a sentence, and when it did last. */
  heartbeat: z.object({ expected: z.string(), last_signal_at: Time.nullable() }).nullable(),
  /** Times in which alerts are silenced, now or next, as sentences. */
  maintenance: z.array(z.string()),
});
export type StatusDetails = z.infer<typeof StatusDetails>;

/**
 * What `/status/events` sends: the whole report first, then what changed. Each can be applied twice without harm;
 * the page's `withEvent` does it.
 */
export type StatusEvent =
  | { kind: 'report'; report: StatusReport }
  | {
      kind: 'changed';
      generated_at: string;
      overall: StatusReport['overall'];
      notice: string | null;
      /** Absent when it is as before. */
      maintenance?: StatusPlanned | null;
      /** New or changed monitors; without `days` and `uptime`, these are as before. */
      monitors: StatusMonitor[];
      /** The ids of all in the report's order; absent when it is as before. */
      order?: string[];
    };
