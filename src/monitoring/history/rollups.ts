import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import {
  type Entry,
  EntryText,
  entriesFromText,
  entriesToText,
  isResult,
} from './result-record.ts';
import { tallyFromText, tallyToText } from './tally-text.ts';
import { addTallies, gather, type Snapshot, type Tally } from './uptime-accounting.ts';

/** How long hours and days of a monitor are kept. */
const HOURS_KEPT_MS = 90 * DAY_MS;
const DAYS_KEPT_MS = 400 * DAY_MS;

/** Hours in the document that is written each hour, before they go to the one that is written once a day. */
const NEW_HOURS_COUNT = 24;

/** Newest results that are stored with the hours, of monitors that are seldom checked: a start reads back only hours. */
const NEWEST_COUNT = 20;

/** The same with what else is stored between them. */
const NEWEST_ENTRIES_COUNT = 40;

/** Tallies as `tally-text.ts` writes them, with `;` between. */
const RollupText = z.string().regex(/^[\d.,;]*$/);

const Kept = z.object({
  /** Every hour before is in here, or was not seen. */
  finalMs: z.int(),
  /** What the time after `finalMs` begins with. */
  last: z
    .object({
      atMs: z.int(),
      worthMs: z.int(),
      as: z.enum(['up', 'down', 'unseen', 'unconfirmed']),
    })
    .optional(),
  hours: RollupText,
  /** UTC days, of the hours that have been in here. */
  days: RollupText,
  /** The newest entries before `finalMs`, without the monitor in each; version 0.1 kept none. */
  newest: EntryText.optional(),
});
type Kept = z.infer<typeof Kept>;

const NOTHING: Kept = { finalMs: 0, hours: '', days: '' };

/** Where counting a monitor goes on. */
interface Begin {
  finalMs: number;
  /** What the time after `finalMs` begins with. */
  last: Snapshot | undefined;
  /** The newest entries before `finalMs`, oldest first, and whether it is known that there never were others. */
  newest: { entries: Entry[]; isAll: boolean };
}

/** Hours of a monitor that are over. */
export interface ClosedHours {
  finalMs: number;
  last: Snapshot | undefined;
  hours: Tally[];
  /** Of these hours the newest entries, oldest first. */
  entries: readonly Entry[];
}

/** Days of a monitor that are remembered. */
const CACHED_DAYS_COUNT = 90;

/** The stored days of a monitor; hours from `finalMs` on are still to come. */
interface StoredDays {
  finalMs: number;
  /** For each day those since 1970, and milliseconds up and down: ninety days as objects would take five times the memory. */
  rows: Int32Array;
}

/** Hours and days of monitors, as stored. */
export type Rollups = ReturnType<typeof openRollups>;

/**
 * Opens `monitor-rollups`. A monitor has two documents: the newest hours in a small one, which is written each hour, and
 * the rest in a large one, which is written each day.
 */
export function openRollups(store: Store, isForgotten: (monitor: string) => boolean) {
  const collection = store.collection({
    name: 'monitor-rollups',
    schema: Kept,
    version: 1,
    // A new hour must not be refused because old ones cannot be read.
    whenCorrupt: 'forget',
  });
  const oldOf = (monitor: string) => `${monitor}/old`;
  /** About 1 KB each: ten thousand documents would take seconds to read each time. */
  const cachedDays = new Map<string, Promise<StoredDays>>();

  async function moveToOld(monitor: string, recent: Kept) {
    const moved = talliesFromText(recent.hours, HOUR_MS);
    const old = await collection.update(oldOf(monitor), (kept = NOTHING) =>
      isForgotten(monitor) ? undefined : withHours(kept, moved, recent.finalMs),
    );
    await collection.update(monitor, (kept) =>
      kept && old && kept.finalMs <= old.finalMs ? { ...kept, hours: '' } : kept,
    );
  }

  async function readBoth(monitor: string) {
    // In this order: hours that move meanwhile are then in both, as after a crash between the two writes.
    const recent = (await collection.get(monitor)) ?? NOTHING;
    const old = (await collection.get(oldOf(monitor))) ?? NOTHING;
    const newHours = since(talliesFromText(recent.hours, HOUR_MS), old.finalMs);
    return { old, newHours, finalMs: Math.max(recent.finalMs, old.finalMs) };
  }

  /** Hours before the newest are not read through, which is most of the work. */
  async function readDays(monitor: string): Promise<StoredDays> {
    const { old, newHours, finalMs } = await readBoth(monitor);
    const rows = daysOf(old, newHours, finalMs)
      .slice(-CACHED_DAYS_COUNT)
      .flatMap(({ startMs, upMs, downMs }) => [startMs / DAY_MS, upMs, downMs]);
    return { finalMs, rows: Int32Array.from(rows) };
  }

  return {
    /** Where counting a monitor goes on, and the newest entries before that. */
    async begin(monitor: string): Promise<Begin> {
      const kept = (await collection.get(monitor)) ?? NOTHING;
      const { finalMs, last } = kept;
      const entries = newestOf(monitor, kept);
      const isFull =
        entries.filter(isResult).length >= NEWEST_COUNT || entries.length >= NEWEST_ENTRIES_COUNT;
      const isAll = kept === NOTHING || (kept.newest !== undefined && !isFull);
      return { finalMs, last, newest: { entries, isAll } };
    },
    /** Stores hours that are over: all up to `finalMs`. Hours stored before stay as they are. */
    async add(monitor: string, closed: ClosedHours): Promise<void> {
      const { finalMs, last, hours, entries } = closed;
      const stored = await collection.update(monitor, (kept = NOTHING) => {
        if (isForgotten(monitor)) return undefined;
        if (finalMs <= kept.finalMs) return kept;
        const added = since(hours, kept.finalMs).filter(wasObserved);
        const all = [...talliesFromText(kept.hours, HOUR_MS), ...added];
        const newest = withEntries(kept.newest, entries);
        return {
          finalMs,
          ...(last && { last }),
          hours: talliesToText(all, HOUR_MS),
          days: '',
          ...(newest && { newest }),
        };
      });
      if (stored && stored.hours.split(';').length >= NEW_HOURS_COUNT) {
        await moveToOld(monitor, stored);
      }
      // After it: whoever has read before has seen these hours in memory, where they are until this resolves.
      cachedDays.delete(monitor);
    },
    /** All that is stored, oldest first; hours from `finalMs` on are still to come, and so is the rest of the last day. */
    async read(monitor: string): Promise<{ hours: Tally[]; days: Tally[]; finalMs: number }> {
      const { old, newHours, finalMs } = await readBoth(monitor);
      const hours = [...talliesFromText(old.hours, HOUR_MS), ...newHours];
      return {
        hours: since(hours, finalMs - HOURS_KEPT_MS),
        days: daysOf(old, newHours, finalMs),
        finalMs,
      };
    },
    /**
     * The newest days alone; those of monitors that were asked for stay in memory, until another process has stored hours
     * up to `storedMs`.
     */
    async days(monitor: string, storedMs = 0): Promise<StoredDays> {
      const before = cachedDays.get(monitor);
      if (before && (await before).finalMs >= storedMs) return await before;
      const reading = readDays(monitor);
      if (isForgotten(monitor)) return await reading;
      cachedDays.set(monitor, reading);
      reading.catch(() => cachedDays.delete(monitor));
      return await reading;
    },
    /** The newest 20 results of hours that are stored, oldest first. */
    async newest(monitor: string): Promise<Entry[]> {
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

/** Whether a tally tells anything. */
export function wasObserved({ checks, upMs, downMs }: Tally): boolean {
  return checks > 0 || upMs > 0 || downMs > 0;
}

/** Two lists of tallies of one length as one, oldest first: the second goes on where the first ends. */
export function merge(before: readonly Tally[], after: readonly Tally[]): Tally[] {
  const last = before.at(-1);
  const [first, ...rest] = after;
  if (last && first && last.startMs === first.startMs) {
    return [...before.slice(0, -1), addTallies(last, first), ...rest];
  }
  return [...before, ...after];
}

/** All days that are kept, of hours before those that are new as well. */
function daysOf(old: Kept, newHours: readonly Tally[], finalMs: number): Tally[] {
  const days = merge(talliesFromText(old.days, DAY_MS), gather(newHours, DAY_MS));
  return since(days, finalMs - DAYS_KEPT_MS);
}

/** The old document with hours that are new to it; what is older than is kept goes. */
function withHours(kept: Kept, hours: readonly Tally[], finalMs: number): Kept {
  const added = since(hours, kept.finalMs);
  const all = [...talliesFromText(kept.hours, HOUR_MS), ...added];
  return {
    finalMs,
    hours: talliesToText(since(all, finalMs - HOURS_KEPT_MS), HOUR_MS),
    days: talliesToText(daysOf(kept, added, finalMs), DAY_MS),
  };
}

/** The newest entries with those that are new to it. */
function withEntries(
  kept: EntryText | undefined,
  entries: readonly Entry[],
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

const newestOf = (monitor: string, { newest }: Kept): Entry[] =>
  newest ? entriesFromText(newest).map((entry) => ({ ...entry, monitor })) : [];

function since(tallies: readonly Tally[], fromMs: number): Tally[] {
  return tallies.filter(({ startMs }) => startMs >= fromMs);
}

function talliesToText(tallies: readonly Tally[], lengthMs: number): string {
  return tallies.map((tally) => tallyToText(tally, lengthMs)).join(';');
}

/** The tallies of a text. Throws when it is none; its checksum has been verified already. */
function talliesFromText(text: string, lengthMs: number): Tally[] {
  if (text === '') return [];
  return text.split(';').map((row) => {
    const tally = tallyFromText(row, lengthMs);
    if (!tally) throw new Error(`'${row}' is not an hour or day of results.`);
    return tally;
  });
}
