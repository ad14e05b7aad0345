import type { HourlyAggregator } from './hourly-aggregator.ts';
import { DAY_MS, type Rollups } from './rollups.ts';

/** Days of a monitor that are remembered. */
const DAYS_COUNT = 90;

/** Numbers of a day in a row: the days since 1970, and milliseconds up and down. */
const COLUMNS = 3;

/** Milliseconds seen up and down by day, oldest first. */
export interface DayCounts {
  upMs: number[];
  downMs: number[];
}

/** What is stored of the days of a monitor; hours from `finalMs` on are still to come. */
interface StoredDays {
  finalMs: number;
  /** Rows of numbers: ninety days as objects would take five times the memory. */
  rows: Int32Array;
}

/**
 * The same rollups, with the days of those monitors that were asked for in memory, about 1 KB each: ten thousand documents
 * would take seconds to read each time. What is stored again is read again.
 */
export function cacheDays(
  rollups: Rollups,
  isForgotten: (monitor: string) => boolean,
): Rollups & { rememberedDays: (monitor: string) => Promise<StoredDays> } {
  const cached = new Map<string, Promise<StoredDays>>();

  async function read(monitor: string): Promise<StoredDays> {
    const { days, finalMs } = await rollups.days(monitor);
    const rows = days
      .slice(-DAYS_COUNT)
      .flatMap(({ startMs, upMs, downMs }) => [startMs / DAY_MS, upMs, downMs]);
    return { finalMs, rows: Int32Array.from(rows) };
  }

  return {
    ...rollups,
    async add(monitor, closed) {
      await rollups.add(monitor, closed);
      // After it: whoever has read before has seen these hours in memory, where they are until this resolves.
      cached.delete(monitor);
    },
    async forget(monitor) {
      await rollups.forget(monitor);
      cached.delete(monitor);
    },
    rememberedDays(monitor) {
      const before = cached.get(monitor);
      if (before) return before;
      const reading = read(monitor);
      if (isForgotten(monitor)) return reading;
      cached.set(monitor, reading);
      reading.catch(() => cached.delete(monitor));
      return reading;
    },
  };
}

/** Puts together the days that are stored and the hours that are not. */
export function createDays(parts: {
  hourlyAggregator: HourlyAggregator;
  stored: (monitor: string) => Promise<StoredDays>;
}): (monitor: string, query: { count: number; nowMs: number }) => Promise<DayCounts> {
  const { hourlyAggregator, stored } = parts;
  return async (monitor, { count, nowMs }) => {
    const firstDay = Math.floor(nowMs / DAY_MS) - count + 1;
    const upMs = new Array<number>(count).fill(0);
    const downMs = new Array<number>(count).fill(0);
    const add = (day: number, up: number, down: number) => {
      const place = day - firstDay;
      if (place < 0 || place >= count) return;
      upMs[place] = (upMs[place] ?? 0) + up;
      downMs[place] = (downMs[place] ?? 0) + down;
    };
    // First what is in memory: hours that are stored meanwhile are then in both, and not in neither.
    const { hours } = await hourlyAggregator.open(monitor, nowMs);
    const { rows, finalMs } = await stored(monitor);
    for (let at = 0; at < rows.length; at += COLUMNS) {
      add(rows[at] ?? 0, rows[at + 1] ?? 0, rows[at + 2] ?? 0);
    }
    for (const hour of hours) {
      if (hour.startMs < finalMs || hour.startMs > nowMs) continue;
      add(Math.floor(hour.startMs / DAY_MS), hour.upMs, hour.downMs);
    }
    return { upMs, downMs };
  };
}
