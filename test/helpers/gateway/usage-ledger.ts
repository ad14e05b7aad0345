import { onTestFinished } from 'vitest';
import type { KeyLimits } from '../../../src/contracts/key-limits.ts';
import { requestsIn, usageJournal } from '../../../src/gateway/usage/journal.ts';
import { createUsageLedger, type UsageLedger } from '../../../src/gateway/usage/ledger.ts';
import type { KeyInfo } from '../../../src/http/keys.ts';
import { createServer } from '../../../src/http/server.ts';
import type { Store } from '../../../src/store/store.ts';
import type { UsageRecord } from '../../../src/store/usage.ts';
import { recordingLog } from '../recording-log.ts';
import { openTestStore } from '../test-store.ts';

/** Noon of a day in the middle of a month. */
export const NOON_MS = Date.UTC(2026, 10, 20, 12);

/** A key as the ledger is given it. */
export function keyWith(limits?: KeyLimits, id = 'key00001'): KeyInfo {
  return { id, name: 'test', createdAtMs: 0, limits };
}

/** A ledger over the real store, or over none, whose clocks stand until they are moved. */
export async function openLedger(options: { folder?: string; atMs?: number } = {}) {
  const { log, lines } = recordingLog();
  const { metrics } = await createServer({ log, version: '0' });
  const clock = { nowMs: options.atMs ?? NOON_MS };
  const store = options.folder ? await openTestStore({ folder: options.folder, log }) : undefined;
  const ledger: UsageLedger = await createUsageLedger({
    store,
    metrics,
    log,
    clocks: { unixMs: () => clock.nowMs, steadyMs: () => clock.nowMs },
  });
  let closing: Promise<void> | undefined;
  function close() {
    closing ??= ledger.close().then(() => store?.close());
    return closing;
  }
  onTestFinished(close);
  return { ledger, clock, store, lines, close };
}

/** All records of a closed folder, in order. */
export async function recordsIn(folder: string): Promise<UsageRecord[]> {
  const store = await openTestStore({ folder, log: recordingLog().log });
  try {
    return await recordsOf(store);
  } finally {
    await store.close();
  }
}

async function recordsOf(store: Store): Promise<UsageRecord[]> {
  const records: UsageRecord[] = [];
  for await (const entry of store.journal(usageJournal).read()) records.push(...requestsIn(entry));
  return records;
}
