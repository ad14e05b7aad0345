#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { readSettings } from './config.ts';
import type { Service } from './contracts/api-key.ts';
import { ErrorBody } from './contracts/error.ts';
import { controlSocket } from './http/control.ts';
import { type KeyInfo, openKeys } from './http/keys.ts';
import { createLog } from './log.ts';
import { startupSentence } from './startup-errors.ts';
import { openLowdbStore } from './store/lowdb/lowdb-store.ts';

const HELP = `Usage: npx askwatch <command>

  start                                                    start Askwatch
  keys create --service gateway|monitoring --name <name>   make an API key; it is shown once
  keys list [--service gateway|monitoring]                 the keys there are
  keys revoke <id>                                         refuse a key from now on
  help                                                     this text

Settings come from the environment and .env; the README lists them. Keys can be managed while Askwatch runs.
`;

const SERVICES: readonly Service[] = ['gateway', 'monitoring'];

/** What the caller typed cannot be run; the message says what to type. */
class UsageError extends Error {
  override name = 'UsageError' as const;
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(
    error instanceof UsageError ? `${error.message}\n\n${HELP}` : `${startupSentence(error)}\n`,
  );
  process.exitCode = 1;
}

async function run(argv: string[]): Promise<void> {
  const { values, positionals } = parse(argv);
  const [command, ...rest] = positionals;
  if (values.help || command === undefined || command === 'help') {
    process.stdout.write(HELP);
    return;
  }
  if (command === 'start') {
    await import('./main.ts');
    return;
  }
  if (command !== 'keys') throw new UsageError(`There is no command '${command}'.`);
  const [action, id] = rest;
  const keys = await reachKeys();
  try {
    await runKeys(keys, action, id, values);
  } finally {
    await keys.close();
  }
}

function parse(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        service: { type: 'string' },
        name: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function runKeys(
  keys: KeyActions,
  action: string | undefined,
  id: string | undefined,
  options: { service?: string | undefined; name?: string | undefined },
): Promise<void> {
  if (action === 'create') {
    const service = serviceNamed(options.service);
    if (!service) throw new UsageError('Say which service: --service gateway or monitoring.');
    if (!options.name) throw new UsageError('Give the key a name: --name <name>.');
    const { id: keyId, key } = await keys.create(service, options.name);
    process.stdout.write(`Key ${keyId} of the ${service} service, shown this once:\n${key}\n`);
    return;
  }
  if (action === 'list') {
    const only = serviceNamed(options.service);
    for (const service of only ? [only] : SERVICES) {
      for (const key of await keys.list(service)) {
        const created = new Date(key.createdAtMs).toISOString();
        process.stdout.write(`${service}\t${key.id}\t${created}\t${key.name}\n`);
      }
    }
    return;
  }
  if (action === 'revoke') {
    if (!id) throw new UsageError('Say which key: keys revoke <id>; keys list shows the ids.');
    for (const service of SERVICES) {
      if (!(await keys.revoke(service, id))) continue;
      process.stdout.write(`Key ${id} of the ${service} service is refused from now on.\n`);
      return;
    }
    throw new UsageError(`There is no key ${id}; keys list shows the ids.`);
  }
  throw new UsageError('Say what to do with keys: create, list or revoke.');
}

function serviceNamed(name: string | undefined): Service | undefined {
  if (name === undefined) return undefined;
  const service = SERVICES.find((known) => known === name);
  if (!service) throw new UsageError(`There is no service '${name}': gateway or monitoring.`);
  return service;
}

interface KeyActions {
  create(service: Service, name: string): Promise<KeyInfo & { key: string }>;
  list(service: Service): Promise<KeyInfo[]>;
  revoke(service: Service, id: string): Promise<boolean>;
  close(): Promise<void>;
}

/** The keys of the running program through its control socket, or those in the data folder when none runs. */
async function reachKeys(): Promise<KeyActions> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const settings = readSettings(process.env);
  const socketPath = controlSocket(settings.dataDir);
  return existsSync(socketPath) && (await answers(socketPath))
    ? runningKeys(socketPath)
    : await storedKeys(settings.dataDir, settings.secrets);
}

async function answers(socketPath: string): Promise<boolean> {
  const agent = new Agent({ connect: { socketPath } });
  try {
    await (await request('http://askwatch/keys/gateway', { dispatcher: agent })).body.dump();
    return true;
  } catch (error) {
    // Left behind by a killed process: nobody listens.
    if ((error as { code?: string }).code === 'ECONNREFUSED') return false;
    throw error;
  } finally {
    await agent.close();
  }
}

function runningKeys(socketPath: string): KeyActions {
  const dispatcher = new Agent({ connect: { socketPath } });
  async function call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) {
    const { statusCode, body: answer } = await request(`http://askwatch/keys/${path}`, {
      dispatcher,
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const value: unknown = await answer.json();
    if (statusCode === 404) return undefined;
    if (statusCode >= 400) throw new Error(ErrorBody.parse(value).error.message);
    return value;
  }
  return {
    create: async (service, name) =>
      (await call('POST', service, { name })) as KeyInfo & { key: string },
    list: async (service) => (await call('GET', service)) as KeyInfo[],
    revoke: async (service, id) =>
      (await call('DELETE', `${service}/${encodeURIComponent(id)}`)) !== undefined,
    close: () => dispatcher.close(),
  };
}

async function storedKeys(folder: string, secrets: string[]): Promise<KeyActions> {
  const store = await openLowdbStore({ folder, log: createLog({ level: 'warn', secrets }) });
  const keys = {
    gateway: await openKeys(store, 'gateway'),
    monitoring: await openKeys(store, 'monitoring'),
  };
  return {
    create: (service, name) => keys[service].create(name),
    list: async (service) => keys[service].list(),
    revoke: (service, id) => keys[service].revoke(id),
    close: () => store.close(),
  };
}
