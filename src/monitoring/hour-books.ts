import type { Logger } from 'pino';
import { type Entry, isOk, isResult, tookMs, worthOf } from './entry.ts';
import type { RecentResults } from './recent-results.ts';
import { phaseOf } from './rhythm.ts';
import { HOUR_MS, type Rollups } from './rollups.ts';
import {
  countUntil,
  floorTo,
  lastBefore,
  type SeenTime,
  type Sight,
  see,
  startSeenTime,
  type Tally,
  talliesAt,
} from './seen-time.ts';

/** An hour is stored between a minute and most of an hour after its end: every monitor at its own time. */
const STORED_AFTER_MS = 60_000;
const STORED_WITHIN_MS = 55 * 60_000;

/** Monitors whose hours are stored at one time, if so many are due. */
const STORED_COUNT = 200;

/** The hours of every monitor that are not stored yet. */
export interface HourBooks {
  /** Counts an entry, at once or as soon as it is known where counting goes on. */
  take(entry: Entry): void;
  /** Resolves when all that was taken is counted. */
  settled(): Promise<void>;
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
  /** What came before it was known what is stored; absent when it is known. */
  loading: { waiting: Entry[]; done: Promise<void> } | undefined;
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
  const loading = new Set<Promise<void>>();

  function bookOf(monitor: string): Book {
    const known = books.get(monitor);
    if (known) return known;
    const book: Book = {
      monitor,
      time: startSeenTime({ lengthMs: HOUR_MS, countedMs: 0, last: undefined }),
      began: undefined,
      loading: undefined,
      finalMs: 0,
      storedAfterMs: STORED_AFTER_MS + phaseOf(monitor, STORED_WITHIN_MS),
    };
    books.set(monitor, book);
    const waiting: Entry[] = [];
    const done = load(book, waiting).finally(() => loading.delete(done));
    loading.add(done);
    book.loading = { waiting, done };
    return book;
  }

  async function load(book: Book, waiting: readonly Entry[]): Promise<void> {
    const { finalMs, last } = await rollups.begin(book.monitor).catch((error: unknown) => {
      log.error({ err: error, monitor: book.monitor }, 'hours of a monitor cannot be read');
      return { finalMs: 0, last: undefined };
    });
    book.finalMs = finalMs;
    book.began = last;
    book.time = startSeenTime({ lengthMs: HOUR_MS, countedMs: finalMs, last });
    book.loading = undefined;
    for (const entry of waiting) count(book, entry);
  }

  function count({ finalMs, time }: Book, entry: Entry) {
    if (entry.atMs >= finalMs) seeEntry(time, entry);
  }

  /** Stores the hours of a book up to the last one whose time has come; false when there are none. */
  async function store(book: Book, nowMs: number): Promise<boolean> {
    const { time } = book;
    const boundaryMs = floorTo(nowMs - book.storedAfterMs, HOUR_MS);
    if (book.loading || boundaryMs <= storedUntil(book)) return false;
    countUntil(time, boundaryMs);
    const isOver = ({ startMs }: Tally) => startMs < boundaryMs;
    const hours = time.tallies.filter(isOver);
    if (hours.length === 0) return false;
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
      if (book.loading) book.loading.waiting.push(entry);
      else count(book, entry);
    },
    async settled() {
      while (loading.size > 0) await Promise.all(loading);
    },
    async open(monitor, nowMs) {
      const book = bookOf(monitor);
      await book.loading?.done;
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
      for (const { loading, time } of books.values()) {
        const firstMs = loading ? loading.waiting[0]?.atMs : time.tallies[0]?.startMs;
        if (firstMs !== undefined) sinceMs = Math.min(sinceMs, floorTo(firstMs, HOUR_MS));
      }
      return sinceMs;
    },
    forget: (monitor) => void books.delete(monitor),
  };
}

/** Up to where the hours of a book are stored; what could not be stored is behind `finalMs`. */
function storedUntil({ finalMs, time }: Book): number {
  return Math.min(finalMs, time.tallies[0]?.startMs ?? finalMs);
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
