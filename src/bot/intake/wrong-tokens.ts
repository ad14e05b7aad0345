import { forgetOldest } from '../shared/forget-oldest.ts';

/** Most wrong tokens of one address per minute. */
const MANY = 30;
const WINDOW_MS = 60_000;

const MAX_ADDRESSES = 10_000;

/** Counts wrong tokens by address, with a clock that is never set. */
export function createWrongTokens({ clockMs = () => performance.now() } = {}) {
  const counts = new Map<string, { sinceMs: number; count: number }>();

  function countOf(address: string) {
    const known = counts.get(address);
    return known && clockMs() - known.sinceMs < WINDOW_MS ? known : undefined;
  }

  return {
    note(address: string) {
      const known = countOf(address);
      if (known) known.count += 1;
      else {
        counts.delete(address);
        counts.set(address, { sinceMs: clockMs(), count: 1 });
        forgetOldest(counts, MAX_ADDRESSES);
      }
    },
    areMany: (address: string) => (countOf(address)?.count ?? 0) >= MANY,
  };
}
