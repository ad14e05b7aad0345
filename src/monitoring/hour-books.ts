import type { Logger } from 'pino';
import type { Entry } from './results-journal.ts';
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

/** The hours of every monitor that are not stored yet. */
export interface HourBooks {
  /** Counts an entry, at once or as soon as it is known where counting goes on. */
  take(entry: Entry): void;
  /** Resolves when all that was taken is counted. */
  settled(): Promise<void>;
  /** The hours that are not stored, as they are at a moment, and the sight that they began with when it was loaded. */
  open(monitor: string, nowMs: number): Promise<{ hours: Tally[]; began: Sight | undefined }>;
  /** Stores hours that are over and whose time has come; stops early when it is closing, and a start goes on. */
  storeDue(nowMs: number, isClosing: () => boolean): Promise<void>;
  /** What has come before is stored or was not seen: a later start counts from here. */
  openSinceMs(nowMs: number): number;
  forget(monitor: string): void;
}

interface Book {
  monitor: string;
  /** Absent until it is known what is stored. */
  counted: { time: SeenTime; began: Sight | undefined } | undefined;
  waiting: Entry[];
  loading: Promise<void>;
  /** Hours before are final, whatever still comes. */
  finalMs: number;
  storedAfterMs: number;
}

export function createHourBooks(rollups: Rollups, log: Logger): HourBooks {
  const books = new Map<string, Book>();
  const loading = new Set<Promise<void>>();

  function bookOf(monitor: string): Book {
    const known = books.get(monitor);
    if (known) return known;
    const book: Book = {
      monitor,
      counted: undefined,
      waiting: [],
      loading: Promise.resolve(),
      finalMs: 0,
      storedAfterMs: STORED_AFTER_MS + phaseOf(monitor, STORED_WITHIN_MS),
    };
    books.set(monitor, book);
    book.loading = load(book).finally(() => loading.delete(book.loading));
    loading.add(book.loading);
    return book;
  }

  async function load(book: Book): Promise<void> {
    const { finalMs, last } = await rollups.begin(book.monitor).catch((error: unknown) => {
      log.error({ err: error, monitor: book.monitor }, 'hours of a monitor cannot be read');
      return { finalMs: 0, last: undefined };
    });
    book.finalMs = finalMs;
    const time = startSeenTime({ lengthMs: HOUR_MS, countedMs: finalMs, last });
    book.counted = { time, began: last };
    for (const entry of book.waiting) count(book, time, entry);
    book.waiting = [];
  }

  function count({ finalMs }: Book, time: SeenTime, entry: Entry) {
    if (entry.atMs >= finalMs) seeEntry(time, entry);
  }

  /** Stores the hours of a book up to the last one whose time has come. */
  async function store(book: Book, nowMs: number): Promise<void> {
    const time = book.counted?.time;
    const boundaryMs = floorTo(nowMs - book.storedAfterMs, HOUR_MS);
    if (time === undefined || boundaryMs <= book.finalMs) return;
    countUntil(time, boundaryMs);
    const isOver = ({ startMs }: Tally) => startMs < boundaryMs;
    const hours = time.tallies.filter(isOver);
    if (hours.length === 0) return;
    book.finalMs = boundaryMs;
    await rollups.add(book.monitor, {
      finalMs: boundaryMs,
      last: lastBefore(time, boundaryMs) ?? book.counted?.began,
      hours,
    });
    time.tallies = time.tallies.filter((tally) => !isOver(tally));
  }

  return {
    take(entry) {
      const book = bookOf(entry.monitor);
      if (book.counted) count(book, book.counted.time, entry);
      else book.waiting.push(entry);
    },
    async settled() {
      while (loading.size > 0) await Promise.all(loading);
    },
    async open(monitor, nowMs) {
      const book = bookOf(monitor);
      await book.loading;
      const { counted } = book;
      if (!counted) return { hours: [], began: undefined };
      return { hours: talliesAt(counted.time, nowMs), began: counted.began };
    },
    async storeDue(nowMs, isClosing) {
      for (const book of books.values()) {
        if (isClosing()) return;
        await store(book, nowMs);
      }
    },
    openSinceMs(nowMs) {
      let sinceMs = floorTo(nowMs, HOUR_MS);
      for (const { counted, waiting } of books.values()) {
        const firstMs = counted?.time.tallies[0]?.startMs ?? waiting[0]?.atMs ?? sinceMs;
        sinceMs = Math.min(sinceMs, floorTo(firstMs, HOUR_MS));
      }
      return sinceMs;
    },
    forget: (monitor) => void books.delete(monitor),
  };
}

/** Takes an entry into seen time: a result with its check, or the end of what the one before was worth. */
export function seeEntry(time: SeenTime, entry: Entry): void {
  if (entry.what !== 'result') {
    see(time, { atMs: entry.atMs, worthMs: 0, as: 'unseen' });
    return;
  }
  const { result, seen } = entry;
  const as = seen.covered ? 'unseen' : seen.found === 'DOWN' ? 'down' : 'up';
  // Two intervals: one that comes late by less has missed nothing.
  see(time, { atMs: entry.atMs, worthMs: 2 * seen.everyMs, as }, result);
}
