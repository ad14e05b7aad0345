import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Incident } from '../../contracts/monitoring-additions.ts';
import type { Store } from '../../store/store.ts';
import type { CheckResult } from '../checks/check-result.ts';
import type { StatusChange } from '../state/state.ts';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import { byMonitor } from './by-monitor.ts';
import {
  createHistoryQueries,
  type HistoryQueries,
  MINUTES_KEPT_MS,
  type Range,
} from './history-queries.ts';
import { createHourlyAggregator, STORE_EVERY_MS } from './hourly-aggregator.ts';
import { type IncidentsOfTime, openIncidents } from './incidents.ts';
import { createRecentResults } from './recent-results.ts';
import { createRememberedEntries } from './remembered-entries.ts';
import {
  coveredEntry,
  type Entry,
  forgottenEntry,
  isForgottenEntry,
  type ResultContext,
  resultEntry,
} from './result-record.ts';
import { createResultsWriter, openResultsJournal, RESULTS_KEPT_MS } from './results-journal.ts';
import { openRollups } from './rollups.ts';
import { floorTo } from './uptime-accounting.ts';

/**
 * What happened to the monitors: results of checks, hours and days of them, and incidents. One process keeps it in files and
 * in its memory (`openHistory`), several share it in tables (`openSharedHistory`).
 */
export interface History extends HistoryQueries {
  /**
   * Counts a result, and resolves when it is durable. `found` is the status it left; it is worth the time until the next
   * result of the monitor, but at most twice `everyMs`; `covered` time is not seen. Rejects when it cannot be stored: it is
   * kept then and tried again.
   */
  add(
    monitor: string,
    atMs: number,
    result: CheckResult,
    context: ResultContext & {
      /**
       * The moment of the schedule that was checked, where several processes might: of one such moment, one result counts.
       * `atMs` when it is left out, or further from it than any check takes.
       */
      slotMs?: number | undefined;
    },
  ): Promise<void>;
  /** Resolves when changes are durably part of their incidents. One given twice, by its number, counts once. */
  addChanges(monitor: string, changes: readonly StatusChange[]): Promise<void>;
  /** The result before is worth nothing from here: people set something over the monitor. Resolves when durable. */
  cover(monitor: string, atMs: number): Promise<void>;
  /** The newest incidents first, of the newest 100. */
  incidents(monitor: string, limit: number): Promise<Incident[]>;
  /** Those of the newest 100 that began before the end of a time and had not ended by its begin. */
  incidentsDuring(monitor: string, range: Range): Promise<IncidentsOfTime>;
  /**
   * What is counted of a monitor and not stored yet, as JSON to be kept with its state, so that every process can go on
   * counting; null when this process does not know. Undefined where nobody else counts.
   */
  openHours(monitor: string): unknown;
  /**
   * The newest `openHours` of a monitor checked here, which another process has stored. What is none is worked out from the
   * results when it is needed.
   */
  takeOpenHours(monitor: string, value: unknown): void;
  /** Goes on counting where another process has stopped; call it before anything is found of these monitors. */
  takeOver(monitors: readonly string[]): Promise<void>;
  /** Another process checks this monitor from now on; all that was found of it here is added, and stored with its state. */
  leave(monitor: string): void;
  /**
   * Removes all that is known of a monitor, for good; its results a moment later, over a kill too. Where several processes
   * share it, each is to be told, and one again after a kill: what is on its way from another may come after.
   */
  forget(monitor: string): Promise<void>;
  /** Stores hours that are over, and removes what is older than is kept: results after two days. */
  prune(nowMs: number): Promise<void>;
  /** Writes what is waiting. */
  close(): Promise<void>;
}

/** Opens the history of the only process; what is in memory of the last hours is read in the background. */
export async function openHistory(options: {
  store: Store;
  wallMs: () => number;
  log: Logger;
}): Promise<History> {
  const { store, wallMs, log } = options;
  const forgotten = new Set<string>();
  const isForgotten = (monitor: string) => forgotten.has(monitor);
  const journal = openResultsJournal(store, randomUUID());
  const writer = createResultsWriter(journal, log);
  const recent = createRecentResults();
  const rollups = openRollups(store, isForgotten);
  const hourlyAggregator = createHourlyAggregator(rollups, recent, log);
  const incidents = openIncidents(store, isForgotten);
  const open = await openSince(store, wallMs());
  /** Entries of this run that came before those of the last one were read. */
  let held: Entry[] | undefined = [];
  let closed = false;
  /** Monitors that are forgotten, and whose results are still there. */
  const toErase = new Set<string>();
  let erasing: Promise<void> | undefined;

  function forgetInMemory(monitor: string) {
    forgotten.add(monitor);
    hourlyAggregator.forget(monitor);
    recent.forget(monitor);
  }

  function take(entry: Entry) {
    if (isForgotten(entry.monitor)) return;
    if (isForgottenEntry(entry)) return forgetInMemory(entry.monitor);
    recent.add(entry);
    hourlyAggregator.add(entry);
  }

  function add(entry: Entry): Promise<void> {
    if (isForgotten(entry.monitor)) return Promise.resolve();
    if (held) held.push(entry);
    else take(entry);
    return writer.add(entry);
  }

  const restoredFromMs = Math.min(open.sinceMs, floorTo(wallMs() - MINUTES_KEPT_MS, HOUR_MS));

  async function restore() {
    const range = { fromMs: restoredFromMs, toMs: wallMs() + DAY_MS, ownToo: false };
    try {
      for await (const entries of byMonitor(journal.read(range))) {
        if (closed) return;
        for (const entry of entries) take(entry);
      }
      for (const monitor of forgotten) await removeAll(monitor);
      eraseResults();
    } catch (error) {
      log.error(
        { err: error },
        'could not read earlier check results; they are missing from the history',
      );
    }
    for (const entry of held ?? []) take(entry);
    held = undefined;
  }

  async function removeAll(monitor: string) {
    await Promise.all([rollups.forget(monitor), incidents.forget(monitor)]);
    toErase.add(monitor);
  }

  /** Removes results of all monitors that are forgotten by now; of those that are forgotten meanwhile, after that. */
  function eraseResults() {
    erasing ??= eraseInTurn().finally(() => {
      erasing = undefined;
    });
  }

  async function eraseInTurn() {
    while (toErase.size > 0 && !closed) {
      const monitors = new Set(toErase);
      try {
        await journal.erase(monitors);
      } catch (error) {
        log.error({ err: error }, 'could not delete the results of removed monitors; retrying');
        return;
      }
      for (const monitor of monitors) toErase.delete(monitor);
    }
  }

  let storing: Promise<void> = Promise.resolve();
  function storeInTurn(): Promise<void> {
    storing = storing.then(storeDue);
    return storing;
  }
  async function storeDue() {
    await restored;
    if (toErase.size > 0) eraseResults();
    try {
      await hourlyAggregator.storeDue(wallMs(), () => closed);
      await open.advance(hourlyAggregator.openSinceMs(wallMs()));
    } catch (error) {
      log.error({ err: error }, 'could not store hourly results; retrying');
    }
  }

  const restored = restore();
  let timer: NodeJS.Timeout | undefined;
  function storeLater() {
    timer = setTimeout(() => {
      void storeInTurn().then(() => {
        if (!closed) storeLater();
      });
    }, STORE_EVERY_MS).unref();
  }
  storeLater();

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
    add: (monitor, atMs, result, context) => add(resultEntry(monitor, atMs, result, context)),
    addChanges: incidents.add,
    cover: (monitor, atMs) => add(coveredEntry(monitor, atMs)),
    ...queries,
    incidents: incidents.list,
    incidentsDuring: incidents.during,
    openHours: () => undefined,
    takeOpenHours() {},
    async takeOver() {},
    leave() {},
    async forget(monitor) {
      forgetInMemory(monitor);
      // First, so that a start after a crash removes the rest, and what came before does not bring it back.
      await writer.add(forgottenEntry(monitor, wallMs()));
      await removeAll(monitor);
      eraseResults();
    },
    async prune(nowMs) {
      await storeInTurn();
      // After a long stop, what is old may stand nowhere else yet.
      await journal.prune(Math.min(nowMs - RESULTS_KEPT_MS, open.storedMs()));
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await Promise.all([restored, writer.close()]);
      await storing;
      await erasing;
    },
  };
}

/** Where it stands from which moment on results are not in stored hours yet. */
export const HISTORY_STATE = {
  name: 'monitor-history',
  id: 'all',
  schema: z.object({ openSinceMs: z.int() }),
  version: 1,
} as const;

/** The moment from which on results are not in stored hours yet. */
async function openSince(store: Store, nowMs: number) {
  const { name, id, schema, version } = HISTORY_STATE;
  const collection = store.collection({
    ...{ name, schema, version },
    // Without it all results that are kept are read.
    whenCorrupt: 'forget',
  });
  const before = (await collection.get(id))?.openSinceMs;
  let storedMs = before ?? floorTo(nowMs, HOUR_MS);
  // Nothing is acknowledged before this is there: a start after a crash would not know where to begin.
  if (before === undefined) await collection.update(id, () => ({ openSinceMs: storedMs }));
  return {
    /** What this start goes back to. */
    sinceMs: before ?? floorTo(nowMs - RESULTS_KEPT_MS, HOUR_MS),
    /** Results before it are in stored hours. */
    storedMs: () => storedMs,
    async advance(toMs: number) {
      if (toMs <= storedMs) return;
      await collection.update(id, () => ({ openSinceMs: toMs }));
      storedMs = toMs;
    },
  };
}
