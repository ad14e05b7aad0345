import type { Monitor } from '../contracts/monitoring.ts';
import type { Missed } from './between-looks.ts';
import { isNews, type Sight } from './diff.ts';
import type { Topic } from './watch-state.ts';

/** Monitors with news in one slice: what they come to is a few dozen milliseconds of work. */
const SLICE_COUNT = 500;

/** A part of what a look found, or all of it. */
export interface Slice {
  monitors: readonly Monitor[];
  /** It says nothing about those that it does not list. */
  isPart: boolean;
  missed: readonly Missed[];
}

/**
 * Cuts a list with news of thousands of monitors into some with few, so that none takes long. The one that is no part holds
 * all that were known before, of which the parts before it leave nothing new: it says who is not listed. New monitors come
 * after it, or they would make up for those that are lost. The first list ever is no news. Pure.
 */
export function slicesOf(
  sight: Sight | undefined,
  listed: readonly Monitor[],
  missed: readonly Missed[],
  count = SLICE_COUNT,
): Slice[] {
  if (!sight?.learnt) return [{ monitors: listed, isPart: false, missed }];
  const known = new Map(sight.known.map((one) => [one.id, one]));
  const news = listed.filter((monitor) => isNews(known.get(monitor.id), monitor));
  if (news.length <= count) return [{ monitors: listed, isPart: false, missed }];
  const isKnown = ({ id }: Monitor) => known.has(id);
  const whole: Slice = { monitors: listed.filter(isKnown), isPart: false, missed: [] };
  const fresh = news.filter((monitor) => !isKnown(monitor));
  return [...partsOf(news.filter(isKnown), missed, count), whole, ...partsOf(fresh, [], count)];
}

function* partsOf(
  monitors: readonly Monitor[],
  missed: readonly Missed[],
  count: number,
): Generator<Slice> {
  for (let from = 0; from < monitors.length; from += count) {
    const part = monitors.slice(from, from + count);
    const ids = new Set(part.map(({ id }) => id));
    const own = missed.filter(({ monitor }) => ids.has(monitor.id));
    yield { monitors: part, isPart: true, missed: own };
  }
}

/**
 * The topics that a part of a list may have to do with: all but outages of other monitors that have no message of their own,
 * of which there are thousands when everything is down. `withOthers` puts those back among what became of these. Pure.
 */
export function concernedBy(
  monitors: readonly Monitor[],
  topics: Topic[],
): { concerned: Topic[]; withOthers: (after: Topic[]) => Topic[] } {
  const ids = new Set(monitors.map(({ id }) => id));
  const isOther = (topic: Topic) =>
    topic.kind === 'incident' &&
    topic.deliveries.length === 0 &&
    topic.flapping === undefined &&
    !ids.has(topic.monitorId);
  const concerned = topics.filter((topic) => !isOther(topic));
  return {
    concerned,
    withOthers(after) {
      if (after === concerned) return topics;
      const left = new Map(after.map((topic) => [topic.id, topic]));
      const all: Topic[] = [];
      for (const topic of topics) {
        const now = isOther(topic) ? topic : left.get(topic.id);
        if (now) all.push(now);
        left.delete(topic.id);
      }
      return [...all, ...left.values()];
    },
  };
}
