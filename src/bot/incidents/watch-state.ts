import { hash } from 'node:crypto';
import { z } from 'zod';
import { Monitor } from '../../contracts/monitoring.ts';
import { StoredAction, StoredCard } from '../shared/stored-card.ts';

/** A monitor, as listed by the last poll. */
export const KnownMonitor = z.object({
  id: z.string(),
  status: z.string(),
  /** Number of changes so far, if the service counts them. */
  changes: z.int().optional(),
  /** Good polls in a row that didn't list it. */
  missing: z.int().nonnegative(),
});
export type KnownMonitor = z.infer<typeof KnownMonitor>;

/**
 * Deliveries of one alert to one channel. Message: not posted → attempted (stored before the first request) → posted,
 * then edited whenever `deliveredVersion` is behind the alert's version. A line under the message: wanted → attempted →
 * gone once posted or given up. Each failure sets `nextTryAtMs`; a permanent one reposts the message once, then sets
 * `dead`. A snooze, quiet hours or pacing set `heldUntilMs`. Only the sender moves a delivery on; a press or a poll may
 * only add or hold one.
 */
const Delivery = z.object({
  /** A `placeKey`. */
  place: z.string(),
  /** Identifies the message on its platform. Every attempt to post it has the same id. */
  postId: z.string(),
  /** Stored before the first attempt. The message may exist from then on. */
  attempted: z.boolean(),
  /** Earliest time if several attempts were made. */
  postedAtMs: z.number().optional(),
  /** Fence of the lease under which a request is in flight. */
  triedBy: z.int().optional(),
  posted: z.object({ message: z.string(), thread: z.string() }).optional(),
  /** The message has shown the alert while it was ongoing, so its end is news. */
  shownOpen: z.boolean().optional(),
  /** The message may have shown the alert while it was ongoing: an edit to that was sent, and its answer was lost. */
  triedOpen: z.boolean().optional(),
  /** Time of the last reminder, or of the first message. The next reminder counts from it. */
  remindedAtMs: z.number().optional(),
  /** Group, role or person that the message mentioned when it was posted. Edits keep it. */
  mention: z.string().optional(),
  /** Address of the original message, for an escalation. */
  link: z.string().optional(),
  /** Likely cause in this channel's investigation, with how sure it is in front. */
  likely: z.object({ label: z.string(), cause: z.string() }).optional(),
  /** Version of the alert that the message shows. 0 if unknown. */
  deliveredVersion: z.int().nonnegative(),
  /** A line about the end is posted or due. */
  hasEndLine: z.boolean().optional(),
  /** A line due under the message. */
  line: z
    .object({
      what: z.enum(['end', 'reminder', 'escalation']),
      /** Identifies the line on its platform. Every attempt has the same id. */
      id: z.string(),
      /** The words of the line count from this time. */
      atMs: z.number(),
      /** Stored before the first attempt. */
      attempted: z.boolean(),
      mention: z.string().optional(),
    })
    .optional(),
  /** Failed attempts in a row, and the time of the first. */
  failures: z.int().nonnegative(),
  failingSinceMs: z.number().optional(),
  nextTryAtMs: z.number(),
  /** No message is posted or edited before, because of a snooze or pacing. 0 once a press wants to be shown at once. */
  heldUntilMs: z.number().optional(),
  /** Posted a second time, because the first message could no longer be edited. */
  reposted: z.boolean().optional(),
  dead: z.string().optional(),
  /** Earlier outages of the monitor that ended before this channel got a message. This message counts them. */
  earlier: z.object({ count: z.int().positive(), fromMs: z.number() }).optional(),
});
export type Delivery = z.infer<typeof Delivery>;

const alertFields = {
  id: z.string(),
  /** Increases with every visible change. */
  version: z.int().positive(),
  openedAtMs: z.number(),
  deliveries: z.array(Delivery),
};

const Note = z.object({ by: z.string(), text: z.string(), atMs: z.number() });
export type Note = z.infer<typeof Note>;

/** One change of a monitor to DOWN. `change` is its number, if the service counts changes. */
export const Down = z.object({
  monitorId: z.string(),
  atMs: z.number(),
  seenAtMs: z.number(),
  change: z.int().optional(),
});
export type Down = z.infer<typeof Down>;

/** A monitor that goes down and up so often that its messages only count, until it is stable. */
const Flapping = z.object({
  fromMs: z.number(),
  downs: z.int().positive(),
  /** `isDown` is true after a change to DOWN. `seenAtMs` is when a poll noticed the last change. */
  isDown: z.boolean(),
  changedAtMs: z.number(),
  seenAtMs: z.number(),
  /** Start of the current DOWN, if another status than UP came in between. */
  downFromMs: z.number().optional(),
  /** Last mention because it stayed DOWN. */
  mentionedAtMs: z.number().optional(),
  /** Numbers of the last counted changes, if the service counts them. */
  counted: z.array(z.int()),
});
export type Flapping = z.infer<typeof Flapping>;

const Silence = z.object({
  status: z.enum(['wanted', 'requested', 'created', 'refused', 'unknown']),
  id: z.string().optional(),
  why: z.string().optional(),
});
/**
 * Silence in an Alertmanager for a snooze: wanted → requested (stored before the request) → created | refused | unknown
 * (no answer after several attempts). After a restart, a requested silence is looked up before it is requested again.
 */
export type Silence = z.infer<typeof Silence>;

const SilenceEnd = z.object({
  status: z.enum(['wanted', 'ended', 'refused']),
  untilMs: z.number(),
  id: z.string().optional(),
  why: z.string().optional(),
});
/** End of a silence whose snooze was ended early: wanted → ended | refused. */
export type SilenceEnd = z.infer<typeof SilenceEnd>;

/** A snooze of a monitor: set by a press, ended by time or a press. New outages of the monitor wait until it ends. */
const Snooze = z.object({ by: z.string(), untilMs: z.number(), silence: Silence.optional() });
export type Snooze = z.infer<typeof Snooze>;

/** Details of a reported alert, as its sender wrote them. */
const ReportDetails = z.object({
  /** Only this channel may see it. A `placeKey`. */
  place: z.string(),
  facts: z.array(z.object({ label: z.string(), value: z.string() })),
  factsLeftOut: z.int().positive().optional(),
  /** Only `http:` and `https:`. */
  links: z.array(z.object({ label: z.string(), url: z.string() })),
  /** All labels, if they are known and short enough. Secrets are replaced by `HIDDEN`. */
  labels: z.record(z.string(), z.string()).optional(),
  /** Alerts that the sender left out of its last delivery. */
  truncated: z.int().positive().optional(),
  /** Time of the last news, if that is so long ago that the current state is unknown. */
  silentSinceMs: z.number().optional(),
  /** Last time that people saw new words of the sender, and if newer ones are waiting. */
  wordsShownAtMs: z.number().optional(),
  hasNewWords: z.boolean().optional(),
});
export type ReportDetails = z.infer<typeof ReportDetails>;

/**
 * One outage of a monitor (from DOWN to UP), one milder problem, or several while the monitor flaps. Opened by a change
 * to DOWN or DEGRADED, ended by UP, a removal, or a person who closes it. `flapping` is set by a third outage and
 * removed by its end; `flapped` is set if the monitor then stays DOWN.
 */
const Incident = z.object({
  kind: z.literal('incident'),
  ...alertFields,
  monitorId: z.string(),
  name: z.string(),
  target: z.string(),
  checkType: z.string(),
  /** The monitor's tags at the start. */
  tags: z.array(z.string()).optional(),
  status: z.string(),
  /** The status it began with, such as DEGRADED, if it isn't an outage. */
  degraded: z.string().optional(),
  startedAtMs: z.number(),
  reason: z.string().optional(),
  /** The runbook at the start, as the list has it. */
  runbook: z.string().optional(),
  /** Number of the change that began it, if the service counts changes. */
  change: z.int().optional(),
  endedAtMs: z.number().optional(),
  acknowledged: z.object({ by: z.string(), atMs: z.number() }).optional(),
  snoozed: Snooze.optional(),
  silenceEnd: SilenceEnd.optional(),
  /** The monitor is no longer listed. That says nothing about its target. */
  gone: z.boolean().optional(),
  /** Found by the first poll ever. */
  foundAtStart: z.boolean().optional(),
  /** No poll came between this time and `startedAtMs`. 0 if there was no poll before. */
  unseenFromMs: z.number().optional(),
  /** No poll came between this time and `endedAtMs`. */
  endUnseenFromMs: z.number().optional(),
  /** Response times of the last passed checks before it, oldest first. */
  responseTimesMs: z.array(z.number()).optional(),
  /** Oldest first. */
  notes: z.array(Note).optional(),
  flapping: Flapping.optional(),
  /** Flapping that came before, if the monitor then stayed DOWN. */
  flapped: Flapping.optional(),
  /** Intake of a reported alert. Then `monitorId` is the alert's id, and `target` names the intake. */
  intake: z.string().optional(),
  reported: ReportDetails.optional(),
  /** The person who closed it. Its real state is unknown. */
  closedBy: z.string().optional(),
  escalatedFrom: z.array(z.string()).optional(),
  /** Dependents that are in trouble too and have no alert. `atMs` is when this was last updated. */
  behind: z
    .object({ names: z.array(z.string()), count: z.int().nonnegative(), atMs: z.number() })
    .optional(),
});
export type Incident = z.infer<typeof Incident>;

/** A message about the watch itself. */
const Notice = z.object({
  kind: z.literal('notice'),
  ...alertFields,
  title: z.string(),
  text: z.string(),
  endedAtMs: z.number().optional(),
});
export type Notice = z.infer<typeof Notice>;

const MonitoringOutage = z.object({
  kind: z.literal('monitoring-outage'),
  ...alertFields,
  startedAtMs: z.number(),
  endedAtMs: z.number().optional(),
  why: z.string(),
});
export type MonitoringOutage = z.infer<typeof MonitoringOutage>;

const GroupMember = Incident.pick({
  monitorId: true,
  name: true,
  status: true,
  degraded: true,
  startedAtMs: true,
  endedAtMs: true,
  reason: true,
  change: true,
  gone: true,
  foundAtStart: true,
  unseenFromMs: true,
  endUnseenFromMs: true,
  closedBy: true,
  snoozed: true,
  silenceEnd: true,
})
  .extend(ReportDetails.pick({ truncated: true, silentSinceMs: true }).shape)
  .extend({
    incidentId: z.string(),
    /** Version of the incident that the member shows. */
    version: z.int().positive(),
    isReported: z.boolean().optional(),
    /** Outages of this monitor in the group. */
    times: z.int().positive(),
    /** Number of dependents that are in trouble too. */
    behind: z.int().optional(),
    acknowledged: z.string().optional(),
    flapping: Flapping.pick({
      fromMs: true,
      downs: true,
      isDown: true,
      changedAtMs: true,
    }).optional(),
  });
export type GroupMember = z.infer<typeof GroupMember>;

/**
 * Outages that began together, in one message of one channel. All are of monitors, or all came through one intake. Open
 * while members join (up to a minute after its post), ongoing while one member is, then over. Three kinds are created
 * by rules: the digest of quiet hours (`quiet`), the catch-up of a channel that was closed (`missed`), and an
 * escalation.
 */
export const Group = z.object({
  kind: z.literal('group'),
  ...alertFields,
  place: z.string(),
  intake: z.string().optional(),
  /** Quiet hours that this digest covers, as `22:00–07:00`. */
  quiet: z.string().optional(),
  /** Posted late, because the channel was closed. */
  missed: z.boolean().optional(),
  /** All members are milder problems. */
  degraded: z.boolean().optional(),
  /** Set if the message is about unacknowledged incidents of another channel. */
  escalation: z
    .object({
      /** The alert, its channel, and its message there. */
      of: z.string(),
      from: z.string(),
      postId: z.string(),
      afterMs: z.number(),
      /** The id to mention, and its name. */
      mention: z.string().optional(),
      called: z.string().optional(),
    })
    .optional(),
  /** End of the last member. */
  endedAtMs: z.number().optional(),
  /** Oldest first. */
  notes: z.array(Note).optional(),
  /** One member for each monitor, with its latest outage. The group outlives its incidents. */
  members: z.array(GroupMember),
});
export type Group = z.infer<typeof Group>;

/**
 * A periodic report of a channel. It never changes. The last one of each channel is kept, which shows that it was
 * created.
 */
const Report = z.object({
  kind: z.literal('report'),
  ...alertFields,
  place: z.string(),
  dueMs: z.number(),
  card: StoredCard,
});
export type Report = z.infer<typeof Report>;

/**
 * The investigation of an alert in one channel: one message in the thread of the alert's message. Opened as running, by
 * time or by a person. running → done (with a result, or the reason why there is none) | off (a person stopped it). A
 * person who asks for it again makes it run again, in the same message. Removed with its alert.
 */
const Investigation = z.object({
  kind: z.literal('investigation'),
  ...alertFields,
  place: z.string(),
  /** Id of the alert. */
  of: z.string(),
  /** The alert's message in this channel. */
  under: z.object({ message: z.string(), thread: z.string() }),
  /** The monitors and reported alerts that were in trouble. */
  monitorIds: z.array(z.string()),
  state: z.enum(['running', 'done', 'off']),
  /** Start of the last run. */
  startedAtMs: z.number(),
  card: StoredCard,
  actions: z.array(StoredAction),
});
export type Investigation = z.infer<typeof Investigation>;

export const Alert = z.discriminatedUnion('kind', [
  Incident,
  Notice,
  MonitoringOutage,
  Group,
  Report,
  Investigation,
]);
export type Alert = z.infer<typeof Alert>;

export const incidentsIn = (alerts: readonly Alert[]): Incident[] =>
  alerts.filter((alert): alert is Incident => alert.kind === 'incident');

/** Incident ids of all members of groups. */
export const memberIds = (alerts: readonly Alert[]) =>
  new Set(
    alerts.flatMap((alert) =>
      alert.kind === 'group' ? alert.members.map(({ incidentId }) => incidentId) : [],
    ),
  );

/** The incident of a group with one member. */
export const onlyIncidentOf = (alert: Alert, alerts: readonly Alert[] = []) =>
  alert.kind === 'group' && alert.members.length === 1
    ? incidentsIn(alerts).find(({ id }) => id === alert.members[0]?.incidentId)
    : undefined;

/** Returns the same list if no item changes. */
export function mapChanged<T>(list: T[], change: (item: T) => T): T[] {
  const changed = list.map(change);
  return changed.every((item, at) => item === list[at]) ? list : changed;
}

/** Groups keep the order of the items. `Map.groupBy` needs Node 21. */
export function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, [T, ...T[]]> {
  const groups = new Map<K, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

/**
 * A channel that refuses messages until a person opens it: archived, without the bot, or without a permission. Added by
 * a refusal, removed by the first request that succeeds, or after 30 days.
 */
export const Closed = z.object({
  place: z.string(),
  sinceMs: z.number(),
  /** Kinds of requests that it refused, the latest last. */
  refused: z.array(z.enum(['new', 'change'])),
  tries: z.int().positive(),
  triedAtMs: z.number(),
  nextTryAtMs: z.number(),
});
export type Closed = z.infer<typeof Closed>;

/** A reported alert, as last reported. Details of an ongoing one are in its incident. */
export const Reported = z.object({
  /** See `reportedId`. */
  id: z.string(),
  intake: z.string(),
  place: z.string(),
  /** The sender's identifier. */
  key: z.string(),
  name: z.string(),
  /** `CLOSED` by a person. */
  status: z.enum(['FIRING', 'WARNING', 'RESOLVED', 'CLOSED']),
  /** Start of the alert, as far as it is known. */
  startedAtMs: z.number(),
  /** Start times by the sender's clock: of the current alert, and of the last one that ended. */
  senderStartMs: z.number().optional(),
  overStartMs: z.number().optional(),
  endedAtMs: z.number().optional(),
  /** Time of the last news, to a minute. */
  lastReportAtMs: z.number(),
  /** Earlier times in which it fired, oldest first. */
  past: z.array(z.object({ startedAtMs: z.number(), endedAtMs: z.number() })).optional(),
});
export type Reported = z.infer<typeof Reported>;

export const MAX_PAST = 30;

/** Adds the ended time to the ones that are kept. Pure. */
export function withPast(ended: Reported & { endedAtMs: number }): Reported {
  const { startedAtMs, endedAtMs, past = [] } = ended;
  return { ...ended, past: [...past, { startedAtMs, endedAtMs }].slice(-MAX_PAST) };
}

/** Ids of reported alerts are used like monitor ids. */
const REPORTED_PREFIX = 'alert:';

/** Hashed, because keys may be long, and two intakes may use the same. Pure. */
export const reportedId = (intake: string, key: string) =>
  `${REPORTED_PREFIX}${hash('sha256', JSON.stringify([intake, key]), 'hex').slice(0, 32)}`;

export const isReportedId = (id: string) => id.startsWith(REPORTED_PREFIX);

/** Ongoing, according to its sender. */
export const isFiring = ({ status }: Pick<Reported, 'status'>) =>
  status === 'FIRING' || status === 'WARNING';
/**
 * A monitor in trouble whose incident waits because of its dependencies. Waiting for news of its parents → `behind`
 * parents that are down → `clear` once they are up → released after a check that began later.
 */
export const HeldBack = z.object({
  /** The monitor as it was listed when its incident was first held back. */
  monitor: Monitor.pick({
    id: true,
    name: true,
    check_type: true,
    target: true,
    status: true,
    interval_seconds: true,
    status_changed_at: true,
    status_changes: true,
    status_reason: true,
    runbook: true,
  }),
  heldAtMs: z.number(),
  /** The parents that are down by themselves. Absent while their checks are awaited. */
  behind: z.array(z.string()).optional(),
  /** All parents are up again: since `atMs`, noticed at `seenAtMs`. */
  clear: z.object({ atMs: z.number(), seenAtMs: z.number() }).optional(),
});
export type HeldBack = z.infer<typeof HeldBack>;

/** The state of the watch. It is one state, so that a change and its alerts are stored together. */
export const Watching = z.object({
  known: z.array(KnownMonitor),
  /** False until the first good poll is complete. That poll is no change. */
  isLearned: z.boolean().default(true),
  /** Polls in a row with a suspiciously short list. */
  shortLists: z.int().nonnegative(),
  /** Oldest first. */
  alerts: z.array(Alert),
  /** The last two changes to DOWN of each monitor, if they are recent. */
  downs: z.array(Down).readonly().optional(),
  /** Channels that refuse messages. */
  closed: z.array(Closed).readonly().optional(),
  /** Alerts from other systems. Polls don't change them. */
  reported: z.array(Reported).readonly().optional(),
  /** Monitors whose incidents are held back. */
  held: z.array(HeldBack).readonly().optional(),
});
export type Watching = z.infer<typeof Watching>;

/** Holds the state of the watch, and changes it. */
export interface WatchState {
  /** The last stored state; `undefined` before the first update ever. Items are frozen. */
  current(): Watching | undefined;
  /**
   * Stores what `change` makes of the newest state, all of it or nothing; the same object writes nothing. Updates run one
   * after another. `change` is pure. If writing fails, nothing has changed.
   */
  update(change: (current: Watching | undefined) => Watching | undefined): Promise<void>;
  /** Like `update`, and erases everything that `change` removed from all files. It may write everything again. */
  erase(change: (current: Watching | undefined) => Watching | undefined): Promise<void>;
}
