import { setTimeout as pause } from 'node:timers/promises';
import { type Card, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { shortened } from '../shared/text-format.ts';
import { unpaced } from './flapping.ts';
import { refreshed } from './groups.ts';
import { isOpen } from './incidents.ts';
import { unsnoozed } from './snoozes.ts';
import {
  type Alert,
  type Group,
  type Incident,
  incidentsIn,
  isFiring,
  mapChanged,
  type Note,
  type Silence,
  type Watching,
  type WatchState,
  withPast,
} from './watch-state.ts';

export type Incidents = ReturnType<typeof createIncidents>;

const HEARD_AGAIN =
  'Its sender reported it again in the meantime, so it stays open until the sender resolves it.';

const EMPTY = 'Write the note after “note:”, for example “note: restarted the database”.';

/** `onChange` is called after a change is stored. */
export function createIncidents(options: {
  state: Pick<WatchState, 'current' | 'update'>;
  nowMs: () => number;
  onChange: () => void;
  /** The Alertmanager silence for a snooze of this incident. */
  silenceFor?: (incident: Incident) => Silence | undefined;
}) {
  const { state, nowMs, onChange, silenceFor } = options;
  return {
    /** The incidents of an incident or group id. Throws `CommandError` if none is kept. */
    get: (id: string) => known(state.current()?.alerts, id),
    openOf: (monitorId: string) =>
      incidentsIn(state.current()?.alerts ?? []).findLast(
        (incident) => incident.monitorId === monitorId && isOpen(incident),
      )?.id,
    /**
     * Acknowledges or snoozes all open incidents of an alert that aren't yet, and shows it everywhere. Resolves to the
     * earlier value if all were. Throws `CommandError` if none is open.
     */
    async mark<K extends 'acknowledged' | 'snoozed'>(
      id: string,
      what: K,
      said: (nowMs: number) => NonNullable<Incident[K]>,
    ): Promise<Incident[K]> {
      let before: ReturnType<typeof said> | undefined;
      await state.update((watching) => {
        const all = known(watching?.alerts, id).filter(isOpen);
        const open = new Set(all.filter((incident) => incident[what] === undefined));
        before = open.size === 0 ? (all[0]?.[what] as typeof before) : undefined;
        if (all.length === 0) throw new CommandError('This incident is over.');
        if (!watching) return watching;
        const atMs = nowMs();
        const alerts = mapChanged(watching.alerts, (alert) => {
          if (alert.kind !== 'incident' || !open.has(alert)) return alert;
          const silence = what === 'snoozed' ? silenceFor?.(alert) : undefined;
          const { silenceEnd, ...others } = alert;
          return {
            // An earlier silence is ended before another is created.
            ...(silence && silenceEnd?.status !== 'wanted' ? others : alert),
            [what]: { ...said(atMs), silence },
            version: alert.version + 1,
          };
        });
        return withShown(watching, alerts, atMs);
      });
      if (!before) onChange();
      return before;
    },
    /** Resolves to false if there was no snooze. */
    async endSnoozes(id: string) {
      let isEnded = false;
      await state.update((watching) => {
        const asked = known(watching?.alerts, id);
        isEnded = asked.some(({ snoozed }) => snoozed !== undefined);
        if (!watching || !isEnded) return watching;
        const monitors = new Set(asked.map(({ monitorId }) => monitorId));
        return withShown(watching, unsnoozed(watching.alerts, monitors), nowMs());
      });
      if (isEnded) onChange();
      return isEnded;
    },
    /**
     * Closes incidents whose sender is silent. Their real state is unknown. Throws `CommandError` if there are none.
     */
    async close(id: string, by: string) {
      await state.update((watching) => {
        const asked = known(watching?.alerts, id).filter(isOpen);
        if (asked.length === 0) throw new CommandError('This incident is over.');
        const silent = asked.filter(({ reported }) => reported?.silentSinceMs !== undefined);
        if (silent.length === 0) throw new CommandError(HEARD_AGAIN);
        return watching && withClosed(watching, silent, { by: shortened(by, 80), nowMs: nowMs() });
      });
      onChange();
    },
    /**
     * Adds a note to the alert of a thread, even if that is over. Resolves to false if the thread has no alert. Throws
     * `CommandError` if the note is empty.
     */
    async note({ place, thread }: { place: Place; thread: string }, note: Omit<Note, 'atMs'>) {
      let isKept = false;
      await state.update((watching) => {
        const found = alertOfThread(watching?.alerts ?? [], placeKey(place), thread);
        isKept = found !== undefined;
        if (!watching || !found) return watching;
        if (note.text === '') throw new CommandError(EMPTY);
        const noted = withNote(found, { ...note, atMs: nowMs() });
        return {
          ...watching,
          alerts: watching.alerts.map((alert) => (alert === found ? noted : alert)),
        };
      });
      if (isKept) onChange();
      return isKept;
    },
  };
}

/** A press is shown at once, without pacing. */
export function withShown(watching: Watching, alerts: Alert[], nowMs: number): Watching {
  if (alerts === watching.alerts) return watching;
  const before = new Set(watching.alerts);
  const shown = refreshed(alerts, nowMs).map((alert) =>
    before.has(alert) ? alert : unpaced(alert),
  );
  return { ...watching, alerts: shown };
}

/** A later report opens a new incident. */
function withClosed(
  watching: Watching,
  closed: readonly Incident[],
  { by, nowMs }: { by: string; nowMs: number },
): Watching {
  const ids = new Set(closed.map(({ monitorId }) => monitorId));
  const own = new Set<Alert>(closed);
  const alerts = mapChanged(watching.alerts, (alert) => {
    if (alert.kind !== 'incident' || !own.has(alert)) return alert;
    const endedAtMs = Math.max(nowMs, alert.startedAtMs);
    return { ...alert, version: alert.version + 1, closedBy: by, endedAtMs };
  });
  const reported = watching.reported?.map((one) =>
    ids.has(one.id) && isFiring(one)
      ? withPast({ ...one, status: 'CLOSED', endedAtMs: Math.max(nowMs, one.startedAtMs) })
      : one,
  );
  return { ...withShown(watching, alerts, nowMs), ...(reported && { reported }) };
}

function known(alerts: readonly Alert[] = [], id: string): [Incident, ...Incident[]] {
  const asked = alerts.find((alert) => alert.id === id);
  const ids = new Set(
    asked?.kind === 'group' ? asked.members.map(({ incidentId }) => incidentId) : [id],
  );
  const [first, ...others] = incidentsIn(alerts).filter((incident) => ids.has(incident.id));
  if (!first) throw new CommandError('This incident is too old. Askwatch no longer has its data.');
  return [first, ...others];
}

export interface ThreadIncident {
  /** The newest open incident, or else the newest. */
  incident: Incident;
  /** Set if the message is about several incidents. */
  group: Group | undefined;
  /** All incidents that are still kept, oldest first. */
  all: readonly Incident[];
}

export function incidentOfThread(
  alerts: readonly Alert[] = [],
  place: string,
  thread: string,
): ThreadIncident | undefined {
  const found = alertOfThread(alerts, place, thread);
  if (found?.kind !== 'group') {
    return found && { incident: found, group: undefined, all: [found] };
  }
  const ids = new Set(found.members.map(({ incidentId }) => incidentId));
  const own = incidentsIn(alerts).filter(({ id }) => ids.has(id));
  const incident = own.findLast(isOpen) ?? own.at(-1);
  return incident && { incident, group: found, all: own };
}

function alertOfThread(
  alerts: readonly Alert[],
  place: string,
  thread: string,
): Incident | Group | undefined {
  return alerts.findLast(
    (alert): alert is Incident | Group =>
      (alert.kind === 'incident' || alert.kind === 'group') &&
      alert.deliveries.some((one) => one.place === place && one.posted?.thread === thread),
  );
}

/** An attempt whose answer was lost may be repeated for a day. */
const POSTED_WITHIN_MS = 20_000;
const LOOK_AGAIN_MS = 100;

/** An alert may be visible in a place before its thread is known. Pure. */
export const isPosting = (alerts: readonly Alert[] = [], place: string) =>
  alerts.some(
    (alert) =>
      (alert.kind === 'incident' || alert.kind === 'group') &&
      alert.deliveries.some(
        (one) => one.place === place && one.attempted && !one.posted && one.dead === undefined,
      ),
  );

/**
 * Waits up to 20 s until no alert is being posted to a place. People see an alert before the platform's answer arrives,
 * so an early reply belongs to it.
 */
export async function waitForPosts(state: Pick<WatchState, 'current'>, place: string) {
  const untilMs = performance.now() + POSTED_WITHIN_MS;
  while (isPosting(state.current()?.alerts, place) && performance.now() < untilMs) {
    await pause(LOOK_AGAIN_MS);
  }
}

const MAX_NOTES = 20;
const MAX_NOTE_LENGTH = 500;

/** A person who repeats a note within this time adds one note. */
const SAME_NOTE_MS = 10 * 60_000;

/** The text after `note:`. Pure. */
export function noteIn(said: string): string | undefined {
  const text = /^\s*note:(.*)$/is.exec(said)?.[1];
  return text?.replace(/\s+/g, ' ').trim();
}

/** Adding the same note again after a crash changes nothing. Pure. */
export function withNote<T extends Extract<Alert, { notes?: unknown }>>(alert: T, note: Note): T {
  const kept = { ...note, text: shortened(note.text, MAX_NOTE_LENGTH) };
  const before = alert.notes ?? [];
  const isSame = ({ by, text, atMs }: Note) =>
    by === kept.by && text === kept.text && kept.atMs - atMs < SAME_NOTE_MS;
  if (before.some(isSame)) return alert;
  return { ...alert, version: alert.version + 1, notes: [...before, kept].slice(-MAX_NOTES) };
}

export function notedCard(text: string): Card {
  const cut =
    text.length > MAX_NOTE_LENGTH ? ` Only the first ${MAX_NOTE_LENGTH} characters are kept.` : '';
  return textCard(
    'info',
    'Noted',
    `The alert shows this note, and answers in this thread take it into account.${cut}`,
  );
}
