import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import {
  EntryText,
  entriesFromText,
  entriesToText,
  type HistoryEntry,
  isResult,
} from './result-record.ts';
import { tallyFromText, tallyToText } from './tally-text.ts';
import { addTallies, gather, type StatusSince, type Tally } from './uptime-accounting.ts';

const HOURS_KEPT_MS = 90 * DAY_MS;
const DAYS_KEPT_MS = 400 * DAY_MS;

/** Hours in the small document before they move to the large one. */
const NEW_HOURS_COUNT = 24;

/** Newest results that are stored with the hours, for monitors that are rarely checked: a start reads only the last hours. */
const NEWEST_COUNT = 20;

const NEWEST_ENTRIES_COUNT = 40;

/** Tallies in the format of `tally-text.ts`, separated by `;`. */
const RollupText = z.string().regex(/^[\d.,;]*$/);

const StoredRollups = z.object({
  /** Every earlier hour is in here, or wasn't monitored. */
  finalMs: z.int(),
  /** The status at `finalMs`. */
  last: z
    .object({
      atMs: z.int(),
      worthMs: z.int(),
      as: z.enum(['up', 'down', 'unseen', 'unconfirmed']),
    })
    .optional(),
  hours: RollupText,
  /** UTC days of all hours that were ever in here. */
  days: RollupText,
  /** The newest entries before `finalMs`, without the monitor's name; absent if memory had none left. */
  newest: EntryText.optional(),
});
type StoredRollups = z.infer<typeof StoredRollups>;

const NOTHING: StoredRollups = { finalMs: 0, hours: '', days: '' };

/** The end of the stored hours, where counting continues. */
interface CountingStart {
  finalMs: number;
  last: StatusSince | undefined;
  /** The newest entries before `finalMs`, oldest first; with `isAll` there never were others. */
  newest: { entries: HistoryEntry[]; isAll: boolean };
}

export interface ClosedHours {
  finalMs: number;
  last: StatusSince | undefined;
  hours: Tally[];
  /** The newest entries of these hours, oldest first. */
  entries: readonly HistoryEntry[];
}

const CACHED_DAYS_COUNT = 90;

/** The stored days of a monitor, without the hours from `finalMs` on. */
interface StoredDays {
  finalMs: number;
  /** Three numbers a day: days since 1970, milliseconds up and down. Objects would take five times the memory. */
  rows: Int32Array;
}

export type Rollups = ReturnType<typeof openRollups>;

/**
 * Opens `monitor-rollups`, the stored hours and days. A monitor has two documents: the newest hours in a small one, which is written
 * each hour, and the rest in a large one, which is written each day.
 */
export function openRollups(store: Store, isForgotten: (monitor: string) => boolean) {
  const collection = store.collection({
    name: 'monitor-rollups',
    schema: StoredRollups,
    version: 1,
    // A new hour must not be refused because old ones can't be read.
    whenCorrupt: 'forget',
  });
  const oldOf = (monitor: string) => `${monitor}/old`;
  /** About 1 KB each. Reading ten thousand documents would take seconds each time. */
  const cachedDays = new Map<string, Promise<StoredDays>>();

  async function moveToOld(monitor: string, recent: StoredRollups) {
    const moved = talliesFromText(recent.hours, HOUR_MS);
    const old = await collection.update(oldOf(monitor), (kept = NOTHING) =>
      isForgotten(monitor) ? undefined : withHours(kept, moved, recent.finalMs),
    );
    await collection.update(monitor, (kept) =>
      kept && old && kept.finalMs <= old.finalMs ? { ...kept, hours: '' } : kept,
    );
  }

  async function readBoth(monitor: string) {
    // In this order, hours that move in the meantime are in both, as after a crash between the two writes.
    const recent = (await collection.get(monitor)) ?? NOTHING;
    const old = (await collection.get(oldOf(monitor))) ?? NOTHING;
    const newHours = since(talliesFromText(recent.hours, HOUR_MS), old.finalMs);
    return { old, newHours, finalMs: Math.max(recent.finalMs, old.finalMs) };
  }

  /** Doesn't parse the older hours, which would be most of the work. */
  async function readDays(monitor: string): Promise<StoredDays> {
    const { old, newHours, finalMs } = await readBoth(monitor);
    const rows = daysOf(old, newHours, finalMs)
      .slice(-CACHED_DAYS_COUNT)
      .flatMap(({ startMs, upMs, downMs }) => [startMs / DAY_MS, upMs, downMs]);
    return { finalMs, rows: Int32Array.from(rows) };
  }

  return {
    async begin(monitor: string): Promise<CountingStart> {
      const kept = (await collection.get(monitor)) ?? NOTHING;
      const { finalMs, last } = kept;
      const entries = newestOf(monitor, kept);
      const isFull =
        entries.filter(isResult).length >= NEWEST_COUNT || entries.length >= NEWEST_ENTRIES_COUNT;
      const isAll = kept === NOTHING || (kept.newest !== undefined && !isFull);
      return { finalMs, last, newest: { entries, isAll } };
    },
    /** Stores all hours up to `finalMs`. Hours that are already stored don't change. */
    async add(monitor: string, closed: ClosedHours): Promise<void> {
      const { finalMs, last, hours, entries } = closed;
      const stored = await collection.update(monitor, (kept = NOTHING) => {
        if (isForgotten(monitor)) return undefined;
        if (finalMs <= kept.finalMs) return kept;
        const added = since(hours, kept.finalMs).filter(wasObserved);
        const all = [...talliesFromText(kept.hours, HOUR_MS), ...added];
        const newest = withEntries(kept.newest, entries);
        return { finalMs, last, hours: talliesToText(all, HOUR_MS), days: '', newest };
      });
      if (stored && stored.hours.split(';').length >= NEW_HOURS_COUNT) {
        await moveToOld(monitor, stored);
      }
      // Afterwards, because until this resolves readers find these hours in memory.
      cachedDays.delete(monitor);
    },
    /** Everything stored, oldest first, without the hours from `finalMs` on. */
    async read(monitor: string): Promise<{ hours: Tally[]; days: Tally[]; finalMs: number }> {
      const { old, newHours, finalMs } = await readBoth(monitor);
      const hours = [...talliesFromText(old.hours, HOUR_MS), ...newHours];
      return {
        hours: since(hours, finalMs - HOURS_KEPT_MS),
        days: daysOf(old, newHours, finalMs),
        finalMs,
      };
    },
    /** The newest days. They stay in memory until another process has stored hours up to a later `storedMs`. */
    async days(monitor: string, storedMs = 0): Promise<StoredDays> {
      const cached = cachedDays.get(monitor);
      if (cached && (await cached).finalMs >= storedMs) return await cached;
      const reading = readDays(monitor);
      if (isForgotten(monitor)) return await reading;
      cachedDays.set(monitor, reading);
      reading.catch(() => cachedDays.delete(monitor));
      return await reading;
    },
    /** The newest 20 results of stored hours, oldest first. */
    async newest(monitor: string): Promise<HistoryEntry[]> {
      const kept = (await collection.get(monitor)) ?? NOTHING;
      return newestOf(monitor, kept).filter(isResult);
    },
    async forget(monitor: string): Promise<void> {
      await Promise.all([
        collection.update(monitor, () => undefined),
        collection.update(oldOf(monitor), () => undefined),
      ]);
      cachedDays.delete(monitor);
    },
  };
}

export function wasObserved({ checks, upMs, downMs }: Tally): boolean {
  return checks > 0 || upMs > 0 || downMs > 0;
}

/** Joins two lists of tallies of the same length, oldest first: the second continues where the first ends. */
export function merge(before: readonly Tally[], after: readonly Tally[]): Tally[] {
  const last = before.at(-1);
  const [first, ...rest] = after;
  if (last && first && last.startMs === first.startMs) {
    return [...before.slice(0, -1), addTallies(last, first), ...rest];
  }
  return [...before, ...after];
}

function daysOf(old: StoredRollups, newHours: readonly Tally[], finalMs: number): Tally[] {
  const days = merge(talliesFromText(old.days, DAY_MS), gather(newHours, DAY_MS));
  return since(days, finalMs - DAYS_KEPT_MS);
}

/** Moves hours into the large document, and drops what is too old. */
function withHours(kept: StoredRollups, hours: readonly Tally[], finalMs: number): StoredRollups {
  const added = since(hours, kept.finalMs);
  const all = [...talliesFromText(kept.hours, HOUR_MS), ...added];
  return {
    finalMs,
    hours: talliesToText(since(all, finalMs - HOURS_KEPT_MS), HOUR_MS),
    days: talliesToText(daysOf(kept, added, finalMs), DAY_MS),
  };
}

function withEntries(
  kept: EntryText | undefined,
  entries: readonly HistoryEntry[],
): EntryText | undefined {
  const [first] = entries;
  if (!first) return kept;
  const before = kept ? entriesFromText(kept).filter(({ atMs }) => atMs < first.atMs) : [];
  const all = [...before, ...entries].slice(-NEWEST_ENTRIES_COUNT);
  const results = all.filter(isResult);
  const oldest = results[results.length - NEWEST_COUNT];
  const newest = oldest ? all.slice(all.indexOf(oldest)) : all;
  return entriesToText(newest.map((entry) => ({ ...entry, monitor: '' })));
}

const newestOf = (monitor: string, { newest }: StoredRollups): HistoryEntry[] =>
  newest ? entriesFromText(newest).map((entry) => ({ ...entry, monitor })) : [];

function since(tallies: readonly Tally[], fromMs: number): Tally[] {
  return tallies.filter(({ startMs }) => startMs >= fromMs);
}

function talliesToText(tallies: readonly Tally[], lengthMs: number): string {
  return tallies.map((tally) => tallyToText(tally, lengthMs)).join(';');
}

/** Throws if the text isn't valid, though its checksum has already been verified. */
function talliesFromText(text: string, lengthMs: number): Tally[] {
  if (text === '') return [];
  return text.split(';').map((row) => {
    const tally = tallyFromText(row, lengthMs);
    if (!tally) throw new Error(`'${row}' is not an hour or day of results.`);
    return tally;
  });
}
