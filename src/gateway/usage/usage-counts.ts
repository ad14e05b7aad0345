import { z } from 'zod';
import type { UsageRecord } from './journal.ts';

const count = z.int().nonnegative();

/** What one key asked of one model on one day. */
export const UsageCounts = z.object({
  keyId: z.string(),
  /** `unknown` for requests that named no model of the catalog. */
  model: z.string(),
  requests: count,
  /** How the requests ended; together they are `requests`. */
  complete: count,
  client_gone: count,
  upstream_error: count,
  refused: count,
  promptTokens: count,
  completionTokens: count,
  /** Requests whose tokens are our estimate. */
  estimated: count,
});
export type UsageCounts = z.infer<typeof UsageCounts>;

/** The counts of one day, growing. */
export interface DayCounts {
  add(record: UsageRecord): void;
  /** By key and model, in order of both. */
  list(): UsageCounts[];
}

/** Counts of a day on which nothing has happened yet. */
export function createDayCounts(): DayCounts {
  const byKey = new Map<string, Map<string, UsageCounts>>();

  function countsFor(keyId: string, model: string): UsageCounts {
    let byModel = byKey.get(keyId);
    if (!byModel) {
      byModel = new Map();
      byKey.set(keyId, byModel);
    }
    let counts = byModel.get(model);
    if (!counts) {
      counts = { keyId, model, ...nothing };
      byModel.set(model, counts);
    }
    return counts;
  }

  return {
    add({ keyId, model = 'unknown', end, promptTokens, completionTokens, estimated }) {
      const counts = countsFor(keyId, model);
      counts.requests += 1;
      counts[end] += 1;
      counts.promptTokens += promptTokens;
      counts.completionTokens += completionTokens;
      if (estimated) counts.estimated += 1;
    },
    list: () =>
      [...byKey.values()]
        .flatMap((byModel) => [...byModel.values()])
        .map((counts) => ({ ...counts }))
        .sort((a, b) => compare(a.keyId, b.keyId) || compare(a.model, b.model)),
  };
}

const nothing = {
  requests: 0,
  complete: 0,
  client_gone: 0,
  upstream_error: 0,
  refused: 0,
  promptTokens: 0,
  completionTokens: 0,
  estimated: 0,
};

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
