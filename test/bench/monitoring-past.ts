import { pino } from 'pino';
import { type Entry, resultEntry } from '../../src/monitoring/entry.ts';
import { openHistory } from '../../src/monitoring/history.ts';
import { openResultsJournal } from '../../src/monitoring/results-journal.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import type { Gridded } from './monitoring-arrivals.ts';

/** Results that the service writes together at the pace of 10,000 monitors a minute. */
const BATCH_COUNT = 42;
/** Batches on their way to the disk at the same moment. */
const BATCHES_AT_ONCE = 500;

/** Adds what a service that ran for so long would have left of these monitors: results, and the hours that were due. */
export async function writePast(options: {
  folder: string;
  monitors: readonly Gridded[];
  pastMs: number;
}): Promise<void> {
  const { folder, monitors, pastMs } = options;
  const toMs = Date.now();
  const log = pino({ level: 'warn' });
  const store = await openLowdbStore({ folder, log });
  const journal = openResultsJournal(store, 'the one before');
  try {
    let writes: Promise<void>[] = [];
    for (const batch of batchesOf(resultsOf(monitors, toMs - pastMs, toMs))) {
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

/** The looks at monitors as they came, oldest first; every fiftieth monitor is down. */
function* resultsOf(monitors: readonly Gridded[], fromMs: number, toMs: number): Iterable<Entry> {
  const inTurn = [...monitors].sort((a, b) => a.phaseMs - b.phaseMs);
  const [first] = inTurn;
  if (!first) return;
  const { intervalMs } = first;
  for (let roundMs = fromMs - (fromMs % intervalMs); roundMs < toMs; roundMs += intervalMs) {
    for (const { id, number, phaseMs } of inTurn) {
      const atMs = roundMs + phaseMs;
      if (atMs >= fromMs && atMs < toMs) yield resultOf(id, number, atMs, intervalMs);
    }
  }
}

function resultOf(monitor: string, number: number, atMs: number, everyMs: number): Entry {
  const responseTimeMs = 20 + ((number * 7919 + atMs) % 2_000) / 10;
  const isDown = number % 50 === 0;
  return resultEntry(
    monitor,
    atMs,
    isDown
      ? { ok: false, outcome: 'timeout', reason: 'no answer within 10 s', responseTimeMs: 10_000 }
      : { ok: true, outcome: 'ok', responseTimeMs },
    { found: isDown ? 'DOWN' : 'UP', everyMs, covered: false },
  );
}

function* batchesOf(entries: Iterable<Entry>): Iterable<Entry[]> {
  let batch: Entry[] = [];
  for (const entry of entries) {
    batch.push(entry);
    if (batch.length < BATCH_COUNT) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
