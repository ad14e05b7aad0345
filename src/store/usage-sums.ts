import type { UsageCounts, UsageRecord } from './usage.ts';

const NOTHING = {
  requests: 0,
  complete: 0,
  client_gone: 0,
  upstream_error: 0,
  refused: 0,
  promptTokens: 0,
  completionTokens: 0,
  estimated: 0,
};

/** Fields that are counted. */
export const COUNTED = Object.keys(NOTHING) as Array<keyof typeof NOTHING>;

/** Sums of requests by key and model. */
export type UsageSums = ReturnType<typeof createUsageSums>;

export function createUsageSums() {
  const byKeyAndModel = new Map<string, UsageCounts>();

  function countsOf(keyId: string, model: string): UsageCounts {
    const name = `${keyId}\n${model}`;
    const counts = byKeyAndModel.get(name) ?? { keyId, model, ...NOTHING };
    byKeyAndModel.set(name, counts);
    return counts;
  }

  return {
    add({ keyId, model = 'unknown', end, promptTokens, completionTokens, estimated }: UsageRecord) {
      const counts = countsOf(keyId, model);
      counts.requests += 1;
      counts[end] += 1;
      counts.promptTokens += promptTokens;
      counts.completionTokens += completionTokens;
      if (estimated) counts.estimated += 1;
    },
    addCounts(added: UsageCounts) {
      const counts = countsOf(added.keyId, added.model);
      for (const each of COUNTED) counts[each] += added[each];
    },
    /** In order of key and model. */
    list: (): UsageCounts[] =>
      [...byKeyAndModel.values()]
        .map((counts) => ({ ...counts }))
        .sort((a, b) => compare(a.keyId, b.keyId) || compare(a.model, b.model)),
  };
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
