import type { Logger } from 'pino';
import { phaseOf } from '../time/rhythm.ts';
import type { RecentResults } from './recent-results.ts';
import { type Entry, isOk, isResult, tookMs, worthOf } from './result-record.ts';
import { HOUR_MS, type Rollups } from './rollups.ts';
import {
  countUntil,
  floorTo,
  lastBefore,
  putBefore,
  type SeenTime,
  type Sight,
  see,
  startSeenTime,
  type Tally,
  talliesAt,
} from './uptime-accounting.ts';

/** An hour is stored between a minute and most of an hour after its end: every monitor at its own time. */
const STORED_AFTER_MS = 60_000;
const STORED_WITHIN_MS = 55 * 60_000;

/** Monitors whose hours are stored at one time, if so many are due. */
const STORED_COUNT = 200;

/** The hours of every monitor that are not stored yet. */
export interface HourBooks {
  /** Counts an entry. */
  take(entry: Entry): void;
  /** The hours that are not stored, as they are at a moment, and the sight that they began with when it was loaded. */
  open(monitor: string, nowMs: number): Promise<{ hours: Tally[]; began: Sight | undefined }>;
  /**
   * Stores hours that are over and whose time has come, of some monitors: after a long stop all are due, and nobody
   * should wait for that. Stops early when it is closing, and a start goes on.
   */
  storeDue(nowMs: number, isClosing: () => boolean): Promise<void>;
  /** What has come before is stored or was not seen: a later start counts from here. */
  openSinceMs(nowMs: number): number;
  forget(monitor: string): void;
}

interface Book {
  monitor: string;
  time: SeenTime;
  /** What the time that is counted here began with. */
  began: Sight | undefined;
  /**
   * What is stored is read when it is first needed, and put before what was counted meanwhile: ten thousand documents at a
   * start would take as long as all the results.
   */
  loading: Promise<void> | 'later' | 'done';
  /** The first entry that was counted here. */
  firstMs: number;
  /** Hours before are final, whatever still comes. */
  finalMs: number;
  storedAfterMs: number;
}

export function createHourBooks(
  rollups: Rollups,
  recent: Pick<RecentResults, 'of'>,
  log: Logger,
): HourBooks {
  const books = new Map<string, Book>();

  function bookOf(monitor: string): Book {
    const known = books.get(monitor);
    if (known) return known;
    const book: Book = {
      monitor,
      time: startSeenTime({ lengthMs: HOUR_MS, countedMs: 0, last: undefined }),
      began: undefined,
      loading: 'later',
      firstMs: 0,
      finalMs: 0,
      storedAfterMs: STORED_AFTER_MS + phaseOf(monitor, STORED_WITHIN_MS),
    };
    books.set(monitor, book);
    return book;
  }

  async function loaded(book: Book): Promise<void> {
    if (book.loading === 'later') book.loading = load(book);
    if (book.loading !== 'done') await book.loading;
  }

  async function load(book: Book): Promise<void> {
    const { finalMs, last } = await rollups.begin(book.monitor).catch((error: unknown) => {
      log.error({ err: error, monitor: book.monitor }, 'hours of a monitor cannot be read');
      return { finalMs: 0, last: undefined };
    });
    book.finalMs = finalMs;
    book.began = last;
    putBefore(book.time, { lengthMs: HOUR_MS, countedMs: finalMs, last }, book.firstMs);
    book.loading = 'done';
  }

  /** Stores the hours of a book up to the last one whose time has come; false when there was nothing to do. */
  async function store(book: Book, nowMs: number): Promise<boolean> {
    const { time } = book;
    const boundaryMs = floorTo(nowMs - book.storedAfterMs, HOUR_MS);
    if (boundaryMs <= storedUntil(book)) return false;
    const wasLoaded = book.loading === 'done';
    await loaded(book);
    countUntil(time, boundaryMs);
    const isOver = ({ startMs }: Tally) => startMs < boundaryMs;
    const hours = time.tallies.filter(isOver);
    if (hours.length === 0) return !wasLoaded;
    book.finalMs = boundaryMs;
    await rollups.add(book.monitor, {
      finalMs: boundaryMs,
      last: lastBefore(time, boundaryMs) ?? book.began,
      hours,
      results: recent
        .of(book.monitor)
        .filter((entry) => isResult(entry) && entry.atMs < boundaryMs),
    });
    time.tallies = time.tallies.filter((tally) => !isOver(tally));
    return true;
  }

  return {
    take(entry) {
      const book = bookOf(entry.monitor);
      if (entry.atMs < book.finalMs) return;
      if (book.time.last === undefined) book.firstMs = entry.atMs;
      seeEntry(book.time, entry);
    },
    async open(monitor, nowMs) {
      const book = bookOf(monitor);
      await loaded(book);
      return { hours: talliesAt(book.time, nowMs), began: book.began };
    },
    async storeDue(nowMs, isClosing) {
      let stored = 0;
      let failed: { error: unknown; monitors: number } | undefined;
      for (const book of books.values()) {
        if (isClosing() || stored === STORED_COUNT) break;
        try {
          if (await store(book, nowMs)) stored += 1;
        } catch (error) {
          // The others are not held up by one that cannot be stored.
          failed = { error, monitors: (failed?.monitors ?? 0) + 1 };
        }
      }
      if (failed) {
        const { error, monitors } = failed;
        log.error({ err: error, monitors }, 'hours cannot be stored; it is tried again');
      }
    },
    openSinceMs(nowMs) {
      let sinceMs = floorTo(nowMs, HOUR_MS);
      for (const { time } of books.values()) {
        const firstMs = time.tallies[0]?.startMs;
        if (firstMs !== undefined) sinceMs = Math.min(sinceMs, floorTo(firstMs, HOUR_MS));
      }
      return sinceMs;
    },
    forget: (monitor) => void books.delete(monitor),
  };
}

/** Up to where the hours of a book are stored, as far as is known; what could not be stored is behind `finalMs`. */
function storedUntil({ loading, finalMs, time }: Book): number {
  const firstMs = time.tallies[0]?.startMs ?? Number.POSITIVE_INFINITY;
  return loading === 'done' ? Math.min(finalMs, firstMs) : firstMs;
}

/** Takes an entry into seen time: a result with its check, or the end of what the one before was worth. */
export function seeEntry(time: SeenTime, entry: Entry): void {
  const { atMs, everyMs } = entry;
  // Two intervals: one that comes late by less has missed nothing.
  const sight = { atMs, worthMs: 2 * everyMs, as: worthOf(entry) };
  see(
    time,
    sight,
    isResult(entry) ? { ok: isOk(entry), responseTimeMs: tookMs(entry) } : undefined,
  );
}
