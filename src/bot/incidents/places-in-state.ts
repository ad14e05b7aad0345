import type { GonePlaces } from '../shared/gone-places.ts';
import { isOpen, newDelivery } from './incidents.ts';
import type { Topic, Watching } from './watch-state.ts';

/** Whether the watch has told any of these places of anything, or is about to. Pure. */
export function hasPlace(watching: Watching | undefined, gone: GonePlaces): boolean {
  if (!watching) return false;
  const { topics, closed = [] } = watching;
  return topics.some((topic) => isOf(topic, gone)) || closed.some(({ place }) => gone.has(place));
}

/**
 * The same without what these places were told or are about to be told. Those that hear every alert, since the operator says
 * so, are told anew of what goes on: they may be back before it is over. Pure.
 */
export function withoutPlaces(
  watching: Watching,
  gone: GonePlaces,
  hearAll: readonly string[],
): Watching {
  if (!hasPlace(watching, gone)) return watching;
  const anew = hearAll.filter((place) => gone.has(place));
  const topics = watching.topics.flatMap((topic): Topic[] => {
    // A group is of one place.
    if (topic.kind === 'group') return gone.has(topic.place) ? [] : [topic];
    const others = topic.deliveries.filter(({ place }) => !gone.has(place));
    const isToTell = topic.kind === 'incident' && isOpen(topic);
    const more = isToTell ? anew.map((place) => newDelivery(place, topic.id)) : [];
    const isSame = more.length === 0 && others.length === topic.deliveries.length;
    return isSame ? [topic] : [{ ...topic, deliveries: [...others, ...more] }];
  });
  const { closed = [], ...rest } = watching;
  const left = closed.filter(({ place }) => !gone.has(place));
  return { ...rest, topics, ...(left.length > 0 && { closed: left }) };
}

const isOf = (topic: Topic, gone: GonePlaces) =>
  (topic.kind === 'group' && gone.has(topic.place)) ||
  topic.deliveries.some(({ place }) => gone.has(place));
