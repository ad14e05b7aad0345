import type { MonitorChange } from '../../contracts/monitoring-additions.ts';
import { plainWords } from '../../contracts/plain-words.ts';
import { validationError } from '../../http/error-answers.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import type { CheckTypes } from '../checks/registry.ts';
import { withStoredSecrets } from '../checks/secret-values.ts';

/**
 * What a change makes of a monitor: settings that it does not name stay, and `null` takes one back to its default.
 * Throws the 400 that names the field when the whole is no monitor. Pure.
 */
export function changedDefinition(
  types: CheckTypes,
  before: MonitorDefinition,
  change: MonitorChange,
): MonitorDefinition {
  const dependsOn = change.depends_on ?? before.depends_on ?? [];
  const merged = {
    check_type: before.check_type,
    name: change.name ?? before.name,
    target: change.target ?? before.target,
    config: mergedConfig(types, before, change.config ?? {}),
    ...(dependsOn.length > 0 && { depends_on: dependsOn }),
  };
  const result = types.schema.safeParse(merged, { error: plainWords });
  if (!result.success) throw validationError(result.error.issues, merged);
  const keeps = (setting: string) => change.config?.[setting] === undefined;
  return withStoredSecrets(result.data, before, keeps);
}

/** What a create means. Throws the 400 for a hidden value, which stands for nothing here. */
export function createdDefinition(definition: MonitorDefinition): MonitorDefinition {
  return withStoredSecrets(definition, undefined);
}

function mergedConfig(
  types: CheckTypes,
  before: MonitorDefinition,
  change: Record<string, unknown>,
): Record<string, unknown> {
  const settings = types.settingsOf(before);
  // A `null` for what is no setting stays, so that it is refused by its name.
  const isDefault = ([name, value]: [string, unknown]) => value === null && settings.has(name);
  const merged = Object.entries({ ...before.config, ...change });
  return Object.fromEntries(merged.filter((setting) => !isDefault(setting)));
}
