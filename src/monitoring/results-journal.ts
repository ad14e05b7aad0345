import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { Journal, Store } from '../store/store.ts';
import type { CheckResult, FoundStatus, Outcome } from './state.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long every single result is kept; hours and days of them are kept longer. */
export const RESULTS_KEPT_MS = 2 * DAY_MS;

/** How a result counts for the time after it. */
export interface Seen {
  /** The status that it left. */
  found: FoundStatus;
  /** How often the monitor is looked at: a result is worth at most twice that. */
  everyMs: number;
  /** In maintenance or paused: the time is not seen. */
  covered: boolean;
}

/** What happened to a monitor, as far as its results and its seen time go. */
export type Entry =
  | {
      what: 'result';
      monitor: string;
      atMs: number;
      result: Omit<CheckResult, 'certificateEndsMs'>;
      seen: Seen;
    }
  /** It was paused, or maintenance began: the result before is worth nothing from here. */
  | { what: 'covered'; monitor: string; atMs: number }
  /** It was removed for good. */
  | { what: 'forgotten'; monitor: string; atMs: number };

/** What an outcome is in the journal: a number once given stays. */
const OUTCOME_NUMBERS: Readonly<Record<Outcome, number>> = {
  ok: 0,
  slow: 1,
  expiring: 2,
  timeout: 3,
  connection: 4,
  name: 5,
  tls: 6,
  protocol: 7,
  status: 8,
  redirect: 9,
  keyword: 10,
  dns: 11,
  blocked: 12,
  late: 13,
  failed: 14,
};
const OUTCOMES: Outcome[] = [];
for (const outcome of Object.keys(OUTCOME_NUMBERS) as Outcome[]) {
  OUTCOMES[OUTCOME_NUMBERS[outcome]] = outcome;
}

/** Kinds below `RESULT` are no results. */
const COVERED = 0;
const FORGOTTEN = 1;
const RESULT = 16;
/** What stands beside the outcome in the kind of a result. */
const IS_OK = 1;
const IS_DOWN = 2;
const IS_DEGRADED = 4;
const IS_COVERED = 8;

/** A whole number that says what an entry is: for a result its outcome, its status, and whether it was covered. */
export function kindOf(entry: Entry): number {
  if (entry.what === 'covered') return COVERED;
  if (entry.what === 'forgotten') return FORGOTTEN;
  const { result, seen } = entry;
  return (
    RESULT * (1 + OUTCOME_NUMBERS[result.outcome]) +
    (result.ok ? IS_OK : 0) +
    (seen.found === 'DOWN' ? IS_DOWN : 0) +
    (seen.found === 'DEGRADED' ? IS_DEGRADED : 0) +
    (seen.covered ? IS_COVERED : 0)
  );
}

/** Response times are kept in tenths of a millisecond, which is as exact as they are measured. */
const TOOK_PER_MS = 10;

/** A response time as it is kept, a whole number. */
export function tookOf(responseTimeMs: number): number {
  return Math.round(responseTimeMs * TOOK_PER_MS);
}

/** The entry of a kind; `took` as from `tookOf`. */
export function entryOf(
  monitor: string,
  atMs: number,
  kind: number,
  { took, everyMs, reason }: { took: number; everyMs: number; reason: string | undefined },
): Entry {
  if (kind < RESULT) {
    return { what: kind === FORGOTTEN ? 'forgotten' : 'covered', monitor, atMs };
  }
  const found = kind & IS_DOWN ? 'DOWN' : kind & IS_DEGRADED ? 'DEGRADED' : 'UP';
  // An outcome of a newer program is a failure of a kind that this one does not know.
  const outcome = OUTCOMES[Math.floor(kind / RESULT) - 1] ?? 'failed';
  const result: CheckResult = {
    ok: (kind & IS_OK) !== 0,
    outcome,
    responseTimeMs: took / TOOK_PER_MS,
  };
  if (reason !== undefined) result.reason = reason;
  const seen = { found, everyMs, covered: (kind & IS_COVERED) !== 0 } as const;
  return { what: 'result', monitor, atMs, result, seen };
}

/** Whole numbers, checked without building anything: there are a million of them in an hour. */
const Numbers = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.length % COLUMNS === 0 && value.every(Number.isInteger),
  'must be whole numbers, six for each entry',
);

/** How long before the batch, place of the monitor, kind, response time, interval, and place of the reason after 1. */
const COLUMNS = 6;

/** Entries that are written together: as records of their own they would take four times the bytes. */
const Batch = z.object({
  /** The latest of its times. */
  atMs: z.int(),
  /** Which run of the program wrote it. */
  run: z.string(),
  monitors: z.array(z.string()),
  reasons: z.array(z.string()).default([]),
  entries: Numbers,
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
      for (let hour = hourOf(fromMs); hour * HOUR_MS < toMs; hour += 1) {
        const range = {
          fromMs: Math.max(fromMs, hour * HOUR_MS),
          toMs: Math.min(toMs, (hour + 1) * HOUR_MS),
        };
        for await (const batch of journalOf(hour * HOUR_MS).read(range)) {
          if (ownToo || batch.run !== run) yield unpack(batch);
          // There are thousands of batches, and checks go on beside.
          await setImmediate();
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
  const monitors = createPlaces();
  const reasons = createPlaces();
  const numbers: number[] = [];
  for (const entry of entries) {
    const isResult = entry.what === 'result';
    const reason = isResult ? entry.result.reason : undefined;
    numbers.push(
      atMs - entry.atMs,
      monitors.of(entry.monitor),
      kindOf(entry),
      isResult ? tookOf(entry.result.responseTimeMs) : 0,
      isResult ? Math.round(entry.seen.everyMs) : 0,
      reason === undefined ? 0 : 1 + reasons.of(reason),
    );
  }
  return { atMs, run, monitors: monitors.all, reasons: reasons.all, entries: numbers };
}

function unpack({ atMs, monitors, reasons, entries: numbers }: Batch): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < numbers.length; at += COLUMNS) {
    const monitor = monitors[numbers[at + 1] ?? 0];
    if (monitor === undefined) continue;
    entries.push(
      entryOf(monitor, atMs - (numbers[at] ?? 0), numbers[at + 2] ?? 0, {
        took: numbers[at + 3] ?? 0,
        everyMs: numbers[at + 4] ?? 0,
        reason: reasons[(numbers[at + 5] ?? 0) - 1],
      }),
    );
  }
  return entries;
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
