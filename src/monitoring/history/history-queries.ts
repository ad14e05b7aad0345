import type { CheckRecord, Rollup } from '../../contracts/monitoring-additions.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time/clock.ts';
import { addEntry } from './hourly-aggregator.ts';
import { type Entry, isOk, outcomeOf, tookMs } from './result-record.ts';
import { merge, type Rollups, wasObserved } from './rollups.ts';
import {
  countUntil,
  floorTo,
  gather,
  type Snapshot,
  seenWithin,
  startAccount,
  type Tally,
} from './uptime-accounting.ts';

/** How far back minutes reach: what the memory does not hold of it is read from the journal. */
export const MINUTES_KEPT_MS = 2 * HOUR_MS;

/** A time from its begin up to its end. */
export interface Range {
  fromMs: number;
  toMs: number;
}

/** Milliseconds seen up and down by day, oldest first. */
export interface DayCounts {
  upMs: number[];
  downMs: number[];
}

/** The hours of a monitor that are not stored. */
export interface OpenHours {
  hours: Tally[];
  /** Up to here all are stored, by whichever process; 0 where only this one stores. */
  storedMs: number;
}

/** Where single results and what came between them are found. */
export interface EntrySource {
  /** The newest results, oldest first: at least `limit`, as far as it has them. */
  newest(monitor: string, limit: number): Promise<readonly Entry[]>;
  /** What entries tell of a time. */
  during(monitor: string, range: Range): Promise<Told>;
}

/** Entries that tell of a time, oldest first, and what was so before them. */
export interface Told {
  entries: readonly Entry[];
  began: Snapshot | undefined;
}

/** The questions that a history answers. */
export type HistoryQueries = ReturnType<typeof createHistoryQueries>;

/** What was seen of a monitor in a part of a time: how long it was up and down, and what the checks that passed took in all. */
export interface SeenPart {
  upMs: number;
  downMs: number;
  passed: number;
  sumMs: number;
}

/** Puts together what is stored, what is counted but not stored, and the newest results; waits until these are `restored`. */
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
    // First what is in memory: hours that are stored meanwhile are then in both, and not in neither.
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
    const told = await entries.during(monitor, { fromMs, toMs: nowMs });
    return countedFrom(told, MINUTE_MS, { fromMs, toMs: nowMs });
  }

  /**
   * What was seen between each two of some moments, which are in order: to the millisecond as far as hours are kept, 90 days.
   * In proportion to its length counts a part of an older day, and of an hour in which it changed more than 60 times. The
   * checks of a piece that a moment cuts count where it begins.
   */
  async function parts(monitor: string, moments: readonly number[]): Promise<SeenPart[]> {
    await restored;
    const nowMs = wallMs();
    const { hours, days } = await hoursAndDays(monitor, nowMs);
    const found = moments
      .slice(1)
      .map((toMs, at) => ({ ...NOTHING_SEEN, fromMs: moments[at] ?? toMs, toMs }));
    let past = 0;
    for (const piece of [...daysBefore(days, hours), ...hours.map(asHour)]) {
      const { startMs } = piece;
      const endMs = Math.min(startMs + piece.lengthMs, Math.max(nowMs, startMs));
      while ((found[past]?.toMs ?? Number.POSITIVE_INFINITY) <= startMs) past += 1;
      for (const part of found.slice(past)) {
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
    return found;
  }

  return {
    /** The newest results first, of the newest 120; of those from before a start, the newest 20 at least. */
    async results(monitor: string, limit: number): Promise<CheckRecord[]> {
      await restored;
      const results = await entries.newest(monitor, limit);
      const firstMs = results[0]?.atMs ?? Number.POSITIVE_INFINITY;
      const stored = results.length < limit ? await rollups.newest(monitor) : [];
      const all = [...stored.filter(({ atMs }) => atMs < firstMs), ...results];
      return all.slice(-limit).reverse().map(toRecord);
    },

    /**
     * What was seen, oldest first, in pieces that begin in `fromMs <= time < toMs` or hold `fromMs`. Minutes reach back two
     * hours, hours 90 days, days 400 days. Pieces of which nothing was seen are left out.
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

    /**
     * How so many days went up to the one that `nowMs` is in, which counts so far. What is stored of them is read once and
     * then remembered, since all monitors are asked for again and again.
     */
    async days(
      monitor: string,
      { count, nowMs }: { count: number; nowMs: number },
    ): Promise<DayCounts> {
      await restored;
      // Its hours would be counted again, and stay.
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
      // First what is in memory, as above.
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

    /** How long it was seen up and down, milliseconds, as `parts` counts it; the three together are the range. */
    async uptime(
      monitor: string,
      { fromMs, toMs }: Range,
    ): Promise<{ upMs: number; downMs: number; unseenMs: number }> {
      const [{ upMs, downMs } = { upMs: 0, downMs: 0 }] = await parts(monitor, [fromMs, toMs]);
      return { upMs, downMs, unseenMs: Math.max(0, toMs - fromMs) - upMs - downMs };
    },

    /** What was seen between each two of some moments, which are in order. */
    parts,
  };
}

/** A tally and how much time it is of. */
type Piece = Tally & { lengthMs: number };

const asHour = (hour: Tally): Piece => ({ ...hour, lengthMs: HOUR_MS });

const NOTHING_SEEN = { upMs: 0, downMs: 0, passed: 0, sumMs: 0 };

/** What days tell of the time before the first hour that is kept. */
function daysBefore(days: readonly Tally[], hours: readonly Tally[]): Piece[] {
  const firstMs = hours[0]?.startMs ?? Number.POSITIVE_INFINITY;
  return days
    .filter(({ startMs }) => startMs < firstMs)
    .map((day) => {
      const endMs = Math.min(day.startMs + DAY_MS, firstMs);
      const kept = hours.filter(({ startMs }) => floorTo(startMs, DAY_MS) === day.startMs);
      const left = (of: 'upMs' | 'downMs' | 'checks' | 'failures' | 'sumMs') =>
        kept.reduce((all, hour) => all - hour[of], day[of]);
      return {
        ...day,
        spans: undefined,
        upMs: left('upMs'),
        downMs: left('downMs'),
        checks: left('checks'),
        failures: left('failures'),
        sumMs: left('sumMs'),
        lengthMs: endMs - day.startMs,
      };
    });
}

/** What entries tell of a range, in pieces of a length; those before it say only what it begins with. */
function countedFrom({ entries, began }: Told, lengthMs: number, { fromMs, toMs }: Range): Tally[] {
  const time = startAccount({ lengthMs, countedMs: 0, last: began });
  const skip = () => {
    time.tallies = [];
    time.countedMs = fromMs;
  };
  for (const entry of entries) {
    // What is long past need not be counted piece by piece.
    if (entry.atMs >= fromMs && time.countedMs < fromMs) skip();
    addEntry(time, entry);
  }
  if (time.countedMs < fromMs) skip();
  countUntil(time, toMs);
  return time.tallies;
}

function toRecord(entry: Entry): CheckRecord {
  const { atMs, reason } = entry;
  return {
    at: new Date(atMs).toISOString(),
    ok: isOk(entry),
    outcome: outcomeOf(entry),
    ...(reason !== undefined && { reason }),
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
