import { CommandError } from './errors.ts';
import { refreshed } from './groups.ts';
import { toldOf } from './incident-facts.ts';
import { isOpen } from './incidents.ts';
import { withNote } from './notes.ts';
import { type Place, placeKey } from './platform.ts';
import type { Incident, Note, Topic, WatchState } from './watch-state.ts';

/** The incidents that people were told of, for those who press a button under one, or under several. */
export interface Incidents {
  /** Those behind the id of an incident or a group that are still known; throws `CommandError` when none is. */
  get(id: string): [Incident, ...Incident[]];
  /** Stores what `change` makes of those that go on, and shows it everywhere. Throws `CommandError` when none does. */
  change(id: string, change: (incident: Incident, nowMs: number) => Incident): Promise<void>;
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
    async change(id, change) {
      await state.update((watching) => {
        const open = new Set(known(watching?.topics, id).filter(isOpen));
        if (open.size === 0) throw new CommandError('This incident is over.');
        if (!watching) return watching;
        const topics = watching.topics.map((topic) => {
          if (topic.kind !== 'incident' || !open.has(topic)) return topic;
          const after = change(topic, nowMs());
          return after === topic ? topic : { ...after, version: topic.version + 1 };
        });
        const isSame = topics.every((topic, at) => topic === watching.topics[at]);
        return isSame ? watching : { ...watching, topics: refreshed(topics, nowMs()) };
      });
      onNews();
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
