import { CommandError } from '../shared/errors.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { unpaced } from './flapping.ts';
import { refreshed } from './groups.ts';
import { toldOf } from './incident-of-thread.ts';
import { isOpen } from './incidents.ts';
import { withNote } from './notes.ts';
import { unsnoozed } from './snoozes.ts';
import type { Incident, Note, Topic, Watching, WatchState } from './watch-state.ts';

/** The incidents that people were told of, for those who press a button under one, or under several. */
export interface Incidents {
  /** Those behind the id of an incident or a group that are still known; throws `CommandError` when none is. */
  get(id: string): [Incident, ...Incident[]];
  /**
   * Sets on those that go on what none has said of them yet, and shows it everywhere at once. Where it was said of all
   * before, gives that. Throws `CommandError` when none goes on.
   */
  care<K extends 'acknowledged' | 'snoozed'>(
    id: string,
    what: K,
    said: (nowMs: number) => NonNullable<Incident[K]>,
  ): Promise<Incident[K]>;
  /** Ends the snoozes of their monitors, also of what is over: what was held back is told. False when there is none. */
  endSnoozes(id: string): Promise<boolean>;
  /**
   * Keeps a note with what the message over a thread tells of, also when that is over; false when there is no such.
   * Throws `CommandError` when it is empty.
   */
  note(at: { place: Place; thread: string }, note: Omit<Note, 'atMs'>): Promise<boolean>;
}

const EMPTY = 'Write the note after “note:”, such as “note: restarted the database”.';

/** `onNews` is called when there is something to show, with everything stored. */
export function createIncidents(options: {
  state: WatchState;
  nowMs: () => number;
  onNews: () => void;
}): Incidents {
  const { state, nowMs, onNews } = options;
  return {
    get: (id) => known(state.current()?.topics, id),
    async care(id, what, said) {
      let before: ReturnType<typeof said> | undefined;
      await state.update((watching) => {
        const all = known(watching?.topics, id).filter(isOpen);
        const open = new Set(all.filter((incident) => incident[what] === undefined));
        before = open.size === 0 ? (all[0]?.[what] as typeof before) : undefined;
        if (all.length === 0) throw new CommandError('This incident is over.');
        if (!watching) return watching;
        const atMs = nowMs();
        const topics = watching.topics.map((topic) => {
          if (topic.kind !== 'incident' || !open.has(topic)) return topic;
          return { ...topic, [what]: said(atMs), version: topic.version + 1 };
        });
        return withShown(watching, topics, atMs);
      });
      if (!before) onNews();
      return before;
    },
    async endSnoozes(id) {
      let isEnded = false;
      await state.update((watching) => {
        const asked = known(watching?.topics, id);
        isEnded = asked.some(({ snoozed }) => snoozed !== undefined);
        if (!watching || !isEnded) return watching;
        const monitors = new Set(asked.map(({ monitorId }) => monitorId));
        return withShown(watching, unsnoozed(watching.topics, monitors), nowMs());
      });
      if (isEnded) onNews();
      return isEnded;
    },
    async note({ place, thread }, note) {
      let isKept = false;
      await state.update((watching) => {
        const told = toldOf(watching?.topics ?? [], placeKey(place), thread);
        isKept = told !== undefined;
        if (!watching || !told) return watching;
        if (note.text === '') throw new CommandError(EMPTY);
        const noted = withNote(told, { ...note, atMs: nowMs() });
        return {
          ...watching,
          topics: watching.topics.map((topic) => (topic === told ? noted : topic)),
        };
      });
      if (isKept) onNews();
      return isKept;
    },
  };
}

/** Whoever pressed sees it at once, also in a message that otherwise changes now and then. */
function withShown(watching: Watching, topics: Topic[], nowMs: number): Watching {
  const isSame = topics.every((topic, at) => topic === watching.topics[at]);
  if (isSame) return watching;
  const before = new Set(watching.topics);
  const shown = refreshed(topics, nowMs).map((topic) =>
    before.has(topic) ? topic : unpaced(topic),
  );
  return { ...watching, topics: shown };
}

function known(topics: readonly Topic[] = [], id: string): [Incident, ...Incident[]] {
  const asked = topics.find((topic) => topic.id === id);
  const ids = new Set(
    asked?.kind === 'group' ? asked.members.map(({ incidentId }) => incidentId) : [id],
  );
  const [first, ...others] = topics.filter(
    (topic): topic is Incident => topic.kind === 'incident' && ids.has(topic.id),
  );
  if (!first) throw new CommandError('This incident is too old: Askwatch no longer knows it.');
  return [first, ...others];
}
