import type { Monitor } from '../../contracts/monitoring.ts';
import { type Change, type Extent, isNews, type Sight } from '../incidents/diff.ts';
import { isFlapping } from '../incidents/flapping.ts';
import type { Missed } from '../incidents/missed-incidents.ts';
import type { Topic } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';

/** Monitors with news in one slice: what they come to is a few dozen milliseconds of work. */
const SLICE_COUNT = 500;

/** A part of what a look found, or all of it. */
export interface Slice extends Required<Extent> {
  monitors: readonly Monitor[];
  missed: readonly Missed[];
}

/**
 * Cuts a list with news of thousands of monitors into some with few, so that none takes long. The one that is no part holds
 * all that were known before, of which the parts before it leave nothing new: it says who is not listed. New monitors come
 * after it, or they would make up for those that are lost. Of either, those that are DOWN come first: whether one is alone
 * is seen only by those in its slice. Pure.
 */
export function slicesOf(
  sight: Sight | undefined,
  listed: readonly Monitor[],
  missed: readonly Missed[],
  count = SLICE_COUNT,
): Slice[] {
  const known = new Map(sight?.known.map((one) => [one.id, one]));
  const news = listed.filter((monitor) => isNews(known.get(monitor.id), monitor));
  if (news.length <= count) return [{ monitors: listed, isPart: false, isMore: false, missed }];
  const isKnown = ({ id }: Monitor) => known.has(id);
  const whole = { monitors: listed.filter(isKnown), isPart: false, missed: [] };
  const fresh = news.filter((monitor) => !isKnown(monitor));
  const slices = [
    ...partsOf(news.filter(isKnown), missed, count),
    // Nothing is lost of nothing.
    ...(known.size > 0 ? [whole] : []),
    ...partsOf(fresh, [], count),
  ];
  return slices.map((slice, at) => ({ ...slice, isMore: at < slices.length - 1 }));
}

function* partsOf(
  monitors: readonly Monitor[],
  missed: readonly Missed[],
  count: number,
): Generator<Omit<Slice, 'isMore'>> {
  const ordered = [...monitors.filter(isDown), ...monitors.filter((one) => !isDown(one))];
  for (let from = 0; from < ordered.length; from += count) {
    const part = ordered.slice(from, from + count);
    const ids = new Set(part.map(({ id }) => id));
    const own = missed.filter(({ monitor }) => ids.has(monitor.id));
    yield { monitors: part, isPart: true, missed: own };
  }
}

/**
 * The topics that a look may have to do with: all but outages that have no message of their own and whose monitor neither
 * changed nor flaps, of which there are thousands when everything is down. `withOthers` puts those back among what became
 * of these. Pure.
 */
export function concernedBy(
  { changes, missed }: { changes: readonly Change[]; missed: readonly Missed[] },
  topics: Topic[],
): { concerned: Topic[]; withOthers: (after: Topic[]) => Topic[] } {
  const ids = new Set(
    changes.map((change) => (change.kind === 'gone' ? change.id : change.monitor.id)),
  );
  for (const { monitor } of missed) ids.add(monitor.id);
  for (const topic of topics) if (isFlapping(topic)) ids.add(topic.monitorId);
  const concerned = topics.filter((topic) => isConcerned(topic, ids));
  if (concerned.length === topics.length)
    return { concerned: topics, withOthers: (after) => after };
  return {
    concerned,
    withOthers: (after) => (after === concerned ? topics : amongOthers(topics, concerned, after)),
  };
}

const isConcerned = (topic: Topic, monitors: ReadonlySet<string>) =>
  topic.kind !== 'incident' || topic.deliveries.length > 0 || monitors.has(topic.monitorId);

/** What became of some topics, each in its place; new ones come last. */
function amongOthers(
  topics: readonly Topic[],
  some: readonly Topic[],
  after: readonly Topic[],
): Topic[] {
  const left = new Map(after.map((topic) => [topic.id, topic]));
  const all: Topic[] = [];
  let at = 0;
  for (const topic of topics) {
    if (topic !== some[at]) {
      all.push(topic);
      continue;
    }
    at += 1;
    const now = left.get(topic.id);
    if (now) all.push(now);
    left.delete(topic.id);
  }
  return [...all, ...left.values()];
}
