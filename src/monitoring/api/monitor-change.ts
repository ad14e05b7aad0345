import {
  DnsConfig,
  HeartbeatConfig,
  HttpConfig,
  KeywordConfig,
  MonitorCreate,
} from '../../contracts/monitoring.ts';
import type { MonitorChange } from '../../contracts/monitoring-additions.ts';
import { plainWords } from '../../contracts/plain-words.ts';
import { validationError } from '../../http/error-answers.ts';
import { withStoredSecrets } from '../checks/secret-values.ts';

/** The settings that a kind of check has. */
const SETTINGS: Record<MonitorCreate['check_type'], object> = {
  HTTP: HttpConfig.shape,
  KEYWORD: KeywordConfig.shape,
  DNS: DnsConfig.shape,
  HEARTBEAT: HeartbeatConfig.shape,
};

/**
 * What a change makes of a monitor: settings that it does not name stay, and `null` takes one back to its default.
 * Throws the 400 that names the field when the whole is no monitor. Pure.
 */
export function changedDefinition(before: MonitorCreate, change: MonitorChange): MonitorCreate {
  const merged = {
    check_type: before.check_type,
    name: change.name ?? before.name,
    target: change.target ?? before.target,
    config: mergedConfig(before, change.config ?? {}),
  };
  const result = MonitorCreate.safeParse(merged, { error: plainWords });
  if (!result.success) throw validationError(result.error.issues, merged);
  return withStoredSecrets(result.data, before, change.config?.headers === undefined);
}

/** What a create means. Throws the 400 for a hidden value, which stands for nothing here. */
export function createdDefinition(definition: MonitorCreate): MonitorCreate {
  return withStoredSecrets(definition, undefined);
}

function mergedConfig(
  { check_type, config }: MonitorCreate,
  change: Record<string, unknown>,
): Record<string, unknown> {
  // A `null` for what is no setting stays, so that it is refused by its name.
  const isDefault = ([name, value]: [string, unknown]) =>
    value === null && Object.hasOwn(SETTINGS[check_type], name);
  const merged = Object.entries({ ...config, ...change });
  return Object.fromEntries(merged.filter((setting) => !isDefault(setting)));
}
