import { hash } from 'node:crypto';
import { z } from 'zod';
import { Monitor } from '../../contracts/monitoring.ts';
import type { State } from '../../store/state.ts';
import { StoredCard } from '../shared/stored-card.ts';

/** A monitor as last seen. */
export const KnownMonitor = z.object({
  id: z.string(),
  /** As the service wrote it. */
  status: z.string(),
  /** How often it had changed, where the service counts that. */
  changes: z.int().optional(),
  /** Good polls in a row in which it was not listed. */
  missing: z.int().nonnegative(),
});
export type KnownMonitor = z.infer<typeof KnownMonitor>;

/** How far one channel has been told of an alert. */
const Delivery = z.object({
  /** The place, in its one-word form. */
  place: z.string(),
  /** Names the message on its platform: every try to post it carries the same. */
  postId: z.string(),
  /** Set durably before the first try: from then on the message may be there. */
  attempted: z.boolean(),
  /** When the message was posted; of one that more than one try was made for, when that may have been at the earliest. */
  postedAtMs: z.number().optional(),
  /** The fence of the lease under which a request to the platform was begun, until its outcome is stored. */
  triedBy: z.int().optional(),
  posted: z.object({ message: z.string(), thread: z.string() }).optional(),
  /** The message showed the alert while it went on: what follows is an end, not old news. */
  shownOpen: z.boolean().optional(),
  /** A change of the message to that was tried, which Askwatch does not know the end of: people may have seen it. */
  triedOpen: z.boolean().optional(),
  /** When that, or the last reminder of it, was said: the next reminder is counted from it. */
  remindedAtMs: z.number().optional(),
  /** The group, role or person that the message called when it was posted; it goes on naming it. */
  mention: z.string().optional(),
  /** Where the message stands that it is about, as it was when it was posted. */
  link: z.string().optional(),
  /** The version of the alert that the message surely shows, 0 when that is not known: the code calls it `deliveredVersion`. */
  told: z.int().nonnegative(),
  /** A line told, or is about to tell, that it is over. */
  endSaid: z.boolean().optional(),
  /** A line that is to be said under the message, once it shows what the line says. */
  line: z
    .object({
      what: z.enum(['end', 'reminder', 'escalation']),
      /** Names it on its platform: every try to say it carries the same. */
      id: z.string(),
      /** What its words are counted from. */
      atMs: z.number(),
      /** Set durably before the first try. */
      attempted: z.boolean(),
      /** Whom it calls. */
      mention: z.string().optional(),
    })
    .optional(),
  /** Tries in a row that failed, and since when. */
  failures: z.int().nonnegative(),
  failingSinceMs: z.number().optional(),
  nextTryAtMs: z.number(),
  /** Nothing is told before: the monitor is snoozed. */
  heldUntilMs: z.number().optional(),
  /** Its message could not be changed for good, so a second one took its place. */
  reposted: z.boolean().optional(),
  /** Why it was given up. */
  dead: z.string().optional(),
  /** Earlier outages of the monitor that ended before this place could be told of them; told with this one. */
  earlier: z.object({ count: z.int().positive(), fromMs: z.number() }).optional(),
});
export type Delivery = z.infer<typeof Delivery>;

const alertFields = {
  id: z.string(),
  /** Counts up with every change that people should see. */
  version: z.int().positive(),
  openedAtMs: z.number(),
  deliveries: z.array(Delivery),
};

/** What somebody wants to be kept with an incident. */
const Note = z.object({ by: z.string(), text: z.string(), atMs: z.number() });
export type Note = z.infer<typeof Note>;

/** A time that a monitor went down, when that was seen, and the number of that change where the service counts them. */
export const Down = z.object({
  monitorId: z.string(),
  atMs: z.number(),
  seenAtMs: z.number(),
  change: z.int().optional(),
});
export type Down = z.infer<typeof Down>;

/** A monitor goes down and up so often that people are only told how often, until it is calm. */
const Flapping = z.object({
  /** When it went down first. */
  fromMs: z.number(),
  /** How often it went down since. */
  downs: z.int().positive(),
  /** Whether the last change between DOWN and UP was one to DOWN; when that was, and when it was seen. */
  isDown: z.boolean(),
  changedAtMs: z.number(),
  seenAtMs: z.number(),
  /** Since when it is DOWN without a break, where something else than UP came in between. */
  downFromMs: z.number().optional(),
  /** When people were last called because it stayed DOWN. */
  rungAtMs: z.number().optional(),
  /** The last numbers of changes that are counted, where the service counts them. */
  counted: z.array(z.int()),
});
export type Flapping = z.infer<typeof Flapping>;

const Silence = z.object({
  /** `asked` is stored before, and `unknown` when no answer came. */
  status: z.enum(['wanted', 'asked', 'made', 'refused', 'unknown']),
  id: z.string().optional(),
  why: z.string().optional(),
});
/** A silence in an Alertmanager that goes with a snooze. */
export type Silence = z.infer<typeof Silence>;

const SilenceEnd = z.object({
  status: z.enum(['wanted', 'ended', 'refused']),
  untilMs: z.number(),
  id: z.string().optional(),
  why: z.string().optional(),
});
/** What became of the silence of a snooze that was ended before its time. */
export type SilenceEnd = z.infer<typeof SilenceEnd>;

/** Who wants to hear nothing new of a monitor, and until when. */
const Snooze = z.object({ by: z.string(), untilMs: z.number(), silence: Silence.optional() });
export type Snooze = z.infer<typeof Snooze>;

/** What an incident of an alert that another system reports has besides: shown to people, never asked for again. */
const ReportDetails = z.object({
  /** Who may see it, in its one-word form. */
  place: z.string(),
  facts: z.array(z.object({ label: z.string(), value: z.string() })),
  /** Facts that there was no room for. */
  factsLeftOut: z.int().positive().optional(),
  /** To `http:` and `https:`. */
  links: z.array(z.object({ label: z.string(), url: z.string() })),
  /** All labels, where they are known and there was room for them; `HIDDEN` in the place of secrets. */
  labels: z.record(z.string(), z.string()).optional(),
  /** Alerts that the sender left out of the delivery that told of it last. */
  truncated: z.int().positive().optional(),
  /** When it was last heard of, where that is so long ago that nobody knows how it is. */
  silentSinceMs: z.number().optional(),
  /** When people were last shown other words of the sender, and whether there are newer ones. */
  wordsShownAtMs: z.number().optional(),
  hasNewWords: z.boolean().optional(),
});
export type ReportDetails = z.infer<typeof ReportDetails>;

/** An outage of one monitor, from DOWN to UP, or a milder trouble; or several, while it flaps. */
const Incident = z.object({
  kind: z.literal('incident'),
  ...alertFields,
  monitorId: z.string(),
  name: z.string(),
  target: z.string(),
  checkType: z.string(),
  /** As the service writes it. */
  status: z.string(),
  /** It is no outage: the monitor works, but not as it should. The status it began with, such as DEGRADED. */
  degraded: z.string().optional(),
  startedAtMs: z.number(),
  reason: z.string().optional(),
  /** The number of the change of its monitor that it began with, where the service counts them. */
  change: z.int().optional(),
  endedAtMs: z.number().optional(),
  /** Somebody said that they look after it. */
  acknowledged: z.object({ by: z.string(), atMs: z.number() }).optional(),
  /** Somebody wants to hear nothing new of this monitor until then. */
  snoozed: Snooze.optional(),
  silenceEnd: SilenceEnd.optional(),
  /** It ended because the monitor is no longer listed, which says nothing about its target. */
  gone: z.boolean().optional(),
  /** It was there already at the first poll ever. */
  foundAtStart: z.boolean().optional(),
  /** It began unseen: no poll came between then and `startedAtMs`. 0 when no poll had ever come. */
  unseenFromMs: z.number().optional(),
  /** It ended unseen: no poll came between then and `endedAtMs`. */
  endUnseenFromMs: z.number().optional(),
  /** Of the last checks that passed before it, oldest first. */
  responseTimesMs: z.array(z.number()).optional(),
  /** Oldest first. */
  notes: z.array(Note).optional(),
  flapping: Flapping.optional(),
  /** It is what stayed DOWN after it flapped, as that was until then. */
  flapped: Flapping.optional(),
  /** The id of the intake that it came in by; then `monitorId` is the id of a reported alert, and `target` who reports it. */
  intake: z.string().optional(),
  reported: ReportDetails.optional(),
  /** Who ended it, which says nothing about whether it is over. */
  closedBy: z.string().optional(),
  /** Places in which nobody acknowledged it in time, so that others were told. */
  escalatedFrom: z.array(z.string()).optional(),
  /** Monitors that depend on this one and are in trouble too, of which nobody is told; some names, all of them, and when that was said. */
  behind: z
    .object({ names: z.array(z.string()), count: z.int().nonnegative(), atMs: z.number() })
    .optional(),
});
export type Incident = z.infer<typeof Incident>;

/** Something about the watching itself. */
const Notice = z.object({
  kind: z.literal('notice'),
  ...alertFields,
  title: z.string(),
  text: z.string(),
  /** What it tells of is over. */
  endedAtMs: z.number().optional(),
});
export type Notice = z.infer<typeof Notice>;

/** A time in which the monitors could not be seen. */
const MonitoringOutage = z.object({
  kind: z.literal('blindness'),
  ...alertFields,
  startedAtMs: z.number(),
  endedAtMs: z.number().optional(),
  /** Why, in sentences. */
  why: z.string(),
});
export type MonitoringOutage = z.infer<typeof MonitoringOutage>;

/** Outages that began together, as one place receives them: one delivery. All are of monitors, or came in by one intake. */
export const Group = z.object({
  kind: z.literal('group'),
  ...alertFields,
  place: z.string(),
  /** The id of the intake that its members came in by. */
  intake: z.string().optional(),
  /** It gathers what happened in the quiet hours of its place, shown as `22:00–07:00`, and is told when they are over. */
  quiet: z.string().optional(),
  /** It names what its place missed while that was closed, and is told late. */
  missed: z.boolean().optional(),
  /** Of what is no outage. */
  degraded: z.boolean().optional(),
  /** It tells of what nobody acknowledged in time. */
  escalation: z
    .object({
      /** The alert that it is about, the place where that was told, and its message there. */
      of: z.string(),
      from: z.string(),
      postId: z.string(),
      afterMs: z.number(),
      /** Whom it calls, and as people know them. */
      mention: z.string().optional(),
      called: z.string().optional(),
    })
    .optional(),
  /** When the last one was over. */
  endedAtMs: z.number().optional(),
  /** Oldest first. */
  notes: z.array(Note).optional(),
  /** One for each monitor, with its latest outage: the group outlives what is kept of that. */
  members: z.array(
    z.object({
      incidentId: z.string(),
      /** Of its incident, as it is shown. */
      version: z.int().positive(),
      monitorId: z.string(),
      name: z.string(),
      status: z.string(),
      degraded: z.string().optional(),
      startedAtMs: z.number(),
      endedAtMs: z.number().optional(),
      reason: z.string().optional(),
      change: z.int().optional(),
      gone: z.boolean().optional(),
      foundAtStart: z.boolean().optional(),
      unseenFromMs: z.number().optional(),
      endUnseenFromMs: z.number().optional(),
      /** It is an alert that another system reports. */
      isReported: z.boolean().optional(),
      /** As in `reported`. */
      truncated: z.int().positive().optional(),
      silentSinceMs: z.number().optional(),
      closedBy: z.string().optional(),
      /** Outages in this group. */
      times: z.int().positive(),
      /** Monitors that depend on it and are in trouble too. */
      behind: z.int().optional(),
      /** Who looks after it. */
      acknowledged: z.string().optional(),
      snoozed: Snooze.optional(),
      silenceEnd: SilenceEnd.optional(),
      flapping: Flapping.pick({
        fromMs: true,
        downs: true,
        isDown: true,
        changedAtMs: true,
      }).optional(),
    }),
  ),
});
export type Group = z.infer<typeof Group>;

/**
 * How the monitors of a place did in a time. It never changes, and stays until the next one of its place: as long as it is
 * there, it is known to be made.
 */
const Report = z.object({
  kind: z.literal('report'),
  ...alertFields,
  /** Its place, in its one-word form. */
  place: z.string(),
  /** When it was to be made. */
  dueMs: z.number(),
  card: StoredCard,
});
export type Report = z.infer<typeof Report>;

export const Alert = z.discriminatedUnion('kind', [
  Incident,
  Notice,
  MonitoringOutage,
  Group,
  Report,
]);
export type Alert = z.infer<typeof Alert>;

/** The incidents among some alerts, in their order. */
export const incidentsIn = (alerts: readonly Alert[]): Incident[] =>
  alerts.filter((alert): alert is Incident => alert.kind === 'incident');

/** The ids of all incidents that groups among some alerts hold. */
export const memberIds = (alerts: readonly Alert[]) =>
  new Set(
    alerts.flatMap((alert) =>
      alert.kind === 'group' ? alert.members.map(({ incidentId }) => incidentId) : [],
    ),
  );

/** The incident that a message about several is about, while it is about one. */
export const onlyIncidentOf = (alert: Alert, alerts: readonly Alert[] = []) =>
  alert.kind === 'group' && alert.members.length === 1
    ? incidentsIn(alerts).find(({ id }) => id === alert.members[0]?.incidentId)
    : undefined;

/** What `change` makes of each item; the same list when it gives all back as they are. */
export function mapChanged<T>(list: T[], change: (item: T) => T): T[] {
  const changed = list.map(change);
  return changed.every((item, at) => item === list[at]) ? list : changed;
}

/** Items by what they have in common, in their order; `Map.groupBy` needs Node 21. */
export function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, [T, ...T[]]> {
  const groups = new Map<K, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

/** A place that takes nothing for as long as nobody opens it again: archived, without the bot, without a permission. */
export const Closed = z.object({
  place: z.string(),
  sinceMs: z.number(),
  /** Whether it refused something new, a change of what stands there, or both; the last one comes last. */
  refused: z.array(z.enum(['new', 'change'])),
  /** How often, in a row. */
  tries: z.int().positive(),
  triedAtMs: z.number(),
  nextTryAtMs: z.number(),
});
export type Closed = z.infer<typeof Closed>;

/** An alert as another system reported it last. What people are shown of one that goes on stands in its incident. */
export const Reported = z.object({
  /** See `reportedId`. */
  id: z.string(),
  /** The id of the intake that it came in by. */
  intake: z.string(),
  /** Who may see it, in its one-word form. */
  place: z.string(),
  /** The sender's own name for it. */
  key: z.string(),
  name: z.string(),
  /** `FIRING`, `WARNING`, `RESOLVED`, or `CLOSED` by a person. */
  status: z.enum(['FIRING', 'WARNING', 'RESOLVED', 'CLOSED']),
  /** Since when it fires, as far as it is known. */
  startedAtMs: z.number(),
  /** The same as the sender says it, of what fires, and of what fired last and is over. */
  saidStartMs: z.number().optional(),
  overStartMs: z.number().optional(),
  /** When it was over, or closed. */
  endedAtMs: z.number().optional(),
  /** When something was heard of it last, to a minute. */
  heardAtMs: z.number(),
  /** The last times that it fired and that are over, oldest first. */
  past: z.array(z.object({ startedAtMs: z.number(), endedAtMs: z.number() })).optional(),
});
export type Reported = z.infer<typeof Reported>;

/** Times that are kept of each. */
export const MAX_PAST = 30;

/** An alert that is over, or closed, with the time that it fired among those that are kept. Pure. */
export function withPast(ended: Reported & { endedAtMs: number }): Reported {
  const { startedAtMs, endedAtMs, past = [] } = ended;
  return { ...ended, past: [...past, { startedAtMs, endedAtMs }].slice(-MAX_PAST) };
}

/** How the ids of reported alerts begin, which stand where those of monitors do. */
const REPORTED_PREFIX = 'alert:';

/** The id of a reported alert: senders' keys may be long, and those of two intakes the same. Pure. */
export const reportedId = (intake: string, key: string) =>
  `${REPORTED_PREFIX}${hash('sha256', JSON.stringify([intake, key]), 'hex').slice(0, 32)}`;

/** Whether it is the id of a reported alert, and not of a monitor. */
export const isReportedId = (id: string) => id.startsWith(REPORTED_PREFIX);

/** Whether an alert goes on, as far as the sender told. */
export const isFiring = ({ status }: Pick<Reported, 'status'>) =>
  status === 'FIRING' || status === 'WARNING';
/** A monitor that is in trouble, and of which no incident is open on account of what it depends on. */
export const HeldBack = z.object({
  /** As it was listed when that began. */
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
  }),
  heldAtMs: z.number(),
  /** What is down by itself, and this with it; absent while it only waits for what is found of its parents. */
  behind: z.array(z.string()).optional(),
  /** All of that is well again: since when, and when that was seen. */
  clear: z.object({ atMs: z.number(), seenAtMs: z.number() }).optional(),
});
export type HeldBack = z.infer<typeof HeldBack>;

/** What was seen and what is to be told. One thing, so that a change and its alerts are stored together or not at all. */
export const Watching = z.object({
  known: z.array(KnownMonitor),
  /** Whether there ever was a good poll: the first one is no change. */
  learnt: z.boolean().default(true),
  /** Polls in a row with a list that was suspiciously short. */
  shortLooks: z.int().nonnegative(),
  /** Oldest first. */
  alerts: z.array(Alert),
  /** The last two times that each monitor went down, where that is not long ago. */
  downs: z.array(Down).readonly().optional(),
  /** Places that refused what they were to be told, and were not found to be open again. */
  closed: z.array(Closed).readonly().optional(),
  /** Alerts that other systems report; no poll says anything of them. */
  reported: z.array(Reported).readonly().optional(),
  /** Monitors whose incidents are held back. */
  held: z.array(HeldBack).readonly().optional(),
});
export type Watching = z.infer<typeof Watching>;

/** What the watch knows, and how it is changed. */
export type WatchState = State<Watching>;
