import { pino } from 'pino';
import type { CheckResult } from '../../src/monitoring/checks/check-result.ts';
import { openHistory } from '../../src/monitoring/history/history.ts';
import { type HistoryEntry, resultEntry } from '../../src/monitoring/history/result-record.ts';
import { openResultsJournal } from '../../src/monitoring/history/results-journal.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import type { Gridded } from './arrivals.ts';

/** Results that the service writes together at the pace of 10,000 monitors a minute. */
const BATCH_COUNT = 42;
/** Batches on their way to the disk at the same moment. */
const BATCHES_AT_ONCE = 500;

/** Returns the result of a monitor's check at a time; undefined if there was none. */
export type Look = (number: number, atMs: number) => CheckResult | undefined;

/** Adds what a service that ran for so long would have left of these monitors: results, and the hours that were due. */
export async function writePast(options: {
  folder: string;
  monitors: readonly Gridded[];
  pastMs: number;
  /** When absent, every fiftieth monitor is down. */
  look?: Look;
}): Promise<void> {
  const { folder, monitors, pastMs, look = fiftiethDown } = options;
  const toMs = Date.now();
  const log = pino({ level: 'warn' });
  const store = await openLowdbStore({ folder, log });
  const journal = openResultsJournal(store, 'the one before');
  try {
    let writes: Promise<void>[] = [];
    for (const batch of batchesOf(resultsOf(monitors, { fromMs: toMs - pastMs, toMs, look }))) {
      writes.push(journal.append(batch));
      if (writes.length < BATCHES_AT_ONCE) continue;
      await Promise.all(writes);
      writes = [];
    }
    await Promise.all(writes);
  } finally {
    await store.close();
  }
  await storeHours(folder, toMs);
}

/** Stores the hours whose time has come, a part of the monitors at a time as the service does. */
async function storeHours(folder: string, nowMs: number) {
  const log = pino({ level: 'warn' });
  const store = await openLowdbStore({ folder, log });
  try {
    const history = await openHistory({ store, wallMs: () => nowMs, log });
    for (let part = 0; part < 100; part += 1) await history.prune(nowMs);
    await history.close();
  } finally {
    await store.close();
  }
}

/** The checks at monitors as they came, oldest first. */
function* resultsOf(
  monitors: readonly Gridded[],
  { fromMs, toMs, look }: { fromMs: number; toMs: number; look: Look },
): Iterable<HistoryEntry> {
  const inTurn = [...monitors].sort((a, b) => a.phaseMs - b.phaseMs);
  const [first] = inTurn;
  if (!first) return;
  const { intervalMs } = first;
  for (let roundMs = fromMs - (fromMs % intervalMs); roundMs < toMs; roundMs += intervalMs) {
    for (const { id, number, phaseMs } of inTurn) {
      const atMs = roundMs + phaseMs;
      const result = atMs >= fromMs && atMs < toMs ? look(number, atMs) : undefined;
      if (!result) continue;
      const found = result.ok ? 'UP' : 'DOWN';
      yield resultEntry(id, atMs, result, { found, everyMs: intervalMs, covered: false });
    }
  }
}

const fiftiethDown: Look = (number, atMs) =>
  number % 50 === 0
    ? { ok: false, outcome: 'timeout', reason: 'no answer within 10 s', responseTimeMs: 10_000 }
    : { ok: true, outcome: 'ok', responseTimeMs: 20 + ((number * 7919 + atMs) % 2_000) / 10 };

function* batchesOf(entries: Iterable<HistoryEntry>): Iterable<HistoryEntry[]> {
  let batch: HistoryEntry[] = [];
  for (const entry of entries) {
    batch.push(entry);
    if (batch.length < BATCH_COUNT) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
