import type { CheckRecord, Rollup } from '../../contracts/monitoring-additions.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time/clock.ts';
import { addEntry } from './hourly-aggregator.ts';
import { type HistoryEntry, isOk, outcomeOf, tookMs } from './result-record.ts';
import { merge, type Rollups, wasObserved } from './rollups.ts';
import {
  countUntil,
  floorTo,
  gather,
  type StatusSince,
  seenWithin,
  startAccount,
  type Tally,
} from './uptime-accounting.ts';

export const MINUTES_KEPT_MS = 2 * HOUR_MS;

/** `fromMs <= time < toMs`. */
export interface Range {
  fromMs: number;
  toMs: number;
}

export interface DayCounts {
  upMs: number[];
  downMs: number[];
}

export interface OpenHours {
  hours: Tally[];
  /** All earlier hours are stored, by any process; 0 if only this one stores. */
  storedMs: number;
}

export interface EntrySource {
  /** The newest results, oldest first: at least `limit`, if it has so many. */
  newest(monitor: string, limit: number): Promise<readonly HistoryEntry[]>;
  during(monitor: string, range: Range): Promise<EntriesOfTime>;
}

/** The entries of a time, oldest first, and the status before them. */
export interface EntriesOfTime {
  entries: readonly HistoryEntry[];
  statusBefore: StatusSince | undefined;
}

export type HistoryQueries = ReturnType<typeof createHistoryQueries>;

/** A monitor's time up and down in a part of a time, and the number and total response time of the checks that passed. */
export interface SeenPart {
  upMs: number;
  downMs: number;
  passed: number;
  sumMs: number;
}

/** Combines stored hours, hours that aren't stored yet, and the newest results, once these are `restored`. */
export function createHistoryQueries(sources: {
  open: (monitor: string, nowMs: number) => Promise<OpenHours>;
  rollups: Rollups;
  entries: EntrySource;
  restored?: Promise<void>;
  isForgotten: (monitor: string) => boolean;
  wallMs: () => number;
}) {
  const { open, rollups, entries, restored, isForgotten, wallMs } = sources;

  async function hoursAndDays(monitor: string, nowMs: number) {
    // Memory first: hours that are stored in the meantime are then in both, and not in neither.
    const { hours } = await open(monitor, nowMs);
    const stored = await rollups.read(monitor);
    const added = hours.filter(
      (hour) => hour.startMs >= stored.finalMs && hour.startMs <= nowMs && wasObserved(hour),
    );
    return {
      hours: [...stored.hours, ...added],
      days: merge(stored.days, gather(added, DAY_MS)),
    };
  }

  async function minutes(monitor: string, range: Range, nowMs: number): Promise<Tally[]> {
    const fromMs = floorTo(Math.max(range.fromMs, nowMs - MINUTES_KEPT_MS), MINUTE_MS);
    if (fromMs >= range.toMs) return [];
    const found = await entries.during(monitor, { fromMs, toMs: nowMs });
    return countedFrom(found, MINUTE_MS, { fromMs, toMs: nowMs });
  }

  /**
   * The time between each two of `moments`, which are in order. Exact to the millisecond for 90 days, while hours are kept. A part
   * of an older day, or of an hour with more than 60 changes, counts in proportion to its length. Checks of an hour or day that a
   * moment cuts count where that hour or day begins.
   */
  async function parts(monitor: string, moments: readonly number[]): Promise<SeenPart[]> {
    await restored;
    const nowMs = wallMs();
    const { hours, days } = await hoursAndDays(monitor, nowMs);
    return splitInParts([...daysBefore(days, hours), ...hours.map(asHour)], moments, nowMs);
  }

  return {
    /** Newest first: up to the newest 120, and at least the newest 20 after a start. */
    async results(monitor: string, limit: number): Promise<CheckRecord[]> {
      await restored;
      const results = await entries.newest(monitor, limit);
      const firstMs = results[0]?.atMs ?? Number.POSITIVE_INFINITY;
      const stored = results.length < limit ? await rollups.newest(monitor) : [];
      const all = [...stored.filter(({ atMs }) => atMs < firstMs), ...results];
      return all.slice(-limit).reverse().map(toRecord);
    },

    /**
     * The minutes, hours or days that overlap a time, oldest first. Minutes reach back two hours, hours 90 days, days 400 days.
     * Those without any monitored time are left out.
     */
    async rollups(
      monitor: string,
      { by, fromMs, toMs }: Range & { by: 'minute' | 'hour' | 'day' },
    ): Promise<Rollup[]> {
      await restored;
      const nowMs = wallMs();
      const lengthMs = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }[by];
      const tallies =
        by === 'minute'
          ? await minutes(monitor, { fromMs, toMs }, nowMs)
          : (await hoursAndDays(monitor, nowMs))[by === 'hour' ? 'hours' : 'days'];
      return tallies
        .filter((tally) => tally.startMs + lengthMs > fromMs && tally.startMs < toMs)
        .filter(wasObserved)
        .map(toRollup);
    },

    /** The last `count` days, including the current one so far. Stored days are cached, because status pages read them often. */
    async days(
      monitor: string,
      { count, nowMs }: { count: number; nowMs: number },
    ): Promise<DayCounts> {
      await restored;
      // Otherwise a removed monitor's hours would be counted again, and stay in memory.
      if (isForgotten(monitor)) return { upMs: [], downMs: [] };
      const firstDay = Math.floor(nowMs / DAY_MS) - count + 1;
      const upMs = new Array<number>(count).fill(0);
      const downMs = new Array<number>(count).fill(0);
      const add = (day: number, up: number, down: number) => {
        const place = day - firstDay;
        if (place < 0 || place >= count) return;
        upMs[place] = (upMs[place] ?? 0) + up;
        downMs[place] = (downMs[place] ?? 0) + down;
      };
      // Memory first, as above.
      const { hours, storedMs } = await open(monitor, nowMs);
      const { rows, finalMs } = await rollups.days(monitor, storedMs);
      for (let at = 0; at < rows.length; at += 3) {
        add(rows[at] ?? 0, rows[at + 1] ?? 0, rows[at + 2] ?? 0);
      }
      for (const hour of hours) {
        if (hour.startMs < finalMs || hour.startMs > nowMs) continue;
        add(Math.floor(hour.startMs / DAY_MS), hour.upMs, hour.downMs);
      }
      return { upMs, downMs };
    },

    /** The monitor's time up, down and not monitored; the three add up to the range. */
    async uptime(
      monitor: string,
      { fromMs, toMs }: Range,
    ): Promise<{ upMs: number; downMs: number; unseenMs: number }> {
      const [{ upMs, downMs } = { upMs: 0, downMs: 0 }] = await parts(monitor, [fromMs, toMs]);
      return { upMs, downMs, unseenMs: Math.max(0, toMs - fromMs) - upMs - downMs };
    },

    parts,
  };
}

type TallyPiece = Tally & { lengthMs: number };

const asHour = (hour: Tally): TallyPiece => ({ ...hour, lengthMs: HOUR_MS });

const NOTHING_SEEN = { upMs: 0, downMs: 0, passed: 0, sumMs: 0 };

/** Adds up the time and the checks of pieces, in order, between each two of `moments`. */
function splitInParts(
  pieces: readonly TallyPiece[],
  moments: readonly number[],
  nowMs: number,
): SeenPart[] {
  const parts = moments
    .slice(1)
    .map((toMs, at) => ({ ...NOTHING_SEEN, fromMs: moments[at] ?? toMs, toMs }));
  let past = 0;
  for (const piece of pieces) {
    const { startMs } = piece;
    const endMs = Math.min(startMs + piece.lengthMs, Math.max(nowMs, startMs));
    while ((parts[past]?.toMs ?? Number.POSITIVE_INFINITY) <= startMs) past += 1;
    for (const part of parts.slice(past)) {
      const cut = { fromMs: Math.max(part.fromMs, startMs), toMs: Math.min(part.toMs, endMs) };
      if (cut.fromMs >= cut.toMs) break;
      const { upMs, downMs } = seenWithin({ ...piece, lengthMs: endMs - startMs }, cut);
      part.upMs += upMs;
      part.downMs += downMs;
      if (cut.fromMs !== startMs) continue;
      part.passed += piece.checks - piece.failures;
      part.sumMs += piece.sumMs;
    }
  }
  return parts;
}

/** The days, and the part of a day, before the first hour that is kept. */
function daysBefore(days: readonly Tally[], hours: readonly Tally[]): TallyPiece[] {
  const firstMs = hours[0]?.startMs ?? Number.POSITIVE_INFINITY;
  return days
    .filter(({ startMs }) => startMs < firstMs)
    .map((day) => {
      const endMs = Math.min(day.startMs + DAY_MS, firstMs);
      const kept = hours.filter(({ startMs }) => floorTo(startMs, DAY_MS) === day.startMs);
      const withoutHours = (field: 'upMs' | 'downMs' | 'checks' | 'failures' | 'sumMs') =>
        kept.reduce((rest, hour) => rest - hour[field], day[field]);
      return {
        ...day,
        spans: undefined,
        upMs: withoutHours('upMs'),
        downMs: withoutHours('downMs'),
        checks: withoutHours('checks'),
        failures: withoutHours('failures'),
        sumMs: withoutHours('sumMs'),
        lengthMs: endMs - day.startMs,
      };
    });
}

/** Counts a range in tallies of a length; earlier entries only determine the status at its start. */
function countedFrom(
  { entries, statusBefore }: EntriesOfTime,
  lengthMs: number,
  { fromMs, toMs }: Range,
): Tally[] {
  const time = startAccount({ lengthMs, countedMs: 0, last: statusBefore });
  const skip = () => {
    time.tallies = [];
    time.countedMs = fromMs;
  };
  for (const entry of entries) {
    // Earlier time needs no tallies.
    if (entry.atMs >= fromMs && time.countedMs < fromMs) skip();
    addEntry(time, entry);
  }
  if (time.countedMs < fromMs) skip();
  countUntil(time, toMs);
  return time.tallies;
}

function toRecord(entry: HistoryEntry): CheckRecord {
  const { atMs, reason } = entry;
  return {
    at: new Date(atMs).toISOString(),
    ok: isOk(entry),
    outcome: outcomeOf(entry),
    reason,
    response_time_ms: tookMs(entry),
  };
}

function toRollup(tally: Tally): Rollup {
  const { startMs, checks, failures, upMs, downMs, minMs, sumMs, maxMs } = tally;
  const passed = checks - failures;
  const meanMs = Math.round((sumMs / passed) * 10) / 10;
  return {
    starts_at: new Date(startMs).toISOString(),
    checks,
    failures,
    response_time_ms: passed > 0 ? { min: minMs, mean: meanMs, max: maxMs } : null,
    up_ms: upMs,
    down_ms: downMs,
  };
}
