import type { StatusMonitor } from '../../status/api-types.ts';
import { type Condition, conditionOf } from './text-format.ts';

/** What a reader wants to see. */
export interface StatusFilter {
  text: string;
  /** All of them when undefined. */
  condition: Condition | undefined;
}

export const noFilter: StatusFilter = { text: '', condition: undefined };

/** In the order in which the page offers them. */
const CONDITIONS: readonly Condition[] = [
  'down',
  'degraded',
  'pending',
  'maintenance',
  'paused',
  'up',
];

/** Those that a reader wants to see, in the same order; letter case is not meaning. Pure. */
export function filtered(
  monitors: readonly StatusMonitor[],
  { text, condition }: StatusFilter,
): readonly StatusMonitor[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && condition === undefined) return monitors;
  return monitors.filter((monitor) => {
    if (condition !== undefined && conditionOf(monitor) !== condition) return false;
    const searched = `${monitor.name} ${monitor.target ?? ''}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}

/** The conditions that occur, each with how often. Pure. */
export function conditionsOf(
  monitors: readonly StatusMonitor[],
): { condition: Condition; count: number }[] {
  const found = monitors.map(conditionOf);
  return CONDITIONS.map((condition) => ({
    condition,
    count: found.filter((one) => one === condition).length,
  })).filter(({ count }) => count > 0);
}
