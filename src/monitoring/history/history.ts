import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Incident } from '../../contracts/monitoring-additions.ts';
import type { Store } from '../../store/store.ts';
import type { CheckResult } from '../checks/check-result.ts';
import type { StatusChange } from '../state/state.ts';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import {
  createHistoryQueries,
  type HistoryQueries,
  MINUTES_KEPT_MS,
  type Range,
} from './history-queries.ts';
import { createHourlyAggregator } from './hourly-aggregator.ts';
import { type IncidentsOfTime, openIncidents } from './incidents.ts';
import { createRecentResults } from './recent-results.ts';
import { createRememberedEntries } from './remembered-entries.ts';
import {
  coveredEntry,
  forgottenEntry,
  type HistoryEntry,
  isForgottenEntry,
  type ResultContext,
  resultEntry,
} from './result-record.ts';
import {
  createResultsWriter,
  openResultsJournal,
  RESULTS_KEPT_MS,
  type ResultsJournal,
} from './results-journal.ts';
import { openRollups } from './rollups.ts';
import { startStoring } from './storing.ts';
import { floorTo } from './uptime-accounting.ts';

/**
 * Results of checks, hours and days of them, and incidents of all monitors. A single process keeps them in files and in its
 * memory (`openHistory`), several processes share them in tables (`openSharedHistory`).
 */
export interface MonitorHistory extends HistoryQueries {
  /**
   * Counts a result and resolves when it is durable. The time until the monitor's next result counts as `found`, but at most
   * twice `everyMs`; `covered` time counts as not monitored. Rejects if the result can't be stored now; it is retried.
   */
  add(
    monitor: string,
    atMs: number,
    result: CheckResult,
    context: ResultContext & {
      /**
       * The scheduled moment, where several processes might check it: only one result counts for each. Defaults to `atMs`,
       * which also counts if `slotMs` is further away than any check takes.
       */
      slotMs?: number;
    },
  ): Promise<void>;
  /** Resolves when the changes are durably part of their incidents. A repeated change, by its number, counts once. */
  addChanges(monitor: string, changes: readonly StatusChange[]): Promise<void>;
  /** Ends the time that the previous result counts for, because a person paused the monitor, say. Resolves when durable. */
  cover(monitor: string, atMs: number): Promise<void>;
  /** Newest first, from the newest 100. */
  incidents(monitor: string, limit: number): Promise<Incident[]>;
  /** The incidents that overlap a time, from the newest 100. */
  incidentsDuring(monitor: string, range: Range): Promise<IncidentsOfTime>;
  /**
   * A monitor's hours that aren't stored yet, as JSON to keep with its state, so that any process can continue from them;
   * null if this process doesn't know them. Undefined if no other process counts.
   */
  openHours(monitor: string): unknown;
  /** Adopts the `openHours` that another process stored. Invalid ones are recounted from the results when needed. */
  takeOpenHours(monitor: string, value: unknown): void;
  /** Continues where another process stopped. Call it before adding results of these monitors. */
  takeOver(monitors: readonly string[]): Promise<void>;
  /** Another process checks this monitor from now on. Call it once everything found here is stored with its state. */
  leave(monitor: string): void;
  /**
   * Deletes everything about a monitor for good, and its results a moment later, even if the process is killed. With several
   * processes call it in each, and again after a kill, because results from another process may arrive later.
   */
  forget(monitor: string): Promise<void>;
  /** Stores hours that are over, and deletes what is too old: results after two days. */
  prune(nowMs: number): Promise<void>;
  /** Writes everything that is waiting. */
  close(): Promise<void>;
}

/** Opens the history of a single process, and reads the last hours in the background. */
export async function openHistory(options: {
  store: Store;
  wallMs: () => number;
  log: Logger;
}): Promise<MonitorHistory> {
  const { store, wallMs, log } = options;
  const forgotten = new Set<string>();
  const isForgotten = (monitor: string) => forgotten.has(monitor);
  const journal = openResultsJournal(store, randomUUID());
  const writer = createResultsWriter(journal, log);
  const recent = createRecentResults();
  const rollups = openRollups(store, isForgotten);
  const hourlyAggregator = createHourlyAggregator(rollups, recent, log);
  const incidents = openIncidents(store, isForgotten);
  const openSince = await readOpenSince(store, wallMs());
  const eraser = createResultsEraser(journal, log);
  let isClosed = false;

  function count(entry: HistoryEntry) {
    if (isForgotten(entry.monitor)) return;
    if (isForgottenEntry(entry)) return forgetInMemory(entry.monitor);
    recent.add(entry);
    hourlyAggregator.add(entry);
  }

  function forgetInMemory(monitor: string) {
    forgotten.add(monitor);
    hourlyAggregator.forget(monitor);
    recent.forget(monitor);
  }

  async function forgetStored(monitor: string) {
    await Promise.all([rollups.forget(monitor), incidents.forget(monitor)]);
    eraser.add(monitor);
  }

  /** Entries of this run, held back until the earlier ones are read. */
  let heldBack: HistoryEntry[] | undefined = [];
  function add(entry: HistoryEntry): Promise<void> {
    if (isForgotten(entry.monitor)) return Promise.resolve();
    if (heldBack) heldBack.push(entry);
    else count(entry);
    return writer.add(entry);
  }

  const restoredFromMs = Math.min(openSince.startMs, floorTo(wallMs() - MINUTES_KEPT_MS, HOUR_MS));
  async function restore() {
    const range = { fromMs: restoredFromMs, toMs: wallMs() + DAY_MS, ownToo: false };
    try {
      for await (const entries of journal.read(range)) {
        if (isClosed) return;
        for (const entry of entries) count(entry);
      }
      for (const monitor of forgotten) await forgetStored(monitor);
      eraser.start();
    } catch (error) {
      log.error(
        { err: error },
        'could not read earlier check results; they are missing from the history',
      );
    }
    for (const entry of heldBack ?? []) count(entry);
    heldBack = undefined;
  }

  const restored = restore();
  const storing = startStoring(async () => {
    await restored;
    eraser.start();
    try {
      await hourlyAggregator.storeDue(wallMs(), () => isClosed);
      await openSince.advance(hourlyAggregator.openSinceMs(wallMs()));
    } catch (error) {
      log.error({ err: error }, 'could not store hourly results; retrying');
    }
  });

  const queries = createHistoryQueries({
    open: async (monitor, nowMs) => ({
      hours: (await hourlyAggregator.open(monitor, nowMs)).hours,
      storedMs: 0,
    }),
    rollups,
    entries: createRememberedEntries({ hourlyAggregator, recent, journal, restoredFromMs, wallMs }),
    restored,
    isForgotten,
    wallMs,
  });
  return {
    ...queries,
    add: (monitor, atMs, result, context) => add(resultEntry(monitor, atMs, result, context)),
    addChanges: incidents.add,
    cover: (monitor, atMs) => add(coveredEntry(monitor, atMs)),
    incidents: incidents.list,
    incidentsDuring: incidents.during,
    openHours: () => undefined,
    takeOpenHours() {},
    async takeOver() {},
    leave() {},
    async forget(monitor) {
      forgetInMemory(monitor);
      // First, so that a start after a crash deletes the rest.
      await writer.add(forgottenEntry(monitor, wallMs()));
      await forgetStored(monitor);
      eraser.start();
    },
    async prune(nowMs) {
      await storing.storeNow();
      // After a long stop, the hours of old results may not be stored yet.
      await journal.prune(Math.min(nowMs - RESULTS_KEPT_MS, openSince.storedMs()));
    },
    async close() {
      isClosed = true;
      const stopped = storing.stop();
      await Promise.all([restored, writer.close()]);
      await stopped;
      await eraser.close();
    },
  };
}

/** Deletes the results of forgotten monitors in the background, with one pass for many monitors. */
function createResultsEraser(journal: ResultsJournal, log: Logger) {
  const waiting = new Set<string>();
  let erasing: Promise<void> | undefined;
  let isClosed = false;

  async function eraseAll() {
    while (waiting.size > 0 && !isClosed) {
      const monitors = new Set(waiting);
      try {
        await journal.erase(monitors);
      } catch (error) {
        log.error({ err: error }, 'could not delete the results of removed monitors; retrying');
        return;
      }
      for (const monitor of monitors) waiting.delete(monitor);
    }
  }

  return {
    add: (monitor: string) => void waiting.add(monitor),
    start() {
      erasing ??= eraseAll().finally(() => {
        erasing = undefined;
      });
    },
    async close() {
      isClosed = true;
      await erasing;
    },
  };
}

/** This document says which results are part of stored hours: all that are older than `openSinceMs`. */
export const HISTORY_STATE = {
  name: 'monitor-history',
  id: 'all',
  schema: z.object({ openSinceMs: z.int() }),
  version: 1,
} as const;

async function readOpenSince(store: Store, nowMs: number) {
  const { name, id, schema, version } = HISTORY_STATE;
  const collection = store.collection({
    name,
    schema,
    version,
    // Without it, the start reads all results that are kept.
    whenCorrupt: 'forget',
  });
  const before = (await collection.get(id))?.openSinceMs;
  let storedMs = before ?? floorTo(nowMs, HOUR_MS);
  // Before anything is acknowledged: otherwise a start after a crash would not know where to begin.
  if (before === undefined) await collection.update(id, () => ({ openSinceMs: storedMs }));
  return {
    /** This start reads results from here on. */
    startMs: before ?? floorTo(nowMs - RESULTS_KEPT_MS, HOUR_MS),
    /** Earlier results are part of stored hours. */
    storedMs: () => storedMs,
    async advance(toMs: number) {
      if (toMs <= storedMs) return;
      await collection.update(id, () => ({ openSinceMs: toMs }));
      storedMs = toMs;
    },
  };
}
