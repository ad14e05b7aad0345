import type { Logger } from 'pino';
import { HOUR_MS } from '../time/clock.ts';
import { phaseOf } from '../time/rhythm.ts';
import type { RecentResults } from './recent-results.ts';
import { countsAs, type HistoryEntry, isOk, isResult, tookMs } from './result-record.ts';
import type { Rollups } from './rollups.ts';
import {
  addSnapshot,
  countUntil,
  finalBoundary,
  floorTo,
  lastBefore,
  putBefore,
  type StatusSince,
  startAccount,
  type Tally,
  talliesAt,
  type UptimeAccount,
} from './uptime-accounting.ts';

const STORED_AFTER_MS = 60_000;
const STORED_WITHIN_MS = 55 * 60_000;

/** An hour is stored a minute to most of an hour after its end, so that not all monitors are stored at once. */
export const storedAfterMs = (monitor: string) =>
  STORED_AFTER_MS + phaseOf(monitor, STORED_WITHIN_MS);

export const STORED_COUNT = 200;

/** Counts the hours of every monitor that aren't stored yet. */
export type HourlyAggregator = ReturnType<typeof createHourlyAggregator>;

/** The status before the first entry in memory; undefined if the monitor had none. */
export type StatusBefore = StatusSince | 'unknown' | undefined;

interface MonitorAccount {
  monitor: string;
  time: UptimeAccount;
  statusBefore: StatusBefore;
  /**
   * The stored hours are read when they are first needed, and put before the time counted until then: reading ten thousand
   * documents at a start would take as long as reading all the results.
   */
  loading: Promise<void> | 'later' | 'done';
  /** The time of the first entry counted here. */
  firstMs: number;
  /** Earlier hours are final, even if more entries come. */
  finalMs: number;
  /** The status at the end of the stored hours, because the hours of a monitor that is rarely checked may hold no check. */
  lastStored: StatusSince | undefined;
  storedAfterMs: number;
}

export function createHourlyAggregator(
  rollups: Rollups,
  recent: Pick<RecentResults, 'of'>,
  log: Logger,
) {
  const hoursByMonitor = new Map<string, MonitorAccount>();

  function hoursOf(monitor: string): MonitorAccount {
    const known = hoursByMonitor.get(monitor);
    if (known) return known;
    const hours = newAccount(monitor);
    hoursByMonitor.set(monitor, hours);
    return hours;
  }

  async function loaded(hours: MonitorAccount): Promise<void> {
    if (hours.loading === 'later') hours.loading = load(hours);
    if (hours.loading !== 'done') await hours.loading;
  }

  async function load(hours: MonitorAccount): Promise<void> {
    const { finalMs, last, newest } = await rollups.begin(hours.monitor).catch((error: unknown) => {
      log.error(
        { err: error, monitor: hours.monitor },
        "could not read a monitor's hourly results",
      );
      return { finalMs: 0, last: undefined, newest: { entries: [], isAll: true } };
    });
    hours.finalMs = finalMs;
    // Memory also holds entries from before the end of the stored hours.
    const firstMs = recent.of(hours.monitor)[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const before = newest.entries.findLast(({ atMs }) => atMs < firstMs);
    if (last && last.atMs < firstMs) hours.statusBefore = last;
    else if (before) hours.statusBefore = snapshotOf(before);
    else if (!newest.isAll) hours.statusBefore = 'unknown';
    hours.lastStored = last;
    putBefore(hours.time, { lengthMs: HOUR_MS, countedMs: finalMs, last }, hours.firstMs);
    hours.loading = 'done';
  }

  /** Stores the hours of a monitor that are due; returns false if there was nothing to do. */
  async function store(own: MonitorAccount, nowMs: number): Promise<boolean> {
    const { time } = own;
    const boundaryMs = finalBoundary(time, floorTo(nowMs - own.storedAfterMs, HOUR_MS));
    if (boundaryMs <= storedUntil(own)) return false;
    const wasLoaded = own.loading === 'done';
    await loaded(own);
    countUntil(time, boundaryMs);
    const isOver = ({ startMs }: Tally) => startMs < boundaryMs;
    const hours = time.tallies.filter(isOver);
    if (hours.length === 0) return !wasLoaded;
    own.finalMs = boundaryMs;
    const last = lastBefore(time, boundaryMs) ?? own.lastStored;
    await rollups.add(own.monitor, {
      finalMs: boundaryMs,
      last,
      hours,
      entries: recent.of(own.monitor).filter(({ atMs }) => atMs < boundaryMs),
    });
    own.lastStored = last;
    time.tallies = time.tallies.filter((tally) => !isOver(tally));
    return true;
  }

  return {
    add(entry: HistoryEntry): void {
      const hours = hoursOf(entry.monitor);
      if (entry.atMs < hours.finalMs) return;
      if (hours.time.last === undefined) hours.firstMs = entry.atMs;
      addEntry(hours.time, entry);
    },
    /** The hours that aren't stored, as of a moment. */
    async open(
      monitor: string,
      nowMs: number,
    ): Promise<{ hours: Tally[]; statusBefore: StatusBefore }> {
      const hours = hoursOf(monitor);
      await loaded(hours);
      return { hours: talliesAt(hours.time, nowMs), statusBefore: hours.statusBefore };
    },
    /**
     * Stores the hours that are due, of a limited number of monitors, because after a long stop all are due. Stops early when
     * `isClosing`; the next start continues.
     */
    async storeDue(nowMs: number, isClosing: () => boolean): Promise<void> {
      let stored = 0;
      let failed: { error: unknown; monitors: number } | undefined;
      for (const hours of hoursByMonitor.values()) {
        if (isClosing() || stored === STORED_COUNT) break;
        try {
          if (await store(hours, nowMs)) stored += 1;
        } catch (error) {
          // One that can't be stored doesn't hold up the others.
          failed = { error, monitors: (failed?.monitors ?? 0) + 1 };
        }
      }
      if (failed) {
        const { error, monitors } = failed;
        log.error({ err: error, monitors }, 'could not store hourly results; retrying');
      }
    },
    /** Everything earlier is stored or wasn't monitored: a later start counts from here. */
    openSinceMs(nowMs: number): number {
      let sinceMs = floorTo(nowMs, HOUR_MS);
      for (const { time } of hoursByMonitor.values()) {
        const firstMs = time.tallies[0]?.startMs;
        if (firstMs !== undefined) sinceMs = Math.min(sinceMs, floorTo(firstMs, HOUR_MS));
      }
      return sinceMs;
    },
    forget: (monitor: string) => void hoursByMonitor.delete(monitor),
  };
}

function newAccount(monitor: string): MonitorAccount {
  return {
    monitor,
    time: startAccount({ lengthMs: HOUR_MS, countedMs: 0, last: undefined }),
    statusBefore: undefined,
    loading: 'later',
    firstMs: 0,
    finalMs: 0,
    lastStored: undefined,
    storedAfterMs: storedAfterMs(monitor),
  };
}

/** The end of the stored hours, as far as known. Hours that could not be stored begin before `finalMs`. */
function storedUntil({ loading, finalMs, time }: MonitorAccount): number {
  const firstMs = time.tallies[0]?.startMs ?? Number.POSITIVE_INFINITY;
  return loading === 'done' ? Math.min(finalMs, firstMs) : firstMs;
}

/** Counts an entry: a result, or the end of the previous one's time. */
export function addEntry(time: UptimeAccount, entry: HistoryEntry): void {
  addSnapshot(
    time,
    snapshotOf(entry),
    isResult(entry) ? { ok: isOk(entry), responseTimeMs: tookMs(entry) } : undefined,
  );
}

export function snapshotOf(entry: HistoryEntry): StatusSince {
  const { atMs, everyMs } = entry;
  // Two intervals, so that a late check leaves no gap.
  return { atMs, worthMs: 2 * everyMs, as: countsAs(entry) };
}
