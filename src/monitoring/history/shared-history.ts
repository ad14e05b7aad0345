import type { Logger } from 'pino';
import type { Series } from '../../store/series.ts';
import type { SharedExtras, Store } from '../../store/store.ts';
import { DAY_MS } from '../time/clock.ts';
import type { MonitorHistory } from './history.ts';
import { createHistoryQueries } from './history-queries.ts';
import { openIncidents } from './incidents.ts';
import { coveredEntry, type HistoryEntry, resultEntry } from './result-record.ts';
import { RESULTS_KEPT_MS } from './results-journal.ts';
import { openRollups } from './rollups.ts';
import { createSeriesEntries } from './series-entries.ts';
import { createSeriesWriter } from './series-writer.ts';
import { SharedHours } from './shared-hours.ts';
import { startStoring } from './storing.ts';
import { floorTo } from './uptime-accounting.ts';

/** Old results are dropped after this time even if the hours of some monitor can't be stored. */
const DROPPED_AFTER_MS = DAY_MS;

/**
 * Opens the history that several processes share: results are rows, hours, days and incidents are documents, and every
 * process answers every query. The process that `owns` a monitor at the time stores its hours.
 */
export function openSharedHistory(options: {
  store: Store;
  series: Series;
  /** Open hours that processes hand over with the states of monitors. */
  handed: SharedExtras;
  owns: (monitor: string) => boolean;
  wallMs: () => number;
  log: Logger;
}): MonitorHistory {
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
  const hours = new SharedHours({ rollups, series, writer, handed, owns, isForgotten, log });
  let isClosed = false;
  /** Older results are dropped as soon as all their hours are stored. */
  let toDrop: { beforeMs: number; sinceMs: number } | undefined;

  async function add(entry: HistoryEntry, slotMs?: number): Promise<void> {
    if (isForgotten(entry.monitor)) return;
    const written = writer.add(entry, slotMs);
    hours.add(entry);
    await written;
  }

  /** After a long stop the hours of old results may not be stored yet, some of them by other processes. */
  async function dropOld() {
    const drop = toDrop;
    if (!drop) return;
    const areStored = await hours.areStoredBefore(drop.beforeMs);
    if (!areStored && wallMs() - drop.sinceMs < DROPPED_AFTER_MS) return;
    await series.prune(drop.beforeMs);
    if (!areStored) log.warn('dropping results whose hours could not all be stored');
    if (toDrop === drop) toDrop = undefined;
  }

  const storing = startStoring(async () => {
    try {
      await hours.storeDue(wallMs(), () => isClosed);
      await dropOld();
    } catch (error) {
      log.error({ err: error }, 'could not store hourly results or drop old results; retrying');
    }
  });

  return {
    ...createHistoryQueries({
      open: (monitor, nowMs) => hours.open(monitor, nowMs),
      rollups,
      entries: createSeriesEntries({ series, writer, rollups }),
      isForgotten,
      wallMs,
    }),
    add: (monitor, atMs, result, context) =>
      add(resultEntry(monitor, atMs, result, context), context.slotMs),
    addChanges: incidents.add,
    cover: (monitor, atMs) => add(coveredEntry(monitor, atMs)),
    incidents: incidents.list,
    incidentsDuring: incidents.during,
    openHours: (monitor) => hours.textOf(monitor),
    takeOpenHours: (monitor, value) => hours.adopt(monitor, value),
    takeOver: (monitors) => hours.takeOver(monitors),
    leave: (monitor) => hours.drop(monitor),
    async forget(monitor) {
      forgotten.add(monitor);
      hours.drop(monitor);
      await writer.forget(monitor);
      await Promise.all([
        series.forget(monitor),
        rollups.forget(monitor),
        incidents.forget(monitor),
      ]);
    },
    async prune(nowMs) {
      const beforeMs = floorTo(nowMs - RESULTS_KEPT_MS, DAY_MS);
      toDrop = { beforeMs, sinceMs: toDrop?.sinceMs ?? nowMs };
      await storing.storeNow();
    },
    async close() {
      isClosed = true;
      await storing.stop();
      await writer.close();
    },
  };
}
