import type { Monitor } from '../../contracts/monitoring.ts';
import { isDown } from '../shared/status.ts';
import type { KnownMonitor, Watching } from './watch-state.ts';

export type PollSnapshot = Pick<Watching, 'known' | 'shortLists' | 'isLearned'>;

/** Monitors that changed since the last poll. `undefined` stands for a removed monitor. */
export type ListedChanges = ReadonlyMap<string, Monitor | undefined>;

/** Good polls in a row that don't list a monitor before it counts as removed. */
const POLLS_TO_BE_GONE = 2;

/** Polls in a row with a list that lost more than half before it is believed. */
const SHORT_LISTS_HELD = 2;

/**
 * Lists that equal the snapshot. A list without changes is the same array at the next poll, so a poll of 100,000
 * monitors takes 1 ms instead of 115 ms.
 */
const remembered = new WeakMap<PollSnapshot['known'], readonly Monitor[]>();

/** A fast check. False if it isn't known. */
export function isRemembered(
  before: PollSnapshot | undefined,
  listed: readonly Monitor[],
): boolean {
  return (
    before?.isLearned === true && before.shortLists === 0 && remembered.get(before.known) === listed
  );
}

export interface ListExtent {
  /** Missing monitors mean nothing. */
  isPart?: boolean;
  /** More batches of the poll follow. */
  isMore?: boolean;
}

/**
 * Compares a list with the last poll. During the first poll ever, only DOWN monitors are news. A missing monitor means
 * nothing at first, and neither does a list that lost more than half. The change counts of monitors in `asking` stay as
 * they are, because their missed changes aren't known yet. Returns the same snapshot if nothing changed. Pure.
 */
export function diff(
  before: PollSnapshot = NOTHING_KNOWN,
  listed: readonly Monitor[],
  asking: ReadonlySet<string> = new Set(),
  { isPart = false, isMore = false }: ListExtent = {},
): { snapshot: PollSnapshot; changes: ListedChanges } {
  if (isRemembered(before, listed)) return { snapshot: before, changes: new Map() };
  const listedById = new Map(listed.map((monitor) => [monitor.id, monitor]));
  const shortLists = isPart ? before.shortLists : shortListsAfter(before, listedById);
  const isHeld = isPart || (shortLists > 0 && shortLists <= SHORT_LISTS_HELD);

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
    if (before.isLearned || isDown(monitor)) changes.set(monitor.id, monitor);
  }
  const isLearned = before.isLearned || !isMore;
  const isAsBefore =
    isLearned === before.isLearned &&
    shortLists === before.shortLists &&
    known.length === before.known.length &&
    known.every((one, index) => one === before.known[index]);
  if (!isAsBefore) return { snapshot: { known, isLearned, shortLists }, changes };
  if (!isPart && asking.size === 0) remembered.set(before.known, listed);
  return { snapshot: before, changes };
}

const NOTHING_KNOWN: PollSnapshot = { known: [], isLearned: false, shortLists: 0 };

/** Counted only as far as it matters. */
function shortListsAfter(before: PollSnapshot, listed: ReadonlyMap<string, Monitor>): number {
  let lost = 0;
  for (const { id } of before.known) if (!listed.has(id)) lost += 1;
  return lost > before.known.length / 2 ? Math.min(before.shortLists + 1, SHORT_LISTS_HELD + 1) : 0;
}

export function isNews(known: KnownMonitor | undefined, monitor: Monitor): boolean {
  return known === undefined || !isSame(known, knownOf(monitor));
}

function knownOf({ id, status, status_changes: changes }: Monitor): KnownMonitor {
  return { id, status, missing: 0, changes };
}

const isSame = (a: KnownMonitor, b: KnownMonitor) =>
  a.status === b.status && a.missing === b.missing && a.changes === b.changes;
