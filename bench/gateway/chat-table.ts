import { quantile } from '../monitoring/arrivals.ts';
import { figure } from '../shared/table.ts';

export const headerOf = (platform: string) => [
  ...[platform, 'readings', 'p50', 'p95', 'p99', 'most', 'goal'],
];

/** A row of times, milliseconds. */
export function rowOfTimes(title: string, ms: readonly number[], goal = ''): string[] {
  const shares = [0.5, 0.95, 0.99, 1].map((share) => figure(quantile(ms, share)));
  return [`${title}, ms`, String(ms.length), ...shares, goal];
}

/** A row with one figure. */
export function rowOfOne(title: string, value: number, goal = ''): string[] {
  return [title, '1', '', '', '', figure(value), goal];
}
