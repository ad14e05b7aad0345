import { CommandError } from './errors.ts';
import { isOpen } from './incidents.ts';
import type { Incident, Topic, WatchState } from './watch-state.ts';

/** The incidents that people were told of, for those who press a button under one. */
export interface Incidents {
  /** Throws `CommandError` when it is no longer known. */
  get(id: string): Incident;
  /** Stores what `change` makes of one that goes on, and shows it everywhere. Throws `CommandError` when it does not. */
  change(id: string, change: (incident: Incident, nowMs: number) => Incident): Promise<void>;
}

/** `onNews` is called when there is something to show, with everything stored. */
export function createIncidents(options: {
  state: WatchState;
  nowMs: () => number;
  onNews: () => void;
}): Incidents {
  const { state, nowMs, onNews } = options;

  function known(topics: readonly Topic[] | undefined, id: string): Incident {
    const topic = topics?.find((one) => one.id === id);
    if (topic?.kind === 'incident') return topic;
    throw new CommandError('This incident is too old: Askwatch no longer knows it.');
  }

  return {
    get: (id) => known(state.current()?.topics, id),
    async change(id, change) {
      await state.update((watching) => {
        const before = known(watching?.topics, id);
        if (!isOpen(before)) throw new CommandError('This incident is over.');
        const after = change(before, nowMs());
        if (!watching || after === before) return watching;
        const version = before.version + 1;
        const topics = watching.topics.map((topic) =>
          topic === before ? { ...after, version } : topic,
        );
        return { ...watching, topics };
      });
      onNews();
    },
  };
}
