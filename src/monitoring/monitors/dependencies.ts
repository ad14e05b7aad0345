import { ALERT_PARENT } from '../../contracts/monitoring.ts';
import { invalidValue } from '../../http/errors.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';

/** Monitors that are named where dependencies go round. */
const MAX_NAMED = 6;

interface Known {
  definition: MonitorDefinition;
}

/**
 * Throws the 400 for parents that cannot be those of a monitor, which has no id yet when it is new: one is not there, or depends
 * on it, perhaps by way of others. Alerts of other systems are not looked for.
 */
export function checkDependencies(
  parents: readonly string[] | undefined,
  monitors: { get: (id: string) => Known | undefined },
  id?: string,
): void {
  for (const parent of (parents ?? []).filter(isMonitor)) {
    if (parent === id) throw invalidValue('depends_on', 'a monitor cannot depend on itself');
    if (!monitors.get(parent)) {
      throw invalidValue('depends_on', `no monitor has the ID ${parent}; GET /monitors lists them`);
    }
    const way = id === undefined ? undefined : wayTo(id, parent, monitors);
    if (way) throw goesRound([String(id), ...way], monitors);
  }
}

/** Whether a parent is a monitor, and no alert of another system. */
const isMonitor = (parent: string) => !parent.startsWith(ALERT_PARENT);

/** The ids on a way from one monitor over what it depends on to another, both included. */
function wayTo(
  end: string,
  from: string,
  { get }: { get: (id: string) => Known | undefined },
): string[] | undefined {
  const before = new Map<string, string | undefined>([[from, undefined]]);
  for (const id of before.keys()) {
    if (id === end) return wayBack(id, before).reverse();
    for (const parent of get(id)?.definition.depends_on ?? []) {
      if (!before.has(parent)) before.set(parent, id);
    }
  }
  return undefined;
}

function wayBack(from: string, before: ReadonlyMap<string, string | undefined>): string[] {
  const way: string[] = [];
  for (let id: string | undefined = from; id !== undefined; id = before.get(id)) way.push(id);
  return way;
}

function goesRound(ids: readonly string[], monitors: { get: (id: string) => Known | undefined }) {
  const names = ids.map((id) => monitors.get(id)?.definition.name ?? id);
  const shown =
    names.length > MAX_NAMED ? [...names.slice(0, MAX_NAMED - 1), '…', ...names.slice(-1)] : names;
  return invalidValue(
    'depends_on',
    `this would form a circle: ${shown.join(' → ')}; remove one of these dependencies first`,
  );
}

/** A monitor that no longer depends on one that is removed. Pure. */
export function withoutParent(definition: MonitorDefinition, removed: string): MonitorDefinition {
  const { depends_on: parents = [], ...rest } = definition;
  const left = parents.filter((parent) => parent !== removed);
  return left.length === 0 ? rest : { ...rest, depends_on: left };
}
