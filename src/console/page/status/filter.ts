import { overallOf } from '../../shared/from-bot.ts';
import type { StatusMonitor } from '../../status/api-types.ts';
import { CONDITIONS, type Condition, conditionOf, conditionText } from './text-format.ts';

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
    const { name, target = '', tags = [] } = monitor;
    const searched = [name, target, ...tags].join(' ').toLowerCase();
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

/** Tags that the page shows at most, the worst ones. */
const MAX_GROUPS = 40;

/** The monitors with a tag, all together. */
export interface TagGroup {
  tag: string;
  condition: Condition;
  /** `2 of 4 up, 1 down, 1 paused` */
  text: string;
}

/** Sums up the monitors of each tag, by name, so that groups keep their place. Pure. */
export function groupsOf(monitors: readonly StatusMonitor[]): TagGroup[] {
  const members = new Map<string, StatusMonitor[]>();
  for (const monitor of monitors) {
    for (const tag of monitor.tags ?? []) {
      const others = members.get(tag);
      if (others) others.push(monitor);
      else members.set(tag, [monitor]);
    }
  }
  const groups = [...members].map(([tag, all]) => ({ tag, ...groupOf(all) }));
  const rank = ({ condition }: TagGroup) => CONDITIONS.indexOf(condition);
  return groups
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, MAX_GROUPS)
    .sort((a, b) => (a.tag < b.tag ? -1 : 1));
}

function groupOf(monitors: readonly StatusMonitor[]): Omit<TagGroup, 'tag'> {
  const conditions = conditionsOf(monitors);
  const up = conditions.find(({ condition }) => condition === 'up')?.count ?? 0;
  const others = conditions.filter(({ condition }) => condition !== 'up');
  const counts = others.map(
    ({ condition, count }) => `${count} ${conditionText(condition).toLowerCase()}`,
  );
  return {
    condition: (up === 0 && others[0]?.condition) || overallOf(monitors),
    text: [`${up} of ${monitors.length} up`, ...counts].join(', '),
  };
}
