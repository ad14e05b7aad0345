/** Results of checks over a few days: too many for documents, and read by monitor and time, which journals can't. */
export interface Series {
  /** Resolves to the rows that were refused because another row has their slot. May be called twice with the same rows. */
  append<T extends SeriesRow>(rows: readonly T[]): Promise<T[]>;
  /** The newest rows by their slots, oldest first: only kinds from `minKind` on, and slots before `beforeMs`. */
  newest(
    monitor: string,
    asked: { count: number; minKind?: number; beforeMs?: number },
  ): Promise<SeriesRow[]>;
  /** The rows with `fromMs <= slot < toMs` of each of these monitors, oldest first. */
  between(ranges: readonly SeriesRange[]): Promise<SeriesRow[]>;
  monitors(): AsyncIterable<string[]>;
  /** Starts of the hours in which something happened, Unix time in milliseconds, in order. */
  hours(): Promise<number[]>;
  forget(monitor: string): Promise<void>;
  /** Drops what is older, in whole days: rows of the day of `beforeMs` stay. */
  prune(beforeMs: number): Promise<void>;
}

/** A row is at most so far from its slot: its check has a time-out, and starts late when many are due. */
export const SLOT_REACH_MS = 600_000;

export interface SeriesRow {
  monitor: string;
  /** Which of its monitor's rows it is: a time, Unix milliseconds, exact to the microsecond; near `atMs`. */
  slotMs: number;
  /** When it happened, in whole milliseconds. */
  atMs: number;
  kind: number;
  took: number;
  everyMs: number;
  reason: string | undefined;
}

export interface SeriesRange {
  monitor: string;
  fromMs: number;
  /** Infinity for no end. */
  toMs: number;
}
