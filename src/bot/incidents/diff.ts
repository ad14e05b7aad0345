import type { Monitor } from '../../contracts/monitoring.ts';
import { isDown } from '../shared/status.ts';
import type { Known, Watching } from './watch-state.ts';

/** What is remembered of the last look. */
export type Sight = Pick<Watching, 'known' | 'shortLooks' | 'learnt'>;

/** What a look shows that the last one did not. */
export type Change =
  /** `from` is absent for a monitor never seen before. */
  { kind: 'status'; monitor: Monitor; from?: string } | { kind: 'gone'; id: string };

/** Good looks in a row without a monitor before it counts as gone. */
const LOOKS_TO_BE_GONE = 2;

/** Looks in a row at a list that lost more than half before it is believed. */
const SHORT_LOOKS_HELD = 2;

/** How a list stands to what its look found. */
export interface Extent {
  /** It is a part of that, and says nothing about those that it leaves out. */
  isPart?: boolean;
  /** Others of the same look come after it. */
  isMore?: boolean;
}

/**
 * Compares a list with what was seen before. Until the first look ever is over, of those seen first only what is DOWN is
 * news. A monitor that is missing says nothing at first, and a list that lost more than half at once says nothing about
 * those it lost. Of the monitors in `asking`, what they changed is still to be asked, so their count stays. Gives the same
 * sight when nothing is different. Pure.
 */
export function diff(
  before: Sight = NOTHING_SEEN,
  listed: readonly Monitor[],
  asking: ReadonlySet<string> = new Set(),
  { isPart = false, isMore = false }: Extent = {},
): { sight: Sight; changes: Change[] } {
  const listedById = new Map(listed.map((monitor) => [monitor.id, monitor]));
  const shortLooks = isPart ? before.shortLooks : shortLooksAfter(before, listedById);
  const isHeld = isPart || (shortLooks > 0 && shortLooks <= SHORT_LOOKS_HELD);

  const changes: Change[] = [];
  const known: Known[] = [];
  for (const old of before.known) {
    const monitor = listedById.get(old.id);
    if (monitor) {
      listedById.delete(old.id);
      if (monitor.status !== old.status) {
        changes.push({ kind: 'status', monitor, from: old.status });
      }
      const now = seen(monitor);
      if (asking.has(old.id) && old.changes !== undefined) now.changes = old.changes;
      known.push(isSame(old, now) ? old : now);
    } else if (isHeld) {
      known.push(old);
    } else if (old.missing + 1 < LOOKS_TO_BE_GONE) {
      known.push({ ...old, missing: old.missing + 1 });
    } else {
      changes.push({ kind: 'gone', id: old.id });
    }
  }
  for (const monitor of listedById.values()) {
    known.push(seen(monitor));
    if (before.learnt || isDown(monitor)) changes.push({ kind: 'status', monitor });
  }
  const learnt = before.learnt || !isMore;
  const isAsBefore =
    learnt === before.learnt &&
    shortLooks === before.shortLooks &&
    known.length === before.known.length &&
    known.every((one, index) => one === before.known[index]);
  return { sight: isAsBefore ? before : { known, learnt, shortLooks }, changes };
}

const NOTHING_SEEN: Sight = { known: [], learnt: false, shortLooks: 0 };

/** Looks in a row, with this one, at a list that lost more than half; no more are counted than matter. */
function shortLooksAfter(before: Sight, listed: ReadonlyMap<string, Monitor>): number {
  let lost = 0;
  for (const { id } of before.known) if (!listed.has(id)) lost += 1;
  return lost > before.known.length / 2 ? Math.min(before.shortLooks + 1, SHORT_LOOKS_HELD + 1) : 0;
}

/** Whether a monitor is not as it is remembered, if it is. */
export function isNews(known: Known | undefined, monitor: Monitor): boolean {
  return known === undefined || !isSame(known, seen(monitor));
}

function seen({ id, status, status_changes: changes }: Monitor): Known {
  return { id, status, missing: 0, ...(changes !== undefined && { changes }) };
}

const isSame = (a: Known, b: Known) =>
  a.status === b.status && a.missing === b.missing && a.changes === b.changes;
