import type { HistoryEntry } from './result-record.ts';

/** Entries of each monitor in memory: two hours of one that is checked each minute, in 2.2 KB. */
export const RECENT_COUNT = 120;

export type RecentResults = ReturnType<typeof createRecentResults>;

/** Consecutive entries that differ only in time and response time. */
interface EntryRun extends Pick<HistoryEntry, 'kind' | 'everyMs' | 'reason'> {
  /** The number of the first entry, counted from 0. */
  first: number;
}

/** A ring of entries. A million of them as objects would take 100 MB, so their numbers are in typed arrays. */
interface EntryRing {
  added: number;
  /** The time and the response time of each, one after the other. */
  numbers: Float64Array;
  /** Oldest first; the first run holds the oldest entry of the ring. */
  runs: EntryRun[];
}

export function createRecentResults() {
  const rings = new Map<string, EntryRing>();

  return {
    add(entry: HistoryEntry): void {
      const ring = rings.get(entry.monitor) ?? emptyRing();
      if (ring.added === 0) rings.set(entry.monitor, ring);
      addToRing(ring, entry);
    },

    of(monitor: string): HistoryEntry[] {
      const ring = rings.get(monitor);
      return ring ? entriesIn(monitor, ring) : [];
    },

    /** Older entries may have been dropped. */
    isFull: (monitor: string) => (rings.get(monitor)?.added ?? 0) >= RECENT_COUNT,

    forget: (monitor: string) => void rings.delete(monitor),
  };
}

function emptyRing(): EntryRing {
  return {
    added: 0,
    numbers: new Float64Array(2 * RECENT_COUNT),
    runs: [],
  };
}

function addToRing(ring: EntryRing, { atMs, took, kind, everyMs, reason }: HistoryEntry): void {
  const { runs } = ring;
  const last = runs[runs.length - 1];
  if (last?.kind !== kind || last.everyMs !== everyMs || last.reason !== reason) {
    runs.push({ first: ring.added, kind, everyMs, reason });
  }
  const at = 2 * (ring.added % RECENT_COUNT);
  ring.numbers[at] = atMs;
  ring.numbers[at + 1] = took;
  ring.added += 1;
  const second = runs[1];
  if (second && second.first <= ring.added - RECENT_COUNT) runs.shift();
}

function entriesIn(monitor: string, { added, numbers, runs }: EntryRing): HistoryEntry[] {
  return runs.flatMap(({ first, kind, everyMs, reason }, place) => {
    const from = Math.max(first, added - RECENT_COUNT);
    const count = (runs[place + 1]?.first ?? added) - from;
    return Array.from({ length: count }, (_, index): HistoryEntry => {
      const at = 2 * ((from + index) % RECENT_COUNT);
      return { monitor, atMs: numbers[at] ?? 0, kind, took: numbers[at + 1] ?? 0, everyMs, reason };
    });
  });
}
