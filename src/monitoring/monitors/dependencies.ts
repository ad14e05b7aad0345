import { ALERT_PARENT } from '../../contracts/monitoring.ts';
import { invalidValue } from '../../http/errors.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';

/** Monitors of a circle that an error names. */
const MAX_NAMED = 6;

interface DependentMonitor {
  definition: MonitorDefinition;
}

/**
 * Throws a 400 if a monitor can't depend on these parents: one doesn't exist, or depends on the monitor itself, directly or through
 * others. A new monitor has no `id` yet. Parents that are alerts from other systems aren't checked.
 */
export function checkDependencies(
  parents: readonly string[] | undefined,
  monitors: { get: (id: string) => DependentMonitor | undefined },
  id?: string,
): void {
  for (const parent of (parents ?? []).filter(isMonitor)) {
    if (parent === id) throw invalidValue('depends_on', 'a monitor cannot depend on itself');
    if (!monitors.get(parent)) {
      throw invalidValue('depends_on', `no monitor has the ID ${parent}; GET /monitors lists them`);
    }
    const path = id === undefined ? undefined : findPath(parent, id, monitors);
    if (path) throw circleError([String(id), ...path], monitors);
  }
}

const isMonitor = (parent: string) => !parent.startsWith(ALERT_PARENT);

/** The shortest path of IDs along dependencies, both ends included. */
function findPath(
  from: string,
  to: string,
  monitors: { get: (id: string) => DependentMonitor | undefined },
): string[] | undefined {
  const paths = new Map([[from, [from]]]);
  for (const [id, path] of paths) {
    if (id === to) return path;
    for (const parent of monitors.get(id)?.definition.depends_on ?? []) {
      if (!paths.has(parent)) paths.set(parent, [...path, parent]);
    }
  }
  return undefined;
}

function circleError(
  ids: readonly string[],
  monitors: { get: (id: string) => DependentMonitor | undefined },
) {
  const names = ids.map((id) => monitors.get(id)?.definition.name ?? id);
  const shown =
    names.length > MAX_NAMED ? [...names.slice(0, MAX_NAMED - 1), '…', ...names.slice(-1)] : names;
  return invalidValue(
    'depends_on',
    `this would form a circle: ${shown.join(' → ')}; remove one of these dependencies first`,
  );
}

export function withoutParent(definition: MonitorDefinition, removed: string): MonitorDefinition {
  const { depends_on: parents = [], ...rest } = definition;
  const remaining = parents.filter((parent) => parent !== removed);
  return remaining.length === 0 ? rest : { ...rest, depends_on: remaining };
}
