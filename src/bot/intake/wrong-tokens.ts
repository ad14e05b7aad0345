import { forgetOldest } from '../shared/forget-oldest.ts';

/** So many wrong tokens from one address in a minute are many. */
const MANY = 30;
const WINDOW_MS = 60_000;

/** Addresses that are remembered. */
const MAX_ADDRESSES = 10_000;

/** Counts wrong tokens by the address that sends them, in minutes of a clock that never goes back. */
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
