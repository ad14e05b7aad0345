import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { type Cursor, ID_DIGITS, parseCursor, writeCursor } from './changes-cursor.ts';

/** Changes that are kept, in some 2 MB. Readers of older ones read the whole list. */
const KEPT_COUNT = 100_000;

/** Monitors in one answer. Readers of more read the whole list, which costs no more. */
export const MAX_CHANGED = 10_000;

/** The clock of the database, or of its replacement, may be set back by this much. */
const OVERLAP_MS = 30_000;

/** Number of marks that are kept. Marks need not be closer together than a fraction of the overlap. */
const MARKS = { count: 1_000, partOfOverlap: 30 };

/** A moment before a process catches up with the store. */
export interface Mark {
  /** Number of the last change known by then. */
  number: number;
  /** Unix time by the store's clock, read afterwards; absent if only this process uses the store. */
  atMs?: number;
}

export interface ChangedMonitors {
  ids: ReadonlySet<string>;
  /** Number of the last change known here. */
  number: number;
}

export type ChangeLog = ReturnType<typeof createChangeLog>;

/**
 * Numbers changes to monitors in the order in which this process learns of them. The numbers aren't stored: a process shows the
 * store as of its last catch-up, so a reader of its list needs only the changes it learned of afterwards.
 *
 * A reader with a cursor of this process gets everything numbered since. Nothing can be missing.
 *
 * A cursor of another process holds the time at which that process began to catch up, so it knew everything committed by then.
 * Later commits reached this process after each of its own marks with an earlier time, because a mark takes its number before it
 * reads the time. So the reader gets everything numbered since the last such mark. The overlap allows for a clock that is set
 * back. A process that has just started has no such mark and returns nothing.
 *
 * Both require that everything shown is in the store. Exceptions are states that could not be written and removals in progress.
 * As long as there are any, cursors are valid for this process only, and readers with another process's cursor get these monitors
 * every time, and once more when the exception ends.
 */
export function createChangeLog({
  storeId = newId(),
  sharedNowMs,
  overlapMs = OVERLAP_MS,
}: {
  storeId?: string;
  sharedNowMs?: () => Promise<number>;
  /** At least 1, since times are whole milliseconds. */
  overlapMs?: number;
} = {}) {
  const process = newId();
  const unstored = new Set<string>();
  /** The number of the last change to `unstored`. */
  let unstoredNumber = 0;
  /** The newest changes, up to the one with the number `number`. */
  const kept: string[] = [];
  let number = 0;
  const marks: Array<Required<Mark>> = [];

  function note(id: string) {
    number += 1;
    if (kept.push(id) >= 2 * KEPT_COUNT) kept.splice(0, KEPT_COUNT);
  }

  /** The first changes that the process of the cursor may not have known come after this number. */
  function startFor({ atMs }: Cursor): number | undefined {
    if (atMs === undefined) return undefined;
    return marks.findLast((mark) => mark.atMs <= atMs - overlapMs)?.number;
  }

  function idsAfter(start: number): Set<string> | undefined {
    const first = kept.length - (number - start);
    if (first < 0 || start > number) return undefined;
    const ids = new Set<string>();
    for (let at = first; at < kept.length && ids.size <= MAX_CHANGED; at += 1) {
      ids.add(kept[at] as string);
    }
    return ids;
  }

  return {
    /** A monitor is new or removed, or differs in the list. */
    note,
    /** The shown monitor differs, or no longer differs, from the stored one. */
    setUnstored(id: string, isUnstored: boolean): void {
      if (unstored.has(id) === isUnstored) return;
      if (isUnstored) unstored.add(id);
      else unstored.delete(id);
      note(id);
      unstoredNumber = number;
    },
    /** Call it before catching up, so that an answer contains everything stored at the mark's time. */
    async mark(): Promise<Mark> {
      if (!sharedNowMs) return { number };
      const numberBefore = number;
      const mark = { number: numberBefore, atMs: await sharedNowMs() };
      const last = marks.at(-1);
      if (!last || Math.abs(mark.atMs - last.atMs) >= overlapMs / MARKS.partOfOverlap)
        marks.push(mark);
      if (marks.length > MARKS.count) marks.shift();
      return mark;
    },
    number: () => number,
    /**
     * The monitors that may have changed since the cursor; `undefined` if there are too many, or if the cursor is invalid, too old
     * or from another service.
     */
    since(text: string): ChangedMonitors | undefined {
      const cursor = parseCursor(text);
      if (cursor?.store !== storeId) return undefined;
      const isOwn = cursor.process === process;
      const start = isOwn ? cursor.number : startFor(cursor);
      const ids = start === undefined ? start : idsAfter(start);
      if (!isOwn) for (const id of unstored) ids?.add(id);
      return ids === undefined || ids.size > MAX_CHANGED ? undefined : { ids, number };
    },
    /**
     * The cursor of an answer with all changes up to a number. Call it after the answer is written, since a monitor may be shown
     * before it is stored. `mark` was taken before this process caught up for the answer.
     */
    cursor(upTo: number, { atMs }: Mark): string {
      const isStored = unstored.size === 0 && unstoredNumber <= upTo;
      return writeCursor({
        store: storeId,
        process,
        number: upTo,
        atMs: isStored ? atMs : undefined,
      });
    },
  };
}

const StoreId = z.object({ id: z.string().regex(/^[0-9a-f]{16}$/) });

/** Opens the log of a store's changes; all processes that share the store know its ID. */
export async function openChangeLog(
  store: Store,
  options: { overlapMs?: number } = {},
): Promise<ChangeLog> {
  const { sharedNowMs } = store;
  if (!sharedNowMs) return createChangeLog();
  const collection = store.collection<z.infer<typeof StoreId>>({
    name: 'monitor-changes',
    schema: StoreId,
    version: 1,
    whenCorrupt: 'forget',
  });
  const created = { id: newId() };
  const stored = await collection.update('store', (current) => current ?? created);
  return createChangeLog({ storeId: (stored ?? created).id, sharedNowMs, ...options });
}

const newId = () => randomBytes(ID_DIGITS / 2).toString('hex');
