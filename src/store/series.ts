import { z } from 'zod';

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

const Item = z.tuple([z.string(), z.int(), z.int(), z.int(), z.int(), z.string().nullable()]);

/** A row as it is moved from one engine to another: without its slot, which is its place in a table. */
export function seriesItem(row: Omit<SeriesRow, 'slotMs'>): string {
  const { monitor, atMs, kind, took, everyMs, reason } = row;
  // As a text of PostgreSQL can hold it: without half surrogates and zero characters.
  const storable = reason && Buffer.from(reason.replaceAll('\0', '\ufffd')).toString();
  return JSON.stringify([monitor, atMs, kind, took, everyMs, storable ?? null]);
}

/** What `seriesItem` was made of. */
export function fromSeriesItem(item: string): Omit<SeriesRow, 'slotMs'> {
  const [monitor, atMs, kind, took, everyMs, reason] = Item.parse(JSON.parse(item));
  return { monitor, atMs, kind, took, everyMs, reason: reason ?? undefined };
}

/** The part that rows are moved in, and its groups: those of an hour, such as `results/2026-12-01T13`. */
export const SERIES_PART = 'results';

const HOUR_MS = 3_600_000;

export const seriesGroup = (atMs: number): string =>
  `${SERIES_PART}/${new Date(atMs).toISOString().slice(0, 13)}`;

/** When the hour of a group begins. */
export function startOfSeriesGroup(group: string): number {
  const startMs = Date.parse(`${group.slice(SERIES_PART.length + 1)}:00:00Z`);
  if (startMs % HOUR_MS !== 0) throw new RangeError(`${group} is not an hour of results.`);
  return startMs;
}
