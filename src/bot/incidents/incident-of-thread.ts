import { isOpen } from './incidents.ts';
import type { Group, Incident, Topic } from './watch-state.ts';

/** What a message in this place is about, with the thread under it. */
export interface Told {
  /** The newest that goes on, else the newest. */
  incident: Incident;
  /** All that it told of, when there are several. */
  group: Group | undefined;
}

/** The incident, or the outages that began together, in whose thread something is said. Pure. */
export function toldIn(
  topics: readonly Topic[] = [],
  place: string,
  thread: string,
): Told | undefined {
  const told = toldOf(topics, place, thread);
  if (told?.kind !== 'group') return told && { incident: told, group: undefined };
  const ids = new Set(told.members.map(({ incidentId }) => incidentId));
  const own = topics.filter(
    (topic): topic is Incident => topic.kind === 'incident' && ids.has(topic.id),
  );
  const incident = own.findLast(isOpen) ?? own.at(-1);
  return incident && { incident, group: told };
}

/** What the message over a thread tells of. Pure. */
export function toldOf(
  topics: readonly Topic[],
  place: string,
  thread: string,
): Incident | Group | undefined {
  return topics.findLast(
    (topic): topic is Incident | Group =>
      (topic.kind === 'incident' || topic.kind === 'group') &&
      topic.deliveries.some((one) => one.place === place && one.posted?.thread === thread),
  );
}
