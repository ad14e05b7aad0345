import type { Logger } from 'pino';
import { beginTurn, yieldToEventLoop } from '../../contracts/event-loop.ts';
import { type Series, SLOT_REACH_MS } from '../../store/series.ts';
import { HOUR_MS } from '../time/clock.ts';
import type { OpenHours } from './history-queries.ts';
import { STORED_COUNT, storedAfterMs } from './hourly-aggregator.ts';
import type { Entry } from './result-record.ts';
import type { ClosedHours, Rollups } from './rollups.ts';
import type { SeriesWriter } from './series-writer.ts';
import {
  countFrom,
  countOne,
  fromText,
  hoursBefore,
  isDue,
  isFinalFrom,
  type StoredEnd,
  setStored,
  toText,
  type UnstoredHours,
} from './unstored-hours.ts';
import { floorTo, talliesAt } from './uptime-accounting.ts';

/** Monitors whose rows are read with one statement. */
const READ_COUNT = 20;

/** Others change what is read so often before this gives up. */
const MAX_TRIES = 20;

/** What another process has written just now may come a moment later than word of it. */
const SETTLED_AFTER_MS = 1_000;

/** The hours that are not stored yet, of every monitor, whichever process checks it. */
export type SharedHours = ReturnType<typeof createSharedHours>;

/** Entries of a monitor since its stored hours. */
interface Since {
  end: StoredEnd;
  entries: readonly Entry[];
  /** Whether all of them are there that this process has had word of. */
  isSettled: boolean;
}

interface Gathering {
  members: MonitorHours[];
  done: Promise<{
    found: Map<MonitorHours, UnstoredHours>;
    failures: Map<MonitorHours, unknown>;
  }>;
}

/** `counted` here, else as `handed` over by another process, else to be worked out. */
interface MonitorHours {
  monitor: string;
  counted: UnstoredHours | undefined;
  handed: unknown;
  /** Grows with everything that makes a reading that has begun say nothing. */
  version: number;
  /** What is read before, on the monotonic clock, may lack what others have written: it is an answer, and not kept. */
  settledMs: number;
  reading: Promise<UnstoredHours | undefined> | undefined;
  isToBeRead: boolean;
  storedAfterMs: number;
}

/**
 * What is counted in memory is for those who ask; what is stored is counted once more from the rows. So whatever a takeover,
 * a kill or a second process did to the memory is gone an hour later.
 */
export function createSharedHours(parts: {
  rollups: Rollups;
  series: Series;
  writer: Pick<SeriesWriter, 'read'>;
  owns: (monitor: string) => boolean;
  isForgotten: (monitor: string) => boolean;
  log: Logger;
}) {
  const { rollups, series, writer, owns, isForgotten, log } = parts;
  const hoursByMonitor = new Map<string, MonitorHours>();
  let gathering: Gathering | undefined;

  function hoursOf(monitor: string): MonitorHours {
    const known = hoursByMonitor.get(monitor);
    if (known) return known;
    const hours: MonitorHours = {
      monitor,
      counted: undefined,
      handed: undefined,
      version: 0,
      settledMs: Number.NEGATIVE_INFINITY,
      reading: undefined,
      isToBeRead: false,
      storedAfterMs: storedAfterMs(monitor),
    };
    if (!isForgotten(monitor)) hoursByMonitor.set(monitor, hours);
    return hours;
  }

  /** As objects from here on: one that is counted, or may be stored soon. */
  function unpack(own: MonitorHours): UnstoredHours | undefined {
    own.counted ??= fromText(own.handed);
    own.handed = undefined;
    return own.counted;
  }

  function set(own: MonitorHours, handed: unknown) {
    own.version += 1;
    own.counted = undefined;
    own.handed = handed;
    own.settledMs = performance.now() + SETTLED_AFTER_MS;
  }

  /** Reads where the stored hours of monitors end, and all entries since; gives for which of them it cannot. */
  async function readSince(
    members: readonly MonitorHours[],
    use: (own: MonitorHours, since: Since) => void,
  ): Promise<Map<MonitorHours, unknown>> {
    const beganMs = performance.now();
    const failures = new Map<MonitorHours, unknown>();
    const versions = members.map(({ version }) => version);
    const ends = new Map<MonitorHours, StoredEnd>();
    const ask = async () => {
      for (const own of members) {
        await rollups.begin(own.monitor).then(
          (end) => ends.set(own, end),
          (error: unknown) => failures.set(own, error),
        );
      }
      return await series.between(
        [...ends].map(([{ monitor }, { finalMs }]) => ({
          monitor,
          fromMs: finalMs - SLOT_REACH_MS,
          toMs: Number.POSITIVE_INFINITY,
        })),
      );
    };
    const names = members.map(({ monitor }) => monitor);
    await writer.read(names, ask, (entriesOf) => {
      for (const [place, own] of members.entries()) {
        const end = ends.get(own);
        if (!end || own.version !== versions[place]) continue;
        use(own, { end, entries: entriesOf(own.monitor), isSettled: beganMs >= own.settledMs });
      }
    });
    return failures;
  }

  /** Works out what nobody has handed over, together with what else is asked for; nothing when it has changed meanwhile. */
  function workOut(own: MonitorHours): Promise<UnstoredHours | undefined> {
    if (own.reading) return own.reading;
    if (!gathering || gathering.members.length === READ_COUNT) {
      const members: MonitorHours[] = [];
      gathering = { members, done: readGathered(members) };
    }
    gathering.members.push(own);
    own.reading = gathering.done
      .then(({ found, failures }) => {
        if (failures.has(own)) throw failures.get(own);
        return found.get(own);
      })
      .finally(() => {
        own.reading = undefined;
      });
    return own.reading;
  }

  async function readGathered(members: MonitorHours[]) {
    await yieldToEventLoop();
    if (gathering?.members === members) gathering = undefined;
    const found = new Map<MonitorHours, UnstoredHours>();
    const failures = await readSince(members, (own, { end, entries, isSettled }) => {
      const hours = own.counted ?? countFrom(end, entries);
      if (isSettled) own.counted = hours;
      found.set(own, hours);
    });
    return { found, failures };
  }

  /** Works it out as soon as it can be kept. */
  function workOutLater(own: MonitorHours): void {
    if (own.isToBeRead) return;
    own.isToBeRead = true;
    const read = () => {
      own.isToBeRead = false;
      workOut(own)
        .then(() => {
          // What another process has handed in meanwhile has made it unsure once more.
          const isKept = own.counted !== undefined || own.handed !== undefined;
          if (!isKept && hoursByMonitor.get(own.monitor) === own) workOutLater(own);
        })
        .catch((error: unknown) => {
          log.debug({ err: error, monitor: own.monitor }, 'open hours are worked out later');
        });
    };
    const waitMs = own.settledMs - performance.now();
    // A timer may be early by less than a millisecond.
    if (waitMs > 0) setTimeout(read, waitMs + 1).unref();
    else read();
  }

  async function known(own: MonitorHours): Promise<UnstoredHours> {
    for (let left = MAX_TRIES; left > 0; left -= 1) {
      const hours = own.counted ?? fromText(own.handed) ?? (await workOut(own));
      if (hours) return hours;
    }
    throw new Error('The open hours of a monitor change too often to be read.');
  }

  function dueBoundary(own: MonitorHours, nowMs: number): number {
    return floorTo(nowMs - own.storedAfterMs, HOUR_MS);
  }

  /** Counts the hours of monitors from the rows, and stores those whose time has come; gives for which it cannot. */
  async function storeAll(members: readonly MonitorHours[], nowMs: number) {
    const due: Array<{ own: MonitorHours; closed: ClosedHours }> = [];
    const failures = await readSince(members, (own, { end, entries, isSettled }) => {
      const boundaryMs = dueBoundary(own, nowMs);
      const counted = unpack(own);
      if (counted) setStored(counted, end.finalMs);
      const fromRows = countFrom(end, entries);
      if (isSettled) own.counted ??= fromRows;
      const { hours, last = end.last } = hoursBefore(fromRows, boundaryMs);
      if (hours.length === 0) return;
      const isNew = ({ atMs }: Entry) => atMs >= end.finalMs && atMs < boundaryMs;
      const closed = { finalMs: boundaryMs, last, hours, entries: entries.filter(isNew) };
      due.push({ own, closed });
    });
    for (const { own, closed } of due) {
      if (!owns(own.monitor)) continue;
      try {
        await rollups.add(own.monitor, closed);
        if (own.counted) setStored(own.counted, closed.finalMs);
      } catch (error) {
        failures.set(own, error);
      }
    }
    return failures;
  }

  async function areRowsStored(members: readonly MonitorHours[], beforeMs: number) {
    let areStored = true;
    const failures = await readSince(members, (_, { end, entries }) => {
      if (isDue(countFrom(end, entries), beforeMs)) areStored = false;
    });
    return areStored && failures.size === 0;
  }

  return {
    /** Counts an entry. */
    add(entry: Entry): void {
      const own = hoursOf(entry.monitor);
      const hours = unpack(own);
      if (hours && countOne(hours, entry)) return;
      if (hours) set(own, undefined);
      workOutLater(own);
    },
    /** The hours that are not stored, as they are at a moment. */
    async open(monitor: string, nowMs: number): Promise<OpenHours> {
      const { time, finalMs } = await known(hoursOf(monitor));
      return { hours: talliesAt(time, nowMs), storedMs: finalMs };
    },
    give(monitor: string): string | null {
      const own = hoursByMonitor.get(monitor);
      const hours = own && unpack(own);
      return hours ? toText(hours) : null;
    },
    take: (monitor: string, value: unknown) => set(hoursOf(monitor), value ?? undefined),
    /** What was counted is not what is stored. */
    recount(monitor: string): void {
      const own = hoursByMonitor.get(monitor);
      if (!own) return;
      set(own, undefined);
      workOutLater(own);
    },
    /** Stores hours that are over and whose time has come, of some of the own monitors; ends early when it is closing. */
    async storeDue(nowMs: number, isClosing: () => boolean): Promise<void> {
      const due: MonitorHours[] = [];
      for (const own of hoursByMonitor.values()) {
        if (due.length === STORED_COUNT) break;
        if (!owns(own.monitor)) continue;
        const hours = unpack(own);
        if (!hours || isDue(hours, dueBoundary(own, nowMs))) due.push(own);
      }
      const failures = new Map<MonitorHours, unknown>();
      for (let at = 0; at < due.length && !isClosing(); at += READ_COUNT) {
        const failed = await storeAll(due.slice(at, at + READ_COUNT), nowMs);
        // The others are not held up by one that cannot be stored.
        for (const [own, error] of failed) failures.set(own, error);
      }
      const [failure] = failures.values();
      if (failures.size > 0) {
        log.error(
          { err: failure, monitors: failures.size },
          'hours cannot be stored; it is tried again',
        );
      }
    },
    /** Whether the hours before a moment are stored of all monitors, whoever owns them; what is not sure is read. */
    async areStoredBefore(beforeMs: number): Promise<boolean> {
      let unsure: MonitorHours[] = [];
      const turn = beginTurn();
      for (const own of [...hoursByMonitor.values()]) {
        if (turn.isOver()) await turn.next();
        if (isFinalFrom(own.handed, beforeMs)) continue;
        const hours = own.counted ?? fromText(own.handed);
        if (hours && !isDue(hours, beforeMs)) continue;
        unsure.push(own);
        if (unsure.length < READ_COUNT) continue;
        if (!(await areRowsStored(unsure, beforeMs))) return false;
        unsure = [];
      }
      return await areRowsStored(unsure, beforeMs);
    },
    forget: (monitor: string) => void hoursByMonitor.delete(monitor),
  };
}
