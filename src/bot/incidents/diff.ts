import type { Monitor } from '../../contracts/monitoring.ts';
import { isDown } from '../shared/status.ts';
import type { KnownMonitor, Watching } from './watch-state.ts';

/** What is remembered of the last poll. */
export type Snapshot = Pick<Watching, 'known' | 'shortLooks' | 'learnt'>;

/** The monitors of which a poll shows what the last one did not, by id; `undefined` of those that are gone. */
export type Changes = ReadonlyMap<string, Monitor | undefined>;

/** Good polls in a row without a monitor before it counts as gone. */
const POLLS_TO_BE_GONE = 2;

/** Polls in a row with a list that lost more than half before it is believed. */
const SHORT_LISTS_HELD = 2;

/**
 * Lists that were found to be just as it is remembered. Neither is ever altered, and a list of which nothing changed is the same
 * array at the next poll: then a poll of a hundred thousand monitors need not look at any.
 */
const remembered = new WeakMap<Snapshot['known'], readonly Monitor[]>();

/** Whether a list is known to be as it is remembered, without looking at it; it may be so when this is false. */
export function isRemembered(before: Snapshot | undefined, listed: readonly Monitor[]): boolean {
  return (
    before?.learnt === true && before.shortLooks === 0 && remembered.get(before.known) === listed
  );
}

/** How a list stands to what its poll found. */
export interface Extent {
  /** It is a part of that, and says nothing about those that it leaves out. */
  isPart?: boolean;
  /** Others of the same poll come after it. */
  isMore?: boolean;
}

/**
 * Compares a list with what was seen before. Until the first poll ever is over, of those seen first only what is DOWN is
 * news. A monitor that is missing says nothing at first, and a list that lost more than half at once says nothing about
 * those it lost. Of the monitors in `asking`, what they changed is still to be asked, so their count stays. Gives the same
 * snapshot when nothing is different. Pure.
 */
export function diff(
  before: Snapshot = NOTHING_KNOWN,
  listed: readonly Monitor[],
  asking: ReadonlySet<string> = new Set(),
  { isPart = false, isMore = false }: Extent = {},
): { snapshot: Snapshot; changes: Changes } {
  if (isRemembered(before, listed)) return { snapshot: before, changes: new Map() };
  const listedById = new Map(listed.map((monitor) => [monitor.id, monitor]));
  // Only a whole list says who is lost.
  const shortLooks = isPart ? before.shortLooks : shortListsAfter(before, listedById);
  const isHeld = isPart || (shortLooks > 0 && shortLooks <= SHORT_LISTS_HELD);

  const changes = new Map<string, Monitor | undefined>();
  const known: KnownMonitor[] = [];
  for (const old of before.known) {
    const monitor = listedById.get(old.id);
    if (monitor) {
      listedById.delete(old.id);
      if (monitor.status !== old.status) changes.set(old.id, monitor);
      const now = knownOf(monitor);
      if (asking.has(old.id) && old.changes !== undefined) now.changes = old.changes;
      known.push(isSame(old, now) ? old : now);
    } else if (isHeld) {
      known.push(old);
    } else if (old.missing + 1 < POLLS_TO_BE_GONE) {
      known.push({ ...old, missing: old.missing + 1 });
    } else {
      changes.set(old.id, undefined);
    }
  }
  for (const monitor of listedById.values()) {
    known.push(knownOf(monitor));
    if (before.learnt || isDown(monitor)) changes.set(monitor.id, monitor);
  }
  const learnt = before.learnt || !isMore;
  const isAsBefore =
    learnt === before.learnt &&
    shortLooks === before.shortLooks &&
    known.length === before.known.length &&
    known.every((one, index) => one === before.known[index]);
  if (!isAsBefore) return { snapshot: { known, learnt, shortLooks }, changes };
  if (!isPart && asking.size === 0) remembered.set(before.known, listed);
  return { snapshot: before, changes };
}

const NOTHING_KNOWN: Snapshot = { known: [], learnt: false, shortLooks: 0 };

/** Polls in a row, with this one, with a list that lost more than half; no more are counted than matter. */
function shortListsAfter(before: Snapshot, listed: ReadonlyMap<string, Monitor>): number {
  let lost = 0;
  for (const { id } of before.known) if (!listed.has(id)) lost += 1;
  return lost > before.known.length / 2 ? Math.min(before.shortLooks + 1, SHORT_LISTS_HELD + 1) : 0;
}

/** Whether a monitor is not as it is remembered, if it is. */
export function isNews(known: KnownMonitor | undefined, monitor: Monitor): boolean {
  return known === undefined || !isSame(known, knownOf(monitor));
}

function knownOf({ id, status, status_changes: changes }: Monitor): KnownMonitor {
  return { id, status, missing: 0, ...(changes !== undefined && { changes }) };
}

const isSame = (a: KnownMonitor, b: KnownMonitor) =>
  a.status === b.status && a.missing === b.missing && a.changes === b.changes;
