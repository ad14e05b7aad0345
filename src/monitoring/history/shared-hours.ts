import type { Logger } from 'pino';
import { beginTurn, yieldToEventLoop } from '../../contracts/event-loop.ts';
import { type Series, SLOT_REACH_MS } from '../../store/series.ts';
import type { RegisterExtras } from '../../store/store.ts';
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
import { finalBoundary, floorTo, talliesAt } from './uptime-accounting.ts';

/** Monitors whose rows are read with one statement. */
const READ_COUNT = 20;

/** Monitors that are gone on with by one statement. */
const HANDED_COUNT = 500;

/** Others change what is read so often before this gives up. */
const MAX_TRIES = 20;

/** What another process has written just now may come a moment later than word of it. */
const SETTLED_AFTER_MS = 1_000;

/** The hours that are not stored yet: of the own monitors in memory, of the others as they are handed over. */
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

/** Of one monitor: `counted` here, or to be worked out. */
interface MonitorHours {
  readonly monitor: string;
  counted: UnstoredHours | undefined;
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
  /** What `give` gave, beside the states: for the process that goes on with it, and for those who are asked. */
  handed: RegisterExtras;
  owns: (monitor: string) => boolean;
  isForgotten: (monitor: string) => boolean;
  log: Logger;
}) {
  const { rollups, series, writer, handed, owns, isForgotten, log } = parts;
  const hoursByMonitor = new Map<string, MonitorHours>();
  let gathering: Gathering | undefined;

  function hoursOf(monitor: string): MonitorHours {
    const known = hoursByMonitor.get(monitor);
    if (known) return known;
    const hours = unknownHours(monitor);
    if (!isForgotten(monitor)) hoursByMonitor.set(monitor, hours);
    return hours;
  }

  function set(own: MonitorHours, counted: UnstoredHours | undefined) {
    own.version += 1;
    own.counted = counted;
    own.settledMs = performance.now() + SETTLED_AFTER_MS;
  }

  /** Reads where the stored hours of monitors end, and all entries since; gives for which of them it cannot. */
  async function readSince(
    members: readonly MonitorHours[],
    use: (own: MonitorHours, since: Since) => void,
  ): Promise<Map<MonitorHours, unknown>> {
    const beganMs = performance.now();
    const failures = new Map<MonitorHours, unknown>();
    if (members.length === 0) return failures;
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
    const found = await foundElsewhere(
      members.filter(({ monitor }) => !owns(monitor) && !isForgotten(monitor)),
    );
    const left = members.filter((own) => !found.has(own));
    const failures = await readSince(left, (own, { end, entries, isSettled }) => {
      const hours = own.counted ?? countFrom(end, entries);
      if (isSettled) own.counted = hours;
      found.set(own, hours);
    });
    return { found, failures };
  }

  /** What others who count them have handed over; not of all, perhaps. */
  async function foundElsewhere(members: readonly MonitorHours[]) {
    const found = new Map<MonitorHours, UnstoredHours>();
    if (members.length === 0) return found;
    const texts = await handed.of(members.map(({ monitor }) => monitor));
    for (const own of members) {
      const hours = fromText(texts.get(own.monitor));
      if (hours) found.set(own, hours);
    }
    return found;
  }

  /** Works it out as soon as it can be kept. */
  function workOutLater(own: MonitorHours): void {
    if (own.isToBeRead) return;
    own.isToBeRead = true;
    const read = () => {
      own.isToBeRead = false;
      workOut(own)
        .then(() => {
          // What another process has done meanwhile has made it unsure once more.
          if (!own.counted && hoursByMonitor.get(own.monitor) === own) workOutLater(own);
        })
        .catch((error: unknown) => {
          log.debug(
            { err: error, monitor: own.monitor },
            "could not work out a monitor's open hours; retrying later",
          );
        });
    };
    const waitMs = own.settledMs - performance.now();
    // A timer may be early by less than a millisecond.
    if (waitMs > 0) setTimeout(read, waitMs + 1).unref();
    else read();
  }

  async function known(own: MonitorHours): Promise<UnstoredHours> {
    for (let left = MAX_TRIES; left > 0; left -= 1) {
      const hours = own.counted ?? (await workOut(own));
      if (hours) return hours;
    }
    throw new Error("A monitor's open hours change too often to be read.");
  }

  function dueBoundary(own: MonitorHours, nowMs: number): number {
    return floorTo(nowMs - own.storedAfterMs, HOUR_MS);
  }

  /** Counts the hours of monitors from the rows, and stores those whose time has come; gives for which it cannot. */
  async function storeAll(members: readonly MonitorHours[], nowMs: number) {
    const due: Array<{ own: MonitorHours; closed: ClosedHours }> = [];
    const failures = await readSince(members, (own, { end, entries, isSettled }) => {
      if (own.counted) setStored(own.counted, end.finalMs);
      const fromRows = countFrom(end, entries);
      const boundaryMs = finalBoundary(fromRows.time, dueBoundary(own, nowMs));
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
    /** Counts an entry; of a monitor that another process counts it need not. */
    add(entry: Entry): void {
      const { monitor } = entry;
      if (!owns(monitor) && !hoursByMonitor.has(monitor)) return;
      const own = hoursOf(monitor);
      if (own.counted && countOne(own.counted, entry)) return;
      if (own.counted) set(own, undefined);
      workOutLater(own);
    },
    /** The hours that are not stored, as they are at a moment. */
    async open(monitor: string, nowMs: number): Promise<OpenHours> {
      const own = owns(monitor) ? hoursOf(monitor) : unknownHours(monitor);
      const { time, finalMs } = await known(own);
      return { hours: talliesAt(time, nowMs), storedMs: finalMs };
    },
    give(monitor: string): string | null {
      const hours = hoursByMonitor.get(monitor)?.counted;
      return hours ? toText(hours) : null;
    },
    /** Another process has stored something of it, with what it had counted. */
    take(monitor: string, value: unknown): void {
      if (owns(monitor)) set(hoursOf(monitor), fromText(value));
    },
    /** Goes on with what is handed over of some that are the own ones now. */
    async takeOver(monitors: readonly string[]): Promise<void> {
      for (let at = 0; at < monitors.length; at += HANDED_COUNT) {
        const members = monitors
          .slice(at, at + HANDED_COUNT)
          .filter(owns)
          .map(hoursOf);
        const versions = members.map(({ version }) => version);
        const texts = await handed.of(members.map(({ monitor }) => monitor));
        for (const [place, own] of members.entries()) {
          const isTouched = own.version !== versions[place] || own.isToBeRead || own.reading;
          // Something came in since, and the rows tell more.
          if (!own.counted && !isTouched) own.counted = fromText(texts.get(own.monitor));
        }
      }
    },
    /** Another process counts it from now on. */
    leave: (monitor: string) => void hoursByMonitor.delete(monitor),
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
        if (!own.counted || isDue(own.counted, dueBoundary(own, nowMs))) due.push(own);
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
          'could not store hourly results; retrying',
        );
      }
    },
    /** Whether the hours before a moment are stored of all monitors, whoever owns them; what is not sure is read. */
    async areStoredBefore(beforeMs: number): Promise<boolean> {
      let unsure: MonitorHours[] = [];
      const turn = beginTurn();
      for await (const texts of handed.all()) {
        for (const [monitor, text] of texts) {
          if (turn.isOver()) await turn.next();
          if (isForgotten(monitor) || isFinalFrom(text, beforeMs)) continue;
          const hours = fromText(text);
          if (hours && !isDue(hours, beforeMs)) continue;
          unsure.push(unknownHours(monitor));
          if (unsure.length < READ_COUNT) continue;
          if (!(await areRowsStored(unsure, beforeMs))) return false;
          unsure = [];
        }
      }
      return await areRowsStored(unsure, beforeMs);
    },
    forget: (monitor: string) => void hoursByMonitor.delete(monitor),
  };
}

const unknownHours = (monitor: string): MonitorHours => ({
  monitor,
  counted: undefined,
  version: 0,
  settledMs: Number.NEGATIVE_INFINITY,
  reading: undefined,
  isToBeRead: false,
  storedAfterMs: storedAfterMs(monitor),
});
