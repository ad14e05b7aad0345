/**
 * What was seen of many monitors over time, kept in order for a few days and then dropped: too much for documents, and
 * asked by monitor and time, which journals cannot. What a row means is its owner's business.
 */
export interface Series {
  /**
   * Resolves once all rows are durable. A row of which monitor and slot are there already is not stored again; gives those in
   * whose place another one stands. May be done twice with the same rows.
   */
  append<T extends SeriesRow>(rows: readonly T[]): Promise<T[]>;
  /** The newest rows of a monitor by their slots, oldest first: only kinds from `minKind` on, and slots before `beforeMs`. */
  newest(
    monitor: string,
    asked: { count: number; minKind?: number; beforeMs?: number },
  ): Promise<SeriesRow[]>;
  /** The rows with `fromMs <= slot < toMs` of each of these monitors, oldest first. */
  between(ranges: readonly SeriesRange[]): Promise<SeriesRow[]>;
  /** Removes all rows of a monitor. */
  forget(monitor: string): Promise<void>;
  /** Drops what is older, in whole days: rows of the day of `beforeMs` stay. */
  prune(beforeMs: number): Promise<void>;
}

export interface SeriesRow {
  monitor: string;
  /** Which of its monitor's rows it is: a time, Unix milliseconds, exact to the microsecond. */
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
