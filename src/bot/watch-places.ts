import type { GonePlaces } from './forget.ts';
import type { Topic, Watching } from './watch-state.ts';

/** Whether the watch has told any of these places of anything, or is about to. Pure. */
export function hasPlace(watching: Watching | undefined, gone: GonePlaces): boolean {
  return watching?.topics.some((topic) => isOf(topic, gone)) ?? false;
}

/** The same without what these places were told or are about to be told. Pure. */
export function withoutPlaces(watching: Watching, gone: GonePlaces): Watching {
  if (!hasPlace(watching, gone)) return watching;
  const topics = watching.topics.flatMap((topic) => {
    if (!isOf(topic, gone)) return [topic];
    // A group is of one place.
    if (topic.kind === 'group') return [];
    return [{ ...topic, deliveries: topic.deliveries.filter(({ place }) => !gone.has(place)) }];
  });
  return { ...watching, topics };
}

const isOf = (topic: Topic, gone: GonePlaces) =>
  (topic.kind === 'group' && gone.has(topic.place)) ||
  topic.deliveries.some(({ place }) => gone.has(place));
