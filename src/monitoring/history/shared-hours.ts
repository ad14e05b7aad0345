import type { Logger } from 'pino';
import { beginTurn, yieldToEventLoop } from '../../contracts/event-loop.ts';
import { type Series, SLOT_REACH_MS } from '../../store/series.ts';
import type { SharedExtras } from '../../store/store.ts';
import { HOUR_MS } from '../time/clock.ts';
import type { OpenHours } from './history-queries.ts';
import { STORED_COUNT, storedAfterMs } from './hourly-aggregator.ts';
import type { HistoryEntry } from './result-record.ts';
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

const TAKEN_OVER_COUNT = 500;

/** Readings of a monitor's hours before this gives up, if they change every time. */
const MAX_TRIES = 20;

/** Another process announces a change up to this long before its rows can be read. */
const SETTLED_AFTER_MS = 1_000;

interface SharedHoursParts {
  rollups: Pick<Rollups, 'begin' | 'add'>;
  series: Pick<Series, 'between'>;
  writer: Pick<SeriesWriter, 'read'>;
  /** Texts of `textOf`, stored with the states, for the next owner and for queries in other processes. */
  handed: SharedExtras;
  owns: (monitor: string) => boolean;
  isForgotten: (monitor: string) => boolean;
  log: Logger;
}

/**
 * Hours of one monitor that aren't stored yet.
 *
 * - *counted*: `counted` is up to date, and each entry is added to it. Reading all rows leads here, and so does the text of
 *   another process, in a takeover or with a state that it stored.
 * - *unknown*: `counted` is undefined. An entry that came too late leads here, and a row that another process stored instead of
 *   ours, and a state with an invalid text. The hours are counted from the rows with the next entry, query or `storeDue`.
 */
interface SharedAccount {
  readonly monitor: string;
  counted: UnstoredHours | undefined;
  /** Grows when a reading that has already begun becomes useless. */
  version: number;
  /** Rows read before this time, on the monotonic clock, may be incomplete: they answer a query, but aren't kept. */
  settledMs: number;
  reading: Promise<UnstoredHours | undefined> | undefined;
  storedAfterMs: number;
}

/** Entries of a monitor since its stored hours. */
interface EntriesSince {
  end: StoredEnd;
  entries: readonly HistoryEntry[];
  /** No announced entry is missing. */
  isSettled: boolean;
}

/** Monitors whose rows are about to be read together. */
interface JointReading {
  members: SharedAccount[];
  done: Promise<{
    found: Map<SharedAccount, UnstoredHours>;
    failures: Map<SharedAccount, unknown>;
  }>;
}

/**
 * Hours that aren't stored yet: in memory for this process's monitors, and as handed over for all others. Queries use the count in
 * memory, but hours are stored from a new count of the rows. So errors in memory, after a kill or a takeover, are gone an hour
 * later.
 */
export class SharedHours {
  readonly #parts: SharedHoursParts;
  readonly #accounts = new Map<string, SharedAccount>();
  #nextReading: JointReading | undefined;

  constructor(parts: SharedHoursParts) {
    this.#parts = parts;
  }

  /** Counts an entry, unless another process counts the monitor. */
  add(entry: HistoryEntry): void {
    const { monitor } = entry;
    if (!this.#parts.owns(monitor) && !this.#accounts.has(monitor)) return;
    const account = this.#accountOf(monitor);
    if (account.counted && countOne(account.counted, entry)) return;
    if (account.counted) setCounted(account, undefined);
    // If it fails, `storeDue` counts them.
    this.#count(account).catch(() => {});
  }

  /** The hours that aren't stored, as of a moment. */
  async open(monitor: string, nowMs: number): Promise<OpenHours> {
    const isOwner = this.#parts.owns(monitor);
    const account = isOwner ? this.#accountOf(monitor) : unknownAccount(monitor);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const hours = account.counted ?? (await this.#count(account));
      if (hours) return { hours: talliesAt(hours.time, nowMs), storedMs: hours.finalMs };
    }
    throw new Error("A monitor's open hours change too often to be read.");
  }

  /** The hours for other processes; null if they aren't known here. */
  textOf(monitor: string): string | null {
    const hours = this.#accounts.get(monitor)?.counted;
    return hours ? toText(hours) : null;
  }

  /** Another process has stored a state of the monitor, with the hours that it had counted. */
  adopt(monitor: string, text: unknown): void {
    if (this.#parts.owns(monitor)) setCounted(this.#accountOf(monitor), fromText(text));
  }

  /** Continues with the hours that other processes handed over. */
  async takeOver(monitors: readonly string[]): Promise<void> {
    const { owns, handed } = this.#parts;
    for (let at = 0; at < monitors.length; at += TAKEN_OVER_COUNT) {
      const members = monitors
        .slice(at, at + TAKEN_OVER_COUNT)
        .filter(owns)
        .map((monitor) => this.#accountOf(monitor));
      const versions = members.map(({ version }) => version);
      const texts = await handed.of(members.map(({ monitor }) => monitor));
      for (const [place, account] of members.entries()) {
        const { version, reading, monitor } = account;
        // If the hours are being counted, the rows know more.
        if (account.counted || reading || version !== versions[place]) continue;
        account.counted = fromText(texts.get(monitor));
      }
    }
  }

  /** Another process counts the monitor from now on, or it is forgotten. */
  drop(monitor: string): void {
    this.#accounts.delete(monitor);
  }

  /** The stored rows differ from the entries that were counted. */
  recount(monitor: string): void {
    const account = this.#accounts.get(monitor);
    if (account) setCounted(account, undefined);
  }

  /** Stores the hours that are over, of up to `STORED_COUNT` monitors of this process. Stops early when `isClosing`. */
  async storeDue(nowMs: number, isClosing: () => boolean): Promise<void> {
    const due: SharedAccount[] = [];
    for (const account of this.#accounts.values()) {
      if (due.length === STORED_COUNT) break;
      if (!this.#parts.owns(account.monitor)) continue;
      if (!account.counted || isDue(account.counted, dueBoundary(account, nowMs)))
        due.push(account);
    }
    const failures = new Map<SharedAccount, unknown>();
    for (let at = 0; at < due.length && !isClosing(); at += READ_COUNT) {
      const failed = await this.#storeTogether(due.slice(at, at + READ_COUNT), nowMs);
      // One that can't be stored doesn't hold up the others.
      for (const [account, error] of failed) failures.set(account, error);
    }
    const [failure] = failures.values();
    if (failures.size > 0) {
      this.#parts.log.error(
        { err: failure, monitors: failures.size },
        'could not store hourly results; retrying',
      );
    }
  }

  /** Checks that the hours before a moment are stored, for the monitors of all processes. Reads the rows of doubtful ones. */
  async areStoredBefore(beforeMs: number): Promise<boolean> {
    let doubtful: SharedAccount[] = [];
    const turn = beginTurn();
    for await (const texts of this.#parts.handed.all()) {
      for (const [monitor, text] of texts) {
        if (turn.isOver()) await turn.next();
        if (this.#parts.isForgotten(monitor) || isFinalFrom(text, beforeMs)) continue;
        const hours = fromText(text);
        if (hours && !isDue(hours, beforeMs)) continue;
        doubtful.push(unknownAccount(monitor));
        if (doubtful.length < READ_COUNT) continue;
        if (!(await this.#areRowsStored(doubtful, beforeMs))) return false;
        doubtful = [];
      }
    }
    return await this.#areRowsStored(doubtful, beforeMs);
  }

  async #areRowsStored(members: readonly SharedAccount[], beforeMs: number) {
    let areStored = true;
    const failures = await this.#readSince(members, (_, { end, entries }) => {
      if (isDue(countFrom(end, entries), beforeMs)) areStored = false;
    });
    return areStored && failures.size === 0;
  }

  #accountOf(monitor: string): SharedAccount {
    const known = this.#accounts.get(monitor);
    if (known) return known;
    const account = unknownAccount(monitor);
    if (!this.#parts.isForgotten(monitor)) this.#accounts.set(monitor, account);
    return account;
  }

  /** Counts the hours of monitors from the rows, and stores due hours. Returns the monitors that failed. */
  async #storeTogether(members: readonly SharedAccount[], nowMs: number) {
    const { rollups, owns } = this.#parts;
    const due: Array<{ account: SharedAccount; closed: ClosedHours }> = [];
    const failures = await this.#readSince(members, (account, { end, entries, isSettled }) => {
      if (account.counted) setStored(account.counted, end.finalMs);
      const fromRows = countFrom(end, entries);
      const boundaryMs = finalBoundary(fromRows.time, dueBoundary(account, nowMs));
      if (isSettled) account.counted ??= fromRows;
      const { hours, last = end.last } = hoursBefore(fromRows, boundaryMs);
      if (hours.length === 0) return;
      const isNew = ({ atMs }: HistoryEntry) => atMs >= end.finalMs && atMs < boundaryMs;
      const closed = { finalMs: boundaryMs, last, hours, entries: entries.filter(isNew) };
      due.push({ account, closed });
    });
    for (const { account, closed } of due) {
      if (!owns(account.monitor)) continue;
      try {
        await rollups.add(account.monitor, closed);
        if (account.counted) setStored(account.counted, closed.finalMs);
      } catch (error) {
        failures.set(account, error);
      }
    }
    return failures;
  }

  /** Reads where the stored hours of monitors end, and all entries since. Returns the monitors that failed. */
  async #readSince(
    members: readonly SharedAccount[],
    use: (account: SharedAccount, since: EntriesSince) => void,
  ): Promise<Map<SharedAccount, unknown>> {
    const { rollups, series, writer } = this.#parts;
    const startedMs = performance.now();
    const failures = new Map<SharedAccount, unknown>();
    if (members.length === 0) return failures;
    const versions = members.map(({ version }) => version);
    const ends = new Map<SharedAccount, StoredEnd>();
    const readRows = async () => {
      for (const account of members) {
        await rollups.begin(account.monitor).then(
          (end) => ends.set(account, end),
          (error: unknown) => failures.set(account, error),
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
    await writer.read(names, readRows, (entriesOf) => {
      for (const [place, account] of members.entries()) {
        const end = ends.get(account);
        if (!end || account.version !== versions[place]) continue;
        const isSettled = startedMs >= account.settledMs;
        use(account, { end, entries: entriesOf(account.monitor), isSettled });
      }
    });
    return failures;
  }

  /** Counts the hours, in one reading with other monitors; undefined if they changed in the meantime. */
  #count(account: SharedAccount): Promise<UnstoredHours | undefined> {
    if (account.reading) return account.reading;
    if (!this.#nextReading || this.#nextReading.members.length === READ_COUNT) {
      const members: SharedAccount[] = [];
      this.#nextReading = { members, done: this.#readTogether(members) };
    }
    this.#nextReading.members.push(account);
    account.reading = this.#nextReading.done
      .then(({ found, failures }) => {
        if (failures.has(account)) throw failures.get(account);
        return found.get(account);
      })
      .finally(() => {
        account.reading = undefined;
      });
    return account.reading;
  }

  async #readTogether(members: SharedAccount[]) {
    await yieldToEventLoop();
    if (this.#nextReading?.members === members) this.#nextReading = undefined;
    const { owns, isForgotten } = this.#parts;
    const found = await this.#findHandedOver(
      members.filter(({ monitor }) => !owns(monitor) && !isForgotten(monitor)),
    );
    const missing = members.filter((account) => !found.has(account));
    const failures = await this.#readSince(missing, (account, { end, entries, isSettled }) => {
      const hours = account.counted ?? countFrom(end, entries);
      if (isSettled) account.counted = hours;
      found.set(account, hours);
    });
    return { found, failures };
  }

  /** Hours that their owners handed over, possibly not for all of these monitors. */
  async #findHandedOver(members: readonly SharedAccount[]) {
    const found = new Map<SharedAccount, UnstoredHours>();
    if (members.length === 0) return found;
    const texts = await this.#parts.handed.of(members.map(({ monitor }) => monitor));
    for (const account of members) {
      const hours = fromText(texts.get(account.monitor));
      if (hours) found.set(account, hours);
    }
    return found;
  }
}

function setCounted(account: SharedAccount, counted: UnstoredHours | undefined): void {
  account.version += 1;
  account.counted = counted;
  account.settledMs = performance.now() + SETTLED_AFTER_MS;
}

function dueBoundary(account: SharedAccount, nowMs: number): number {
  return floorTo(nowMs - account.storedAfterMs, HOUR_MS);
}

function unknownAccount(monitor: string): SharedAccount {
  return {
    monitor,
    counted: undefined,
    version: 0,
    settledMs: Number.NEGATIVE_INFINITY,
    reading: undefined,
    storedAfterMs: storedAfterMs(monitor),
  };
}
