/**
 * A share from 0 to 1 in percent, as it is shown everywhere: two decimals, rounded down. Never 100 where something is missing, and
 * never 0 where something is there.
 */
export function percentOf(share: number): number {
  if (share <= 0) return 0;
  if (share >= 1) return 100;
  // 0.57 times 10,000 is a little less than 5,700.
  return Math.min(99.99, Math.max(0.01, Math.floor(share * 10_000 + 1e-6) / 100));
}

/** `99.95 %`. */
export const percentText = (share: number) => `${percentOf(share)} %`;
