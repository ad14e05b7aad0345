import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { type Cursor, ID_BYTES, parseCursor, writeCursor } from './changes-cursor.ts';

/** Changes that are kept: who asks for older ones takes the list. A hundred thousand take some 2 MB. */
const KEPT_COUNT = 100_000;

/** Monitors in one answer; who would have more of them takes the list, which costs no more than that. */
export const MAX_CHANGED = 10_000;

/** So much may the clock of the database be set back, or that of one which takes its place be behind. */
const OVERLAP_MS = 30_000;

/** Marks that are kept. Of those closer together than a part of the overlap one is enough. */
const MARKS = { count: 1_000, partOfOverlap: 30 };

/** A moment before a process catches up with what all have stored. */
export interface Mark {
  /** Changes that it had learned of by then. */
  number: number;
  /** Unix time by the clock of the store, read after that; absent where nobody shares it. */
  atMs?: number;
}

/** What has changed since a cursor, and what is needed for the next one. */
export interface Changed {
  ids: ReadonlySet<string>;
  /** Changes that this process has learned of. */
  number: number;
}

/** Which of the monitors are listed otherwise than they were. */
export type ChangeLog = ReturnType<typeof createChangeLog>;

/**
 * Numbers what this process learns of the monitors, in the order in which it does. Nothing of it is stored: what a process shows
 * is what the store had when it last caught up, so whoever has asked it knows that, and needs what it learned after.
 *
 * Asked with a cursor of its own, it tells what it has numbered since: nothing is missing, whenever that was committed.
 *
 * A cursor of another process holds the time at which that one began to catch up: it knew all that was committed by then. What
 * it did not know was committed later, so this process has learned of it later than that, too: after each of its own marks whose
 * time is earlier, for the number of a mark is taken before its time is asked for. It tells what it has numbered since the last
 * such mark; the overlap is for a clock that is set back. Where it has none, since it has just started, it tells nothing.
 *
 * Both rest on this: what is shown is in the store. The exceptions, states that could not be written and removals that are
 * under way, are told with cursors that no other process takes, to everybody who comes with a cursor of another process, and
 * once more when they end.
 */
export function createChangeLog({
  storeId = randomBytes(ID_BYTES).toString('hex'),
  sharedNowMs,
  overlapMs = OVERLAP_MS,
}: {
  storeId?: string;
  sharedNowMs?: (() => Promise<number>) | undefined;
  /** One at least, since times are whole milliseconds. */
  overlapMs?: number | undefined;
} = {}) {
  const process = randomBytes(ID_BYTES).toString('hex');
  const unstored = new Set<string>();
  /** The number of the last change that began or ended not to be in the store. */
  let unstoredNumber = 0;
  /** The newest changes; the last one has the number `number`. */
  const kept: string[] = [];
  let number = 0;
  const marks: Array<Required<Mark>> = [];

  function note(id: string) {
    number += 1;
    if (kept.push(id) >= 2 * KEPT_COUNT) kept.splice(0, KEPT_COUNT);
  }

  /** The number after which another process cannot have known what this one has learned. */
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
    /** A monitor is listed otherwise than before, is new, or is gone. */
    note,
    /** A monitor is, or is no longer, shown otherwise than it is stored. */
    setUnstored(id: string, isUnstored: boolean): void {
      if (unstored.has(id) === isUnstored) return;
      if (isUnstored) unstored.add(id);
      else unstored.delete(id);
      note(id);
      unstoredNumber = number;
    },
    /** Take it before catching up: what is answered afterwards has all that was stored at its time. */
    async mark(): Promise<Mark> {
      if (!sharedNowMs) return { number };
      const learned = number;
      const mark = { number: learned, atMs: await sharedNowMs() };
      const last = marks.at(-1);
      if (!last || Math.abs(mark.atMs - last.atMs) >= overlapMs / MARKS.partOfOverlap)
        marks.push(mark);
      if (marks.length > MARKS.count) marks.shift();
      return mark;
    },
    /** How many changes this process has learned of. */
    number: () => number,
    /**
     * The monitors that may be listed otherwise than whoever has this cursor knows; `undefined` when that cannot be told, since
     * it is too old, of another service or none, or when they are too many.
     */
    since(text: string): Changed | undefined {
      const cursor = parseCursor(text);
      if (cursor?.store !== storeId) return undefined;
      const isOwn = cursor.process === process;
      const start = isOwn ? cursor.number : startFor(cursor);
      const ids = start === undefined ? start : idsAfter(start);
      if (!isOwn) for (const id of unstored) ids?.add(id);
      return ids === undefined || ids.size > MAX_CHANGED ? undefined : { ids, number };
    },
    /**
     * The cursor of an answer that has all changes up to a number, once it is written: what was shown meanwhile counts. `mark` was
     * taken before this process caught up for it.
     */
    cursor(upTo: number, { atMs }: Mark): string {
      const isStored = unstored.size === 0 && unstoredNumber <= upTo;
      return writeCursor({
        ...{ store: storeId, process, number: upTo },
        ...(isStored && atMs !== undefined && { atMs }),
      });
    },
  };
}

const StoreId = z.object({ id: z.string().regex(/^[0-9a-f]{16}$/) });

/** Opens the log of what a store has; where several processes share that, all of them have its id. */
export async function openChangeLog(
  store: Store,
  options: { overlapMs?: number | undefined } = {},
): Promise<ChangeLog> {
  const { sharedNowMs } = store;
  if (!sharedNowMs) return createChangeLog();
  const collection = store.collection<z.infer<typeof StoreId>>({
    name: 'monitor-changes',
    schema: StoreId,
    version: 1,
    whenCorrupt: 'forget',
  });
  const made = { id: randomBytes(ID_BYTES).toString('hex') };
  const stored = await collection.update('store', (current) => current ?? made);
  return createChangeLog({ storeId: (stored ?? made).id, sharedNowMs, ...options });
}
