import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { Journal, Store } from '../store/store.ts';
import { type Entry, isResult } from './entry.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long every single result is kept; hours and days of them are kept longer. */
export const RESULTS_KEPT_MS = 2 * DAY_MS;

/** Entries read before others have their turn: about a millisecond. */
const READ_COUNT = 2_000;

/** Entries that are written together: as records of their own they would take four times the bytes. */
const Batch = z.object({
  /** The latest of its times. */
  atMs: z.int(),
  /** Which run of the program wrote it. */
  run: z.string(),
  reasons: z.array(z.string()).optional(),
  /**
   * `monitor,before,kind,took,every,reason;…`: how long before the batch, and the place of the reason from 1, or nothing.
   * One text, because a start reads a million entries: as lists they took 150 MB more before they were looked at.
   */
  entries: z.string(),
});
type Batch = z.infer<typeof Batch>;

/** The results of the last days, in files of an hour, so that a start reads hours and not days. */
export interface ResultsJournal {
  /** Writes entries with one record for each of their hours; resolves when they are durable. */
  append(entries: readonly Entry[]): Promise<void>;
  /** Entries of batches with `fromMs <= time < toMs` that another run wrote, or any; a batch may begin earlier. */
  read(range: { fromMs: number; toMs: number; ownToo: boolean }): AsyncIterable<Entry[]>;
  /** Removes what is older, in whole days. */
  prune(beforeMs: number): Promise<void>;
}

/** Opens `monitor-results-00` to `monitor-results-23`, one for each hour of the UTC day. */
export function openResultsJournal(store: Store, run: string): ResultsJournal {
  const journals = Array.from({ length: 24 }, (_, hour) =>
    store.journal({
      name: `monitor-results-${String(hour).padStart(2, '0')}`,
      schema: Batch,
    }),
  );
  // Version 0.1 kept a record for each result here, and nobody reads them any more.
  const old = store.journal({ name: 'monitor-results', schema: z.object({ atMs: z.int() }) });

  function journalOf(atMs: number): Journal<Batch> {
    const journal = journals[hourOf(atMs) % 24];
    if (journal === undefined) throw new RangeError(`${atMs} is no time since 1970.`);
    return journal;
  }

  return {
    async append(entries) {
      const batches = [...byHour(entries).values()].map((each) => pack(each, run));
      await Promise.all(batches.map((batch) => journalOf(batch.atMs).append(batch)));
    },
    async *read({ fromMs, toMs, ownToo }) {
      const names = createNames();
      let sinceTurn = 0;
      for (let hour = hourOf(fromMs); hour * HOUR_MS < toMs; hour += 1) {
        const range = {
          fromMs: Math.max(fromMs, hour * HOUR_MS),
          toMs: Math.min(toMs, (hour + 1) * HOUR_MS),
        };
        for await (const batch of journalOf(hour * HOUR_MS).read(range)) {
          if (batch.run === run && !ownToo) continue;
          const entries = unpack(batch, names);
          yield entries;
          sinceTurn += entries.length;
          if (sinceTurn < READ_COUNT) continue;
          // There are thousands of batches, and checks go on beside.
          await setImmediate();
          sinceTurn = 0;
        }
      }
    },
    async prune(beforeMs) {
      for (const journal of [old, ...journals]) await journal.prune(beforeMs);
    },
  };
}

function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

function byHour(entries: readonly Entry[]): Map<number, Entry[]> {
  const hours = new Map<number, Entry[]>();
  for (const entry of entries) {
    const hour = hourOf(entry.atMs);
    const known = hours.get(hour);
    if (known) known.push(entry);
    else hours.set(hour, [entry]);
  }
  return hours;
}

function pack(entries: readonly Entry[], run: string): Batch {
  const atMs = entries.reduce((latest, entry) => Math.max(latest, entry.atMs), 0);
  const reasons = createPlaces();
  const rows = entries.map((entry) => {
    const { monitor, kind, took, everyMs, reason } = entry;
    const head = `${monitor},${atMs - entry.atMs},${kind}`;
    if (!isResult(entry)) return head;
    const row = `${head},${took},${everyMs}`;
    return reason === undefined ? row : `${row},${1 + reasons.of(reason)}`;
  });
  const texts = reasons.all.length > 0 ? { reasons: reasons.all } : {};
  return { atMs, run, ...texts, entries: rows.join(';') };
}

const COMMA = 0x2c;
const SEMICOLON = 0x3b;
const ZERO = 0x30;

/** The entries of a batch, character by character: taking them apart as texts takes twice the time. */
function unpack({ atMs, reasons = [], entries: text }: Batch, names: Names): Entry[] {
  const entries: Entry[] = [];
  const numbers = new Float64Array(5);
  for (let at = 0; at < text.length; ) {
    const nameEnd = text.indexOf(',', at);
    const monitor = names.of(text.slice(at, nameEnd));
    at = numbersAt(text, nameEnd + 1, numbers);
    entries.push({
      monitor,
      atMs: atMs - (numbers[0] ?? 0),
      kind: numbers[1] ?? 0,
      took: numbers[2] ?? 0,
      everyMs: numbers[3] ?? 0,
      reason: reasons[(numbers[4] ?? 0) - 1],
    });
  }
  return entries;
}

/** Reads the numbers of a row, 0 for those that are missing; gives where the next row begins. */
function numbersAt(text: string, from: number, numbers: Float64Array): number {
  let at = from;
  for (let column = 0; column < numbers.length; column += 1) {
    let value = 0;
    let code = at < text.length ? text.charCodeAt(at) : SEMICOLON;
    while (code >= ZERO && code < ZERO + 10) {
      value = 10 * value + code - ZERO;
      at += 1;
      code = at < text.length ? text.charCodeAt(at) : SEMICOLON;
    }
    numbers[column] = value;
    if (code === COMMA) at += 1;
  }
  while (at < text.length && text.charCodeAt(at) !== SEMICOLON) at += 1;
  return at + 1;
}

type Names = ReturnType<typeof createNames>;

/** Names, each once, however often it is read: a name cut out of a text would keep all of that text in memory. */
function createNames() {
  const known = new Map<string, string>();
  return {
    of(part: string): string {
      const name = known.get(part);
      if (name !== undefined) return name;
      const copy = Buffer.from(part).toString();
      known.set(copy, copy);
      return copy;
    },
  };
}

/** Texts, each once, and the place of each. */
function createPlaces() {
  const all: string[] = [];
  const places = new Map<string, number>();
  return {
    all,
    of(text: string): number {
      const known = places.get(text) ?? all.push(text) - 1;
      places.set(text, known);
      return known;
    },
  };
}
