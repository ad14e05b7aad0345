import type { KeyedService } from '../contracts/api-key.ts';
import { USAGE_DAYS } from '../contracts/gateway.ts';
import type { KeyLimits, KeyLimitsChange } from '../contracts/key-limits.ts';
import { KeyName } from '../http/key-bodies.ts';
import type { KeyActions } from './control-client.ts';
import { keyTable, limitsText, type ServiceKey, usageTable } from './key-tables.ts';
import {
  CommandLineError,
  daysIn,
  type KeyOptions,
  limitsIn,
  OPTION_OF,
  SERVICES,
  serviceNamed,
} from './options.ts';
import { plain } from './table.ts';

const DAY_MS = 86_400_000;

/** Returns the lines to print. Throws a `CommandLineError` for what cannot be run. */
export async function runKeys(
  [action, id]: string[],
  options: KeyOptions,
  version: string,
): Promise<string[]> {
  // Mistakes in the arguments are reported before anything is opened.
  const act = actionOf(action, id, options);
  const { reachKeys } = await import('./control-client.ts');
  const keys = await reachKeys(version);
  try {
    return await act(keys);
  } finally {
    await keys.close();
  }
}

function actionOf(
  action: string | undefined,
  id: string | undefined,
  options: KeyOptions,
): (keys: KeyActions) => Promise<string[]> {
  const needId = () => {
    if (id) return id;
    throw new CommandLineError(`Missing key id: keys ${action} <id>. keys list shows the ids.`);
  };
  switch (action) {
    case 'create':
      return create(options);
    case 'list':
      return list(serviceNamed(options.service));
    case 'limit':
      return limit(needId(), limitsIn(options));
    case 'revoke':
      return revoke(needId());
    case 'usage':
      return usage(id, daysIn(options));
    default:
      throw new CommandLineError('keys needs a subcommand: create, list, limit, usage or revoke.');
  }
}

function create(options: KeyOptions) {
  const service = serviceNamed(options.service);
  if (!service) throw new CommandLineError('Missing --service: gateway or monitoring.');
  const name = KeyName.safeParse(options.name);
  if (!name.success) {
    throw new CommandLineError('--name is required: 1 to 100 characters.');
  }
  const limits: KeyLimits = {};
  for (const [limitName, value] of Object.entries(limitsIn(options))) {
    if (value !== null) limits[limitName as keyof KeyLimits] = value;
  }
  if (service !== 'gateway' && Object.keys(limits).length > 0) throw notLimitable();
  if (service === 'gateway' && options.write) {
    throw new CommandLineError(
      "--write works only with monitoring keys. Gateway keys can't change anything.",
    );
  }
  const readOnly = service === 'monitoring' && !options.write;
  return async (keys: KeyActions) => {
    const { id, key } = await keys.of(service).create(name.data, limits, { readOnly });
    const rights = readOnly ? ', read-only' : '';
    return [`New ${service} key ${id}${rights} (shown only once):`, key];
  };
}

function limit(id: string, change: KeyLimitsChange) {
  if (Object.keys(change).length === 0) {
    const names = Object.values(OPTION_OF).map((name) => `--${name}`);
    throw new CommandLineError(
      `keys limit needs a limit: ${names.join(', ')}, each with a number or none.`,
    );
  }
  return async (keys: KeyActions) => {
    const info = await keys.of('gateway').limit(id, change);
    if (info) return [`Limits for key ${info.id} (${plain(info.name)}): ${limitsText(info)}.`];
    if ((await keys.of('monitoring').list()).some((key) => key.id === id)) throw notLimitable();
    throw noKey(id);
  };
}

function revoke(id: string) {
  return async (keys: KeyActions) => {
    for (const service of SERVICES) {
      if (!(await keys.of(service).revoke(id))) continue;
      return [`Revoked ${service} key ${id}.`];
    }
    throw noKey(id);
  };
}

function list(only: KeyedService | undefined) {
  return async (keys: KeyActions) => {
    const services = only ? [only] : SERVICES;
    const rows = services.includes('gateway')
      ? await keys.usage({ fromDay: dayBefore(USAGE_DAYS.default - 1) })
      : undefined;
    const all: ServiceKey[] = [];
    for (const service of services) {
      for (const key of await keys.of(service).list()) all.push({ service, ...key });
    }
    return keyTable(all, rows, dayBefore(0));
  };
}

function usage(id: string | undefined, days: number) {
  return async (keys: KeyActions) => {
    const rows = await keys.usage({ keyId: id, fromDay: dayBefore(days - 1) });
    if (!rows) return ['The running Askwatch has no gateway, so it counts no usage.'];
    const names = new Map((await keys.of('gateway').list()).map((key) => [key.id, key.name]));
    if (rows.length > 0) return usageTable(rows, names);
    if (id !== undefined && !names.has(id)) throw noKey(id);
    return [`No requests in the last ${days} days.`];
  };
}

function noKey(id: string): CommandLineError {
  return new CommandLineError(`No key with id ${id}; keys list shows the ids.`);
}

function notLimitable(): CommandLineError {
  return new CommandLineError(
    "Monitoring keys can't have limits of their own; all of them have the same.",
  );
}

function dayBefore(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
}
