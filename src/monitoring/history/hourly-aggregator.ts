import type { Logger } from 'pino';
import { HOUR_MS } from '../time/clock.ts';
import { phaseOf } from '../time/rhythm.ts';
import type { RecentResults } from './recent-results.ts';
import { countsAs, type Entry, isOk, isResult, tookMs } from './result-record.ts';
import type { Rollups } from './rollups.ts';
import {
  addSnapshot,
  countUntil,
  finalBoundary,
  floorTo,
  lastBefore,
  putBefore,
  type Snapshot,
  startAccount,
  type Tally,
  talliesAt,
  type UptimeAccount,
} from './uptime-accounting.ts';

const STORED_AFTER_MS = 60_000;
const STORED_WITHIN_MS = 55 * 60_000;

/** An hour is stored between a minute and most of an hour after its end: every monitor at its own time. */
export const storedAfterMs = (monitor: string) =>
  STORED_AFTER_MS + phaseOf(monitor, STORED_WITHIN_MS);

/** How often hours that are over are stored. */
export const STORE_EVERY_MS = 10_000;

/** Monitors whose hours are stored at one time, if so many are due. */
export const STORED_COUNT = 200;

/** The hours of every monitor that are not stored yet. */
export type HourlyAggregator = ReturnType<typeof createHourlyAggregator>;

/** What was so before the first entry in memory; undefined when nothing was. */
export type Began = Snapshot | 'unknown' | undefined;

interface MonitorHours {
  monitor: string;
  time: UptimeAccount;
  began: Began;
  /**
   * What is stored is read when it is first needed, and put before what was counted meanwhile: ten thousand documents at a
   * start would take as long as all the results.
   */
  loading: Promise<void> | 'later' | 'done';
  /** The first entry that was counted here. */
  firstMs: number;
  /** Hours before are final, whatever still comes. */
  finalMs: number;
  /** What the time after the hours that are stored begins with: of a monitor that is seldom checked, hours may hold no check. */
  lastStored: Snapshot | undefined;
  storedAfterMs: number;
}

export function createHourlyAggregator(
  rollups: Rollups,
  recent: Pick<RecentResults, 'of'>,
  log: Logger,
) {
  const hoursByMonitor = new Map<string, MonitorHours>();

  function hoursOf(monitor: string): MonitorHours {
    const known = hoursByMonitor.get(monitor);
    if (known) return known;
    const hours: MonitorHours = {
      monitor,
      time: startAccount({ lengthMs: HOUR_MS, countedMs: 0, last: undefined }),
      began: undefined,
      loading: 'later',
      firstMs: 0,
      finalMs: 0,
      lastStored: undefined,
      storedAfterMs: storedAfterMs(monitor),
    };
    hoursByMonitor.set(monitor, hours);
    return hours;
  }

  async function loaded(hours: MonitorHours): Promise<void> {
    if (hours.loading === 'later') hours.loading = load(hours);
    if (hours.loading !== 'done') await hours.loading;
  }

  async function load(hours: MonitorHours): Promise<void> {
    const { finalMs, last, newest } = await rollups.begin(hours.monitor).catch((error: unknown) => {
      log.error(
        { err: error, monitor: hours.monitor },
        "could not read a monitor's hourly results",
      );
      return { finalMs: 0, last: undefined, newest: { entries: [], isAll: true } };
    });
    hours.finalMs = finalMs;
    // Memory reaches back beyond the hours that are stored.
    const firstMs = recent.of(hours.monitor)[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const before = newest.entries.findLast(({ atMs }) => atMs < firstMs);
    if (last && last.atMs < firstMs) hours.began = last;
    else if (before) hours.began = snapshotOf(before);
    else if (!newest.isAll) hours.began = 'unknown';
    hours.lastStored = last;
    putBefore(hours.time, { lengthMs: HOUR_MS, countedMs: finalMs, last }, hours.firstMs);
    hours.loading = 'done';
  }

  /** Stores the hours of a monitor up to the last one whose time has come; false when there was nothing to do. */
  async function store(own: MonitorHours, nowMs: number): Promise<boolean> {
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
    /** Counts an entry. */
    add(entry: Entry): void {
      const hours = hoursOf(entry.monitor);
      if (entry.atMs < hours.finalMs) return;
      if (hours.time.last === undefined) hours.firstMs = entry.atMs;
      addEntry(hours.time, entry);
    },
    /** The hours that are not stored, as they are at a moment. */
    async open(monitor: string, nowMs: number): Promise<{ hours: Tally[]; began: Began }> {
      const hours = hoursOf(monitor);
      await loaded(hours);
      return { hours: talliesAt(hours.time, nowMs), began: hours.began };
    },
    /**
     * Stores hours that are over and whose time has come, of some monitors: after a long stop all are due, and nobody
     * should wait for that. Stops early when it is closing, and a start goes on.
     */
    async storeDue(nowMs: number, isClosing: () => boolean): Promise<void> {
      let stored = 0;
      let failed: { error: unknown; monitors: number } | undefined;
      for (const hours of hoursByMonitor.values()) {
        if (isClosing() || stored === STORED_COUNT) break;
        try {
          if (await store(hours, nowMs)) stored += 1;
        } catch (error) {
          // The others are not held up by one that cannot be stored.
          failed = { error, monitors: (failed?.monitors ?? 0) + 1 };
        }
      }
      if (failed) {
        const { error, monitors } = failed;
        log.error({ err: error, monitors }, 'could not store hourly results; retrying');
      }
    },
    /** What has come before is stored or was not seen: a later start counts from here. */
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

/** Up to where the hours of a monitor are stored, as far as is known; what could not be stored is behind `finalMs`. */
function storedUntil({ loading, finalMs, time }: MonitorHours): number {
  const firstMs = time.tallies[0]?.startMs ?? Number.POSITIVE_INFINITY;
  return loading === 'done' ? Math.min(finalMs, firstMs) : firstMs;
}

/** Takes an entry into an account: a result with its check, or the end of what the one before was worth. */
export function addEntry(time: UptimeAccount, entry: Entry): void {
  addSnapshot(
    time,
    snapshotOf(entry),
    isResult(entry) ? { ok: isOk(entry), responseTimeMs: tookMs(entry) } : undefined,
  );
}

/** What the time after an entry counts as, and how long. */
export function snapshotOf(entry: Entry): Snapshot {
  const { atMs, everyMs } = entry;
  // Two intervals: one that comes late by less has missed nothing.
  return { atMs, worthMs: 2 * everyMs, as: countsAs(entry) };
}
