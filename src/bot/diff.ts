import type { Monitor } from '../contracts/monitoring.ts';
import { isDown } from './status.ts';
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

/**
 * Compares a list with what was seen before. At the first look ever only what is DOWN is news. A monitor that is missing
 * says nothing at first, and a list that lost more than half at once says nothing about those it lost. Of the monitors in
 * `asking`, what they changed is still to be asked, so their count stays. A part of a list says nothing about those it
 * leaves out. Gives the same sight when nothing is different. Pure.
 */
export function diff(
  before: Sight | undefined,
  listed: readonly Monitor[],
  asking: ReadonlySet<string> = new Set(),
  isPart = false,
): { sight: Sight; changes: Change[] } {
  if (!before?.learnt) {
    const changes = listed.filter(isDown).map((monitor): Change => ({ kind: 'status', monitor }));
    return { sight: { known: listed.map(seen), learnt: true, shortLooks: 0 }, changes };
  }
  const listedById = new Map(listed.map((monitor) => [monitor.id, monitor]));
  const lost = before.known.filter(({ id }) => !listedById.has(id)).length;
  const isShort = lost > before.known.length / 2;
  const counted = isShort ? Math.min(before.shortLooks + 1, SHORT_LOOKS_HELD + 1) : 0;
  const shortLooks = isPart ? before.shortLooks : counted;
  const isHeld = isPart || (isShort && shortLooks <= SHORT_LOOKS_HELD);

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
    changes.push({ kind: 'status', monitor });
  }
  const isAsBefore =
    shortLooks === before.shortLooks &&
    known.length === before.known.length &&
    known.every((one, index) => one === before.known[index]);
  return { sight: isAsBefore ? before : { known, learnt: true, shortLooks }, changes };
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
