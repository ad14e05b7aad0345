import type { Logger } from 'pino';
import type { Series } from '../../store/series.ts';
import type { RegisterExtras, Store } from '../../store/store.ts';
import { DAY_MS } from '../time/clock.ts';
import type { History } from './history.ts';
import { createHistoryQueries } from './history-queries.ts';
import { STORE_EVERY_MS } from './hourly-aggregator.ts';
import { openIncidents } from './incidents.ts';
import { coveredEntry, type Entry, resultEntry } from './result-record.ts';
import { RESULTS_KEPT_MS } from './results-journal.ts';
import { openRollups } from './rollups.ts';
import { createSeriesEntries } from './series-entries.ts';
import { createSeriesWriter } from './series-writer.ts';
import { createSharedHours } from './shared-hours.ts';
import { floorTo } from './uptime-accounting.ts';

/** What cannot be stored for so long must not keep the results of all others. */
const DROPPED_AFTER_MS = DAY_MS;

/**
 * Opens the history that several processes share: results are rows, hours and days and incidents documents, and every
 * process answers every question. Hours that are over are stored by the process that `owns` the monitor at the time.
 */
export function openSharedHistory(options: {
  store: Store;
  series: Series;
  /** What the processes hand over to one another with the states of monitors. */
  handed: RegisterExtras;
  owns: (monitor: string) => boolean;
  wallMs: () => number;
  log: Logger;
}): History {
  const { store, series, handed, owns, wallMs, log } = options;
  const forgotten = new Set<string>();
  const isForgotten = (monitor: string) => forgotten.has(monitor);
  const rollups = openRollups(store, isForgotten);
  const incidents = openIncidents(store, isForgotten);
  const writer = createSeriesWriter({
    series,
    isForgotten,
    onReplaced: (monitor) => hours.recount(monitor),
    log,
  });
  const hours = createSharedHours({ rollups, series, writer, handed, owns, isForgotten, log });
  let closed = false;
  /** What is older is to be dropped, once all hours of it are stored. */
  let toDrop: { beforeMs: number; askedMs: number } | undefined;

  async function add(entry: Entry, slotMs?: number): Promise<void> {
    if (isForgotten(entry.monitor)) return;
    const written = writer.add(entry, slotMs);
    hours.add(entry);
    await written;
  }

  let storing: Promise<void> = Promise.resolve();
  function storeInTurn(): Promise<void> {
    storing = storing.then(storeDue);
    return storing;
  }
  async function storeDue() {
    try {
      await hours.storeDue(wallMs(), () => closed);
      await dropOld();
    } catch (error) {
      log.error({ err: error }, 'could not store hourly results or drop old results; retrying');
    }
  }

  /** After a long stop, what is old may stand nowhere else yet, and others have to store their part of it. */
  async function dropOld() {
    const asked = toDrop;
    if (!asked) return;
    const areStored = await hours.areStoredBefore(asked.beforeMs);
    if (!areStored && wallMs() - asked.askedMs < DROPPED_AFTER_MS) return;
    await series.prune(asked.beforeMs);
    if (!areStored) log.warn('dropping results whose hours could not all be stored');
    if (toDrop === asked) toDrop = undefined;
  }

  let timer: NodeJS.Timeout | undefined;
  function storeLater() {
    timer = setTimeout(() => {
      void storeInTurn().then(() => {
        if (!closed) storeLater();
      });
    }, STORE_EVERY_MS).unref();
  }
  storeLater();

  return {
    add: (monitor, atMs, result, context) =>
      add(resultEntry(monitor, atMs, result, context), context.slotMs),
    addChanges: incidents.add,
    cover: (monitor, atMs) => add(coveredEntry(monitor, atMs)),
    ...createHistoryQueries({
      open: hours.open,
      rollups,
      entries: createSeriesEntries({ series, writer, rollups }),
      isForgotten,
      wallMs,
    }),
    incidents: incidents.list,
    incidentsDuring: incidents.during,
    openHours: hours.give,
    takeOpenHours: hours.take,
    takeOver: hours.takeOver,
    leave: hours.leave,
    async forget(monitor) {
      forgotten.add(monitor);
      hours.forget(monitor);
      await writer.forget(monitor);
      await Promise.all([
        series.forget(monitor),
        rollups.forget(monitor),
        incidents.forget(monitor),
      ]);
    },
    async prune(nowMs) {
      const beforeMs = floorTo(nowMs - RESULTS_KEPT_MS, DAY_MS);
      toDrop = { beforeMs, askedMs: toDrop?.askedMs ?? nowMs };
      await storeInTurn();
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await storing;
      await writer.close();
    },
  };
}
