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
  const reasons = createPlaces();
  const rows = entries.map((entry) => {
    const head = `${entry.monitor},${atMs - entry.atMs},${kindOf(entry)}`;
    if (entry.what !== 'result') return head;
    const { result, seen } = entry;
    const row = `${head},${tookOf(result.responseTimeMs)},${Math.round(seen.everyMs)}`;
    return result.reason === undefined ? row : `${row},${1 + reasons.of(result.reason)}`;
  });
  const texts = reasons.all.length > 0 ? { reasons: reasons.all } : {};
  return { atMs, run, ...texts, entries: rows.join(';') };
}

function unpack({ atMs, reasons = [], entries }: Batch): Entry[] {
  return entries.split(';').map((row) => {
    const columns = row.split(',');
    const number = (column: number) => Number(columns[column] ?? 0);
    return entryOf(columns[0] ?? '', atMs - number(1), number(2), {
      took: number(3),
      everyMs: number(4),
      reason: reasons[number(5) - 1],
    });
  });
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
