import type { Monitor } from '../../contracts/monitoring.ts';
import { type Change, type Extent, isNews, type Snapshot } from '../incidents/diff.ts';
import { isFlapping } from '../incidents/flapping.ts';
import type { MissedOutages } from '../incidents/missed-incidents.ts';
import type { Alert } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';

/** Monitors with news in one batch: what they come to is a few dozen milliseconds of work. */
const BATCH_SIZE = 500;

/** A part of what a poll found, or all of it. */
export interface Batch extends Required<Extent> {
  monitors: readonly Monitor[];
  missed: readonly MissedOutages[];
}

/**
 * Cuts a list with news of thousands of monitors into some with few, so that none takes long. The one that is no part holds
 * all that were known before, of which the parts before it leave nothing new: it says who is not listed. New monitors come
 * after it, or they would make up for those that are lost. Of either, those that are DOWN come first: whether one is alone
 * is seen only by those in its batch. Pure.
 */
export function batchesOf(
  snapshot: Snapshot | undefined,
  listed: readonly Monitor[],
  missed: readonly MissedOutages[],
  count = BATCH_SIZE,
): Batch[] {
  const known = new Map(snapshot?.known.map((one) => [one.id, one]));
  const news = listed.filter((monitor) => isNews(known.get(monitor.id), monitor));
  if (news.length <= count) return [{ monitors: listed, isPart: false, isMore: false, missed }];
  const isKnown = ({ id }: Monitor) => known.has(id);
  const whole = { monitors: listed.filter(isKnown), isPart: false, missed: [] };
  const fresh = news.filter((monitor) => !isKnown(monitor));
  const batches = [
    ...partsOf(news.filter(isKnown), missed, count),
    // Nothing is lost of nothing.
    ...(known.size > 0 ? [whole] : []),
    ...partsOf(fresh, [], count),
  ];
  return batches.map((batch, at) => ({ ...batch, isMore: at < batches.length - 1 }));
}

function* partsOf(
  monitors: readonly Monitor[],
  missed: readonly MissedOutages[],
  count: number,
): Generator<Omit<Batch, 'isMore'>> {
  const ordered = [...monitors.filter(isDown), ...monitors.filter((one) => !isDown(one))];
  for (let from = 0; from < ordered.length; from += count) {
    const part = ordered.slice(from, from + count);
    const ids = new Set(part.map(({ id }) => id));
    const own = missed.filter(({ monitor }) => ids.has(monitor.id));
    yield { monitors: part, isPart: true, missed: own };
  }
}

/**
 * The alerts that a poll may have to do with: all but outages that have no message of their own and whose monitor neither
 * changed nor flaps, of which there are thousands when everything is down. `withOthers` puts those back among what became
 * of these. Pure.
 */
export function concernedBy(
  { changes, missed }: { changes: readonly Change[]; missed: readonly MissedOutages[] },
  alerts: Alert[],
): { concerned: Alert[]; withOthers: (after: Alert[]) => Alert[] } {
  const ids = new Set(
    changes.map((change) => (change.kind === 'gone' ? change.id : change.monitor.id)),
  );
  for (const { monitor } of missed) ids.add(monitor.id);
  for (const alert of alerts) if (isFlapping(alert)) ids.add(alert.monitorId);
  const concerned = alerts.filter((alert) => isConcerned(alert, ids));
  if (concerned.length === alerts.length)
    return { concerned: alerts, withOthers: (after) => after };
  return {
    concerned,
    withOthers: (after) => (after === concerned ? alerts : amongOthers(alerts, concerned, after)),
  };
}

const isConcerned = (alert: Alert, monitors: ReadonlySet<string>) =>
  alert.kind !== 'incident' || alert.deliveries.length > 0 || monitors.has(alert.monitorId);

/** What became of some alerts, each in its place; new ones come last. */
function amongOthers(
  alerts: readonly Alert[],
  some: readonly Alert[],
  after: readonly Alert[],
): Alert[] {
  const left = new Map(after.map((alert) => [alert.id, alert]));
  const all: Alert[] = [];
  let at = 0;
  for (const alert of alerts) {
    if (alert !== some[at]) {
      all.push(alert);
      continue;
    }
    at += 1;
    const now = left.get(alert.id);
    if (now) all.push(now);
    left.delete(alert.id);
  }
  return [...all, ...left.values()];
}
