import type { Logger } from 'pino';
import { z } from 'zod';
import { BatchWriter } from '../../store/batch-writer.ts';
import type { Journal } from '../../store/store.ts';
import { ENDS, type UsageRecord } from '../../store/usage.ts';

/** Index in `names`, or `NONE`. */
const place = z.int();
const NONE = -1;

/** A request in a batch: a sixth of the bytes that a record takes, and half the time. */
const Row = z.tuple([
  z.int().describe('how long before the time of the batch it ended, milliseconds'),
  place.describe('key'),
  place.describe('model'),
  place.describe('provider'),
  z.int().describe('tokens of the prompt'),
  z.int().describe('tokens of the answer'),
  z.int().describe('1 when the tokens are estimated'),
  z.int().describe('latency, milliseconds'),
  z.int().describe('time to the first token, milliseconds, or NONE'),
  z.int().describe('place in the list of ends'),
]);

/** Requests of one UTC day that are written together. */
export const UsageBatch = z.object({
  atMs: z.int(),
  names: z.array(z.string()),
  requests: z.array(Row),
});

export type UsageBatch = z.infer<typeof UsageBatch>;

export const usageJournal = { name: 'gateway-usage', schema: UsageBatch };

/** Packs requests of one UTC day for one record. */
export function pack(records: readonly UsageRecord[]): UsageBatch {
  const atMs = records.at(-1)?.atMs ?? 0;
  const names: string[] = [];
  const placeOf = new Map<string, number>();

  function placeFor(name: string | undefined): number {
    if (name === undefined) return NONE;
    let known = placeOf.get(name);
    if (known === undefined) {
      known = names.push(name) - 1;
      placeOf.set(name, known);
    }
    return known;
  }

  const requests = records.map(
    (record): z.infer<typeof Row> => [
      atMs - record.atMs,
      placeFor(record.keyId),
      placeFor(record.model),
      placeFor(record.provider),
      record.promptTokens,
      record.completionTokens,
      record.estimated ? 1 : 0,
      record.latencyMs,
      record.firstTokenMs ?? NONE,
      ENDS.indexOf(record.end),
    ],
  );
  return { atMs, names, requests };
}

/** The requests that a batch holds. */
export function requestsIn({ atMs, names, requests }: UsageBatch): UsageRecord[] {
  return requests.map((row) => {
    const [before, key, model, provider, promptTokens, completionTokens] = row;
    const [, , , , , , estimated, latencyMs, firstTokenMs, end] = row;
    return {
      atMs: atMs - before,
      keyId: names[key] ?? 'unknown',
      model: names[model],
      provider: names[provider],
      promptTokens,
      completionTokens,
      estimated: estimated === 1,
      latencyMs,
      firstTokenMs: firstTokenMs === NONE ? undefined : firstTokenMs,
      end: ENDS[end] ?? 'upstream_error',
    };
  });
}

/** A kill -9 loses the last 250 ms, and the time of two writes. */
const FLUSH_MS = 200;

/**
 * Requests in one record of the journal. A write costs the CPU of some hundred requests, however many it holds; even with the
 * longest names they stay well below a journal's limit.
 */
export const BATCH_COUNT = 2_000;

const DAY_MS = 86_400_000;

/** Collects records and appends many with one write: one write per record would cost more than the call itself. */
export function createUsageWriter(
  journal: Journal<UsageBatch>,
  log: Logger,
): BatchWriter<UsageRecord> {
  return new BatchWriter({
    append: (records) => journal.append(pack(records)),
    batchCount: BATCH_COUNT,
    // The journal keeps a file for each day, in UTC.
    fitsWith: (first, record) => dayOf(first) === dayOf(record),
    waitMs: FLUSH_MS,
    betweenMs: FLUSH_MS,
    fullCount: BATCH_COUNT,
    keptCount: 10_000,
    name: 'usage records',
    countedAs: 'requests',
    log,
  });
}

const dayOf = ({ atMs }: UsageRecord) => Math.floor(atMs / DAY_MS);
