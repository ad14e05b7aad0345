import type { MonitorChange } from '../../contracts/monitoring-additions.ts';
import { plainWords } from '../../contracts/plain-words.ts';
import { validationError } from '../../http/error-answers.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import type { CheckTypes } from '../checks/registry.ts';
import { withStoredSecrets } from '../checks/secret-values.ts';

/** Applies a change: absent settings stay, and `null` resets one to its default. Throws a 400 that names an invalid field. Pure. */
export function changedDefinition(
  types: CheckTypes,
  before: MonitorDefinition,
  change: MonitorChange,
): MonitorDefinition {
  const dependsOn = change.depends_on ?? before.depends_on ?? [];
  const tags = change.tags ?? before.tags ?? [];
  const runbook = change.runbook ?? before.runbook;
  const merged = {
    check_type: before.check_type,
    name: change.name ?? before.name,
    target: change.target ?? before.target,
    config: mergedConfig(types, before, change.config ?? {}),
    ...(dependsOn.length > 0 && { depends_on: dependsOn }),
    ...(tags.length > 0 && { tags }),
    ...(runbook && { runbook }),
  };
  const result = types.schema.safeParse(merged, { error: plainWords });
  if (!result.success) throw validationError(result.error.issues, merged);
  const keeps = (setting: string) => change.config?.[setting] === undefined;
  return withStoredSecrets(result.data, before, keeps);
}

/** Throws a 400 for a hidden value, which a new monitor can't have. */
export function createdDefinition(definition: MonitorDefinition): MonitorDefinition {
  return withStoredSecrets(definition, undefined);
}

function mergedConfig(
  types: CheckTypes,
  before: MonitorDefinition,
  change: Record<string, unknown>,
): Record<string, unknown> {
  const settings = types.settingsOf(before);
  // A `null` for an unknown setting stays, so that it is refused by name.
  const isDefault = ([name, value]: [string, unknown]) => value === null && settings.has(name);
  const merged = Object.entries({ ...before.config, ...change });
  return Object.fromEntries(merged.filter((setting) => !isDefault(setting)));
}
