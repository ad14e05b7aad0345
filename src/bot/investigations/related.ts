import type { Monitor } from '../../contracts/monitoring.ts';
import { isDegraded, isDown } from '../shared/status.ts';
import { hostOf } from '../shared/target-link.ts';

/** A monitor that may explain an incident or rule something out, with its relation in words. */
export interface RelatedMonitor {
  monitor: Monitor;
  /** `same host`, `tagged shop`. */
  relation: string;
}

const MAX_RELATED = 15;

const NUMBERS = /\d+(?:[.:]\d+)*/g;
const QUOTED = /["“'`][^"”'`]{0,200}["”'`]/g;

/** A cause without its numbers and quotes, so that `timeout after 5 s` and `timeout after 8 s` are alike. Pure. */
export const causeKey = (cause = '') =>
  cause
    .slice(0, 300)
    .toLowerCase()
    .replace(QUOTED, '“”')
    .replace(NUMBERS, '#')
    .replace(/\s+/g, ' ')
    .trim();

/**
 * Monitors with a relation to the ones with these ids: dependencies, the same host, the same cause, the same tags, in this
 * order; the ones in trouble first. Pure.
 */
export function relatedMonitors(
  monitors: readonly Monitor[],
  ids: ReadonlySet<string>,
): RelatedMonitor[] {
  const own = monitors.filter(({ id }) => ids.has(id));
  const parents = new Set(own.flatMap(({ depends_on = [] }) => depends_on));
  const hosts = new Set(own.map(({ target }) => hostOf(target)).filter((host) => host !== ''));
  const causes = new Set(own.map((one) => causeKey(one.status_reason)).filter((key) => key !== ''));
  const tags = new Set(own.flatMap((one) => one.tags ?? []));
  const relationOf = (monitor: Monitor): [rank: number, relation: string] | undefined => {
    if (parents.has(monitor.id)) return [0, 'it depends on this'];
    if (monitor.depends_on?.some((id) => ids.has(id))) return [1, 'depends on it'];
    if (hosts.has(hostOf(monitor.target))) return [2, 'same host'];
    if (isInTrouble(monitor) && causes.has(causeKey(monitor.status_reason))) {
      return [3, 'same cause'];
    }
    const tag = monitor.tags?.find((one) => tags.has(one));
    return tag === undefined ? undefined : [4, `tagged ${tag}`];
  };
  return monitors
    .filter(({ id }) => !ids.has(id))
    .flatMap((monitor) => {
      const [rank, relation] = relationOf(monitor) ?? [];
      if (rank === undefined || relation === undefined) return [];
      return [{ monitor, relation, rank: rank - (isInTrouble(monitor) ? 10 : 0) }];
    })
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_RELATED)
    .map(({ monitor, relation }) => ({ monitor, relation }));
}

export const isInTrouble = (monitor: { status: string }) => isDown(monitor) || isDegraded(monitor);
