import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { CheckResult } from '../checks/check-result.ts';
import type { StatusChange } from '../state/state.ts';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import { byMonitor } from './by-monitor.ts';
import { createHistoryQueries, MINUTES_KEPT_MS } from './history-queries.ts';
import { createHourlyAggregator } from './hourly-aggregator.ts';
import { openIncidents } from './incidents.ts';
import { createRecentResults } from './recent-results.ts';
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

/** How often hours that are over are stored. */
const STORE_EVERY_MS = 10_000;

/** What happened to the monitors: results of checks, hours and days of them, and incidents. */
export type History = Awaited<ReturnType<typeof openHistory>>;

/** Opens the history; what is in memory of the last hours is read in the background. */
export async function openHistory(options: { store: Store; wallMs: () => number; log: Logger }) {
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
      log.error({ err: error }, 'earlier results of checks cannot be read; they are missing');
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
        log.error({ err: error }, 'results of removed monitors stay for now; it is tried again');
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
      log.error({ err: error }, 'hours cannot be stored; it is tried again');
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
    hourlyAggregator,
    rollups,
    recent,
    journal,
    restored,
    restoredFromMs,
    isForgotten,
    wallMs,
  });
  return {
    /**
     * Counts a result, and resolves when it is durable. `found` is the status it left; it is worth the time until the next
     * result of the monitor, but at most twice `everyMs`; `covered` time is not seen. Rejects when the disk refuses it: it
     * is kept then and tried again.
     */
    add: (monitor: string, atMs: number, result: CheckResult, context: ResultContext) =>
      add(resultEntry(monitor, atMs, result, context)),
    /** Resolves when changes are durably part of their incidents. One given twice, by its number, counts once. */
    addChanges: (monitor: string, changes: readonly StatusChange[]) =>
      incidents.add(monitor, changes),
    /** The result before is worth nothing from here: people set something over the monitor. Resolves when durable. */
    cover: (monitor: string, atMs: number) => add(coveredEntry(monitor, atMs)),
    ...queries,
    /** The newest incidents first, of the newest 100. */
    incidents: (monitor: string, limit: number) => incidents.list(monitor, limit),
    /** Removes all that is known of a monitor, for good; its results a moment later, over a kill too. */
    async forget(monitor: string): Promise<void> {
      forgetInMemory(monitor);
      // First, so that a start after a crash removes the rest, and what came before does not bring it back.
      await writer.add(forgottenEntry(monitor, wallMs()));
      await removeAll(monitor);
      eraseResults();
    },
    /** Stores hours that are over, and removes what is older than is kept: results after two days. */
    async prune(nowMs: number): Promise<void> {
      await storeInTurn();
      // After a long stop, what is old may stand nowhere else yet.
      await journal.prune(Math.min(nowMs - RESULTS_KEPT_MS, open.storedMs()));
    },
    /** Writes what is waiting. */
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      await Promise.all([restored, writer.close()]);
      await storing;
      await erasing;
    },
  };
}

/** The moment from which on results are not in stored hours yet, kept in `monitor-history`. */
async function openSince(store: Store, nowMs: number) {
  const collection = store.collection({
    name: 'monitor-history',
    schema: z.object({ openSinceMs: z.int() }),
    version: 1,
    // Without it all results that are kept are read.
    whenCorrupt: 'forget',
  });
  const before = (await collection.get('all'))?.openSinceMs;
  let storedMs = before ?? floorTo(nowMs, HOUR_MS);
  // Nothing is acknowledged before this is there: a start after a crash would not know where to begin.
  if (before === undefined) await collection.update('all', () => ({ openSinceMs: storedMs }));
  return {
    /** What this start goes back to. */
    sinceMs: before ?? floorTo(nowMs - RESULTS_KEPT_MS, HOUR_MS),
    /** Results before it are in stored hours. */
    storedMs: () => storedMs,
    async advance(toMs: number) {
      if (toMs <= storedMs) return;
      await collection.update('all', () => ({ openSinceMs: toMs }));
      storedMs = toMs;
    },
  };
}
