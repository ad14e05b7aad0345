import { StatusError } from '../../clients/errors.ts';
import { explainOutage } from '../shared/explain-error.ts';
import { newDelivery } from './incidents.ts';
import type { Blindness, Topic, Watching } from './watch-state.ts';

/** Looks at the monitors that failed, one after another. */
export interface FailedLooks {
  count: number;
  /** When the first of them failed, Unix milliseconds. */
  sinceMs: number;
  /** Why the last of them did. */
  error: unknown;
}

/** So many looks missed in a row are no accident, if each had its whole time. */
const MISSED_LOOKS = 3;

/** Whatever the time between two looks, people are told after this. */
const BLIND_AFTER_MS = 90_000;

/** A service that only says "too often" is well: others ask it too. */
const LIMITED_AFTER_MS = 180_000;

/**
 * Whether people are to be told that nobody watches: at once when the key is refused, which does not pass by itself;
 * else after three times the usual wait, or 90 s. Pure.
 */
export function isBlind({ count, sinceMs, error }: FailedLooks, nowMs: number, pollMs: number) {
  const status = error instanceof StatusError ? error.status : undefined;
  if (status === 401 || status === 403) return true;
  const forMs = nowMs - sinceMs;
  if (status === 429) return forMs >= LIMITED_AFTER_MS;
  return (
    (count >= MISSED_LOOKS && forMs >= MISSED_LOOKS * pollMs) ||
    (count > 1 && forMs >= BLIND_AFTER_MS)
  );
}

/** The document with what people are to be told while nothing is seen; the same one when they are told already. Pure. */
export function blinded(
  watching: Watching | undefined,
  { sinceMs, error }: FailedLooks,
  around: { nowMs: number; newId: () => string; places: readonly string[] },
): Watching | undefined {
  if (around.places.length === 0 || watching?.topics.some(isOpenBlindness)) return watching;
  const id = around.newId();
  const blindness: Blindness = {
    kind: 'blindness',
    id,
    version: 1,
    openedAtMs: around.nowMs,
    deliveries: [...new Set(around.places)].map((place) => newDelivery(place, id)),
    startedAtMs: sinceMs,
    why: explainOutage(error, 'monitoring service') ?? 'Something went wrong within Askwatch.',
  };
  // Nothing was seen yet, so the first look is still to be learnt from in silence.
  const before = watching ?? { known: [], learnt: false, shortLooks: 0, topics: [] };
  return { ...before, topics: [...before.topics, blindness] };
}

/** The topics after a good look: whoever was told of a blindness, or may have been, is told that it is over. Pure. */
export function seesAgain(topics: Topic[], nowMs: number): Topic[] {
  if (!topics.some(isOpenBlindness)) return topics;
  return topics.flatMap((topic): Topic[] => {
    if (!isOpenBlindness(topic)) return [topic];
    const deliveries = topic.deliveries.filter(({ attempted }) => attempted);
    if (deliveries.length === 0) return [];
    const endedAtMs = Math.max(nowMs, topic.startedAtMs);
    return [{ ...topic, deliveries, version: topic.version + 1, endedAtMs }];
  });
}

function isOpenBlindness(topic: Topic): topic is Blindness {
  return topic.kind === 'blindness' && topic.endedAtMs === undefined;
}
