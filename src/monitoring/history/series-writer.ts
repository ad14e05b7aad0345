import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import { BatchWriter } from '../../store/batch-writer.ts';
import { type Series, type SeriesRow, SLOT_REACH_MS } from '../../store/series.ts';
import type { HistoryEntry } from './result-record.ts';

/** Entries kept while the database is unreachable: minutes of one process's checks. */
const KEPT_COUNT = 50_000;

/** The batch writer may hold this many more before it drops some. */
const SLACK_COUNT = 1_000;

const MICROS = 1_000;

interface SlottedEntry extends SeriesRow {
  /** Counts the entries of this process. */
  no: number;
}

/** Collects entries and appends many to the series with one write. */
export type SeriesWriter = ReturnType<typeof createSeriesWriter>;

export function createSeriesWriter(options: {
  series: Series;
  isForgotten: (monitor: string) => boolean;
  /** The database already had another entry in the slot, and kept it. */
  onReplaced: (monitor: string) => void;
  log: Logger;
}) {
  const { series, isForgotten, onReplaced, log } = options;
  const unwritten = new Map<string, SlottedEntry[]>();
  const readings = new Set<Map<string, SlottedEntry[]>>();
  let count = randomInt(MICROS);
  let appending: Promise<unknown> = Promise.resolve();

  async function append(entries: readonly SlottedEntry[]): Promise<void> {
    const replaced = await series.append(entries.filter(({ monitor }) => !isForgotten(monitor)));
    for (const { monitor, no } of entries) dropUntil(monitor, no);
    for (const { monitor } of replaced) onReplaced(monitor);
  }

  /** Entries are written in order, so all earlier ones are written or lost. */
  function dropUntil(monitor: string, no: number) {
    const entries = unwritten.get(monitor);
    const written = entries?.findIndex((entry) => entry.no > no) ?? 0;
    if (written === -1) unwritten.delete(monitor);
    else if (written > 0) entries?.splice(0, written);
  }

  const writer = new BatchWriter<SlottedEntry>({
    append(entries) {
      const done = append(entries);
      appending = done.catch(() => {});
      return done;
    },
    batchCount: 500,
    // A check waits for it, and a write costs as much as many entries.
    waitMs: 50,
    betweenMs: 250,
    fullCount: 500,
    keptCount: KEPT_COUNT,
    name: 'check results',
    countedAs: 'results',
    log,
  });

  /** A slot of its own. Its microseconds keep it apart from other entries of this millisecond, and from scheduled slots. */
  const ownSlotMs = (atMs: number) => atMs + (1 + (count % (MICROS - 1))) / MICROS;

  return {
    /** Resolves when the entry is durable. Rejects if it can't be stored now; it is kept and retried. */
    add(entry: HistoryEntry, slotMs = Number.NaN): Promise<void> {
      const { monitor, atMs } = entry;
      count += 1;
      const isNear = Math.abs(slotMs - atMs) < SLOT_REACH_MS;
      const slotted = { ...entry, no: count, slotMs: isNear ? slotMs : ownSlotMs(atMs) };
      dropUntil(monitor, count - KEPT_COUNT - SLACK_COUNT);
      const entries = unwritten.get(monitor);
      if (entries) entries.push(slotted);
      else unwritten.set(monitor, [slotted]);
      for (const reading of readings) reading.get(monitor)?.push(slotted);
      return new Promise((resolve, reject) => writer.add(slotted, { resolve, reject }));
    },
    /**
     * Reads rows of monitors, adds the entries that this process hasn't written yet, and passes them to `use`, in order of
     * time, each slot once. No entry is added before `use` returns.
     */
    async read<R>(
      monitors: readonly string[],
      readRows: () => Promise<readonly SeriesRow[]>,
      use: (entriesOf: (monitor: string) => HistoryEntry[]) => R,
    ): Promise<R> {
      const reading = new Map(monitors.map((name) => [name, [...(unwritten.get(name) ?? [])]]));
      readings.add(reading);
      try {
        const rows = byMonitor(await readRows());
        return use((monitor) => inOrder(rows.get(monitor) ?? [], reading.get(monitor) ?? []));
      } finally {
        readings.delete(reading);
      }
    },
    /** Writes no more entries of a monitor; resolves when none is being written. */
    async forget(monitor: string): Promise<void> {
      unwritten.delete(monitor);
      await appending;
    },
    /** Writes what is still waiting; entries that can't be stored now are lost. */
    close: () => writer.close(),
  };
}

function byMonitor(rows: readonly SeriesRow[]): Map<string, SeriesRow[]> {
  const grouped = new Map<string, SeriesRow[]>();
  for (const row of rows) {
    const known = grouped.get(row.monitor);
    if (known) known.push(row);
    else grouped.set(row.monitor, [row]);
  }
  return grouped;
}

/** In order of time, each slot once: a row of the table wins. */
function inOrder(rows: readonly SeriesRow[], added: readonly SeriesRow[]): SeriesRow[] {
  const slots = new Map<number, SeriesRow>();
  for (const row of [...rows, ...added]) {
    const micros = Math.round(row.slotMs * MICROS);
    if (!slots.has(micros)) slots.set(micros, row);
  }
  return [...slots.values()].sort((a, b) => a.atMs - b.atMs || a.slotMs - b.slotMs);
}
