import { plain } from '../app/plain.ts';
import type { KeyedService } from '../contracts/api-key.ts';
import { USAGE_DAYS } from '../contracts/gateway.ts';
import type { KeyLimits } from '../contracts/key-limits.ts';
import { KeyName } from '../http/key-bodies.ts';
import { CommandLineError, type CommandRun, type PrintedResult } from './command.ts';
import type { KeyActions } from './control-client.ts';
import { keyTable, limitsText, type ServiceKey, usageTable } from './key-tables.ts';
import { daysIn, type LimitOptions, limitsIn, OPTION_OF } from './options.ts';

const DAY_MS = 86_400_000;

const SERVICES: readonly KeyedService[] = ['gateway', 'monitoring'];

interface CreateKeyOptions extends LimitOptions {
  service: KeyedService;
  name: string;
  write?: boolean;
}

export async function createKey(
  options: CreateKeyOptions,
  run: CommandRun,
): Promise<PrintedResult> {
  const { service, write } = options;
  const name = KeyName.safeParse(options.name);
  if (!name.success) throw new CommandLineError('--name must have 1 to 100 characters.');
  const limits: KeyLimits = {};
  for (const [limitName, value] of Object.entries(limitsIn(options))) {
    if (value !== null) limits[limitName as keyof KeyLimits] = value;
  }
  if (service !== 'gateway' && Object.keys(limits).length > 0) throw notLimitable();
  if (service === 'gateway' && write) {
    throw new CommandLineError(
      "--write works only with monitoring keys. Gateway keys can't change anything.",
    );
  }
  const readOnly = service === 'monitoring' && !write;
  return await withKeys(run, async (keys) => {
    const { id, key } = await keys.of(service).create(name.data, limits, { readOnly });
    const rights = readOnly ? ', read-only' : '';
    return {
      data: { service, id, name: name.data, readOnly, limits, key },
      lines: [`New ${service} key ${id}${rights} (shown only once):`, key],
      quietLines: [key],
    };
  });
}

export async function limitKey(
  id: string,
  options: LimitOptions,
  run: CommandRun,
): Promise<PrintedResult> {
  const change = limitsIn(options);
  if (Object.keys(change).length === 0) {
    const names = Object.values(OPTION_OF).map((name) => `--${name}`);
    throw new CommandLineError(
      `keys limit needs a limit: ${names.join(', ')}, each with a number or none.`,
    );
  }
  return await withKeys(run, async (keys) => {
    const info = await keys.of('gateway').limit(id, change);
    if (info) {
      const { name, limits = {} } = info;
      const line = `Limits for key ${id} (${plain(name)}): ${limitsText(info)}.`;
      return { data: { id, name, limits }, lines: [line], quietLines: [] };
    }
    if ((await keys.of('monitoring').list()).some((key) => key.id === id)) throw notLimitable();
    throw noKey(id);
  });
}

export async function revokeKey(id: string, _: unknown, run: CommandRun): Promise<PrintedResult> {
  return await withKeys(run, async (keys) => {
    for (const service of SERVICES) {
      if (!(await keys.of(service).revoke(id))) continue;
      const lines = [`Revoked ${service} key ${id}.`];
      return { data: { service, id, isRevoked: true }, lines, quietLines: [] };
    }
    throw noKey(id);
  });
}

export async function listKeys(
  { service: only }: { service?: KeyedService },
  run: CommandRun,
): Promise<PrintedResult> {
  return await withKeys(run, async (keys) => {
    const services = only ? [only] : SERVICES;
    const rows = services.includes('gateway')
      ? await keys.usage({ fromDay: dayBefore(USAGE_DAYS.default - 1) })
      : undefined;
    const all: ServiceKey[] = [];
    for (const service of services) {
      for (const key of await keys.of(service).list()) all.push({ service, ...key });
    }
    return keyTable(all, rows, dayBefore(0));
  });
}

export async function showUsage(
  id: string | undefined,
  options: { days: string },
  run: CommandRun,
): Promise<PrintedResult> {
  const days = daysIn(options);
  return await withKeys(run, async (keys) => {
    const rows = await keys.usage({ keyId: id, fromDay: dayBefore(days - 1) });
    if (!rows) {
      throw new CommandLineError(
        'The running Askwatch has no gateway, so it counts no usage. Run this where the gateway runs.',
      );
    }
    const names = new Map((await keys.of('gateway').list()).map((key) => [key.id, key.name]));
    if (rows.length === 0 && id !== undefined && !names.has(id)) throw noKey(id);
    return usageTable(rows, { names, days });
  });
}

async function withKeys(
  run: CommandRun,
  use: (keys: KeyActions) => Promise<PrintedResult>,
): Promise<PrintedResult> {
  // Loads most of the program, so wrong arguments are refused before.
  const { reachKeys } = await import('./control-client.ts');
  const keys = await reachKeys(run.program.version);
  try {
    return await use(keys);
  } finally {
    await keys.close();
  }
}

function noKey(id: string): CommandLineError {
  return new CommandLineError(`No key has the id ${plain(id)}. askwatch keys list shows the ids.`);
}

function notLimitable(): CommandLineError {
  return new CommandLineError(
    "Monitoring keys can't have limits of their own; all of them have the same.",
  );
}

function dayBefore(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
}
