import type { StatusMonitor } from '../../status/api-types.ts';
import { CONDITIONS, type Condition, conditionOf } from './text-format.ts';

export interface StatusFilter {
  text: string;
  condition: Condition | undefined;
}

export const noFilter: StatusFilter = { text: '', condition: undefined };

/** Filters monitors by all words and the condition, ignoring case. Pure. */
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

/** Counts the monitors of each condition, without the ones that don't occur. Pure. */
export function conditionsOf(
  monitors: readonly StatusMonitor[],
): { condition: Condition; count: number }[] {
  const found = monitors.map(conditionOf);
  return CONDITIONS.map((condition) => ({
    condition,
    count: found.filter((one) => one === condition).length,
  })).filter(({ count }) => count > 0);
}
