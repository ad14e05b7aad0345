import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import { createBatchWriter } from '../../store/batch-writer.ts';
import { type Series, type SeriesRow, SLOT_REACH_MS } from '../../store/series.ts';
import type { Entry } from './result-record.ts';

/** Entries kept while the database is away: minutes of what one process checks. */
const KEPT_COUNT = 50_000;

/** Those that the batch writer may hold above that before it drops some. */
const SLACK_COUNT = 1_000;

const MICROS = 1_000;

/** An entry in its slot, and the how manyth it is that this process writes. */
interface SlottedEntry extends SeriesRow {
  no: number;
}

/** Collects entries and appends many to the series with one write. */
export type SeriesWriter = ReturnType<typeof createSeriesWriter>;

export function createSeriesWriter(options: {
  series: Series;
  isForgotten: (monitor: string) => boolean;
  /** Another entry stands in the slot of one of this monitor. */
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

  /** They are written one after another, so what came before is written, or lost. */
  function dropUntil(monitor: string, no: number) {
    const own = unwritten.get(monitor);
    const left = own?.findIndex((entry) => entry.no > no) ?? 0;
    if (left === -1) unwritten.delete(monitor);
    else if (left > 0) own?.splice(0, left);
  }

  const writer = createBatchWriter<SlottedEntry>({
    append(entries) {
      const done = append(entries);
      appending = done.catch(() => {});
      return done;
    },
    batchCount: 500,
    // The one that checks waits for it, and a write costs as much as many entries.
    waitMs: 50,
    betweenMs: 250,
    fullCount: 500,
    keptCount: KEPT_COUNT,
    name: 'check results',
    countedAs: 'results',
    log,
  });

  /** A slot of the entry alone: that of no other one of its millisecond, and, before a microsecond, of no schedule. */
  const ownSlotMs = (atMs: number) => atMs + (1 + (count % (MICROS - 1))) / MICROS;

  return {
    /** Resolves when the entry is durable. Rejects when it cannot be stored now; it is kept then and tried again. */
    add(entry: Entry, slotMs = Number.NaN): Promise<void> {
      const { monitor, atMs } = entry;
      count += 1;
      const isNear = Math.abs(slotMs - atMs) < SLOT_REACH_MS;
      // What is new goes first: behind a copy, V8 makes hidden classes for each of them.
      const slotted = { no: count, slotMs: isNear ? slotMs : ownSlotMs(atMs), ...entry };
      dropUntil(monitor, count - KEPT_COUNT - SLACK_COUNT);
      const own = unwritten.get(monitor);
      if (own) own.push(slotted);
      else unwritten.set(monitor, [slotted]);
      for (const reading of readings) reading.get(monitor)?.push(slotted);
      return new Promise((resolve, reject) => writer.add(slotted, { resolve, reject }));
    },
    /**
     * Reads rows of monitors, and gives `use` those of each with what this process had not written by then, in order of
     * time, each slot once. Nothing is added between that and what `use` does.
     */
    async read<R>(
      monitors: readonly string[],
      ask: () => Promise<readonly SeriesRow[]>,
      use: (entriesOf: (monitor: string) => Entry[]) => R,
    ): Promise<R> {
      const reading = new Map(monitors.map((name) => [name, [...(unwritten.get(name) ?? [])]]));
      readings.add(reading);
      try {
        const rows = byMonitor(await ask());
        return use((monitor) => inOrder(rows.get(monitor) ?? [], reading.get(monitor) ?? []));
      } finally {
        readings.delete(reading);
      }
    },
    /** Writes nothing more of a monitor; resolves when nothing of it is on its way. */
    async forget(monitor: string): Promise<void> {
      unwritten.delete(monitor);
      await appending;
    },
    /** Writes what is still waiting; what cannot be stored now is lost. */
    close: writer.close,
  };
}

function byMonitor(rows: readonly SeriesRow[]): Map<string, SeriesRow[]> {
  const grouped = new Map<string, SeriesRow[]>();
  for (const row of rows) {
    const own = grouped.get(row.monitor);
    if (own) own.push(row);
    else grouped.set(row.monitor, [row]);
  }
  return grouped;
}

/** In order of time, each slot once: what stands in the table is what counts. */
function inOrder(rows: readonly SeriesRow[], added: readonly SeriesRow[]): SeriesRow[] {
  const slots = new Map<number, SeriesRow>();
  for (const row of [...rows, ...added]) {
    const micros = Math.round(row.slotMs * MICROS);
    if (!slots.has(micros)) slots.set(micros, row);
  }
  return [...slots.values()].sort((a, b) => a.atMs - b.atMs || a.slotMs - b.slotMs);
}
