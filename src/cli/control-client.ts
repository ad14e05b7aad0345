import { existsSync } from 'node:fs';
import { Agent, request } from 'undici';
import { createLog } from '../app/log.ts';
import { readSettings } from '../config/settings.ts';
import type { Service } from '../contracts/api-key.ts';
import { ErrorBody } from '../contracts/error.ts';
import { openUsageDays } from '../gateway/usage/days.ts';
import { usageJournal } from '../gateway/usage/journal.ts';
import { controlSocket } from '../http/control-socket.ts';
import { type KeyInfo, type Keys, openKeys } from '../http/keys.ts';
import { openLowdbStore } from '../store/lowdb/lowdb-store.ts';
import type { UsageQuery, UsageRow } from '../store/usage.ts';

/** What the command line does with keys. */
export interface KeyActions {
  of(service: Service): Pick<Keys, 'create' | 'limit' | 'revoke'> & {
    list(): KeyInfo[] | Promise<KeyInfo[]>;
  };
  /** Usage of the gateway; `undefined` when the program that runs has no gateway. */
  usage(query: UsageQuery): Promise<UsageRow[] | undefined>;
  close(): Promise<void>;
}

/** Reaches the running program through its control socket, or the data folder when none runs. */
export async function reachKeys(): Promise<KeyActions> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const { dataDir, secrets } = readSettings(process.env);
  return (await runningKeys(controlSocket(dataDir))) ?? (await storedKeys(dataDir, secrets));
}

/** `undefined` when no program runs. */
async function runningKeys(socketPath: string): Promise<KeyActions | undefined> {
  if (!existsSync(socketPath)) return undefined;
  const dispatcher = new Agent({ connect: { socketPath } });
  try {
    await (await request('http://askwatch/keys/gateway', { dispatcher })).body.dump();
  } catch (error) {
    await dispatcher.close();
    // Left behind by a killed process: nobody listens.
    if ((error as { code?: string }).code === 'ECONNREFUSED') return undefined;
    throw error;
  }
  async function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) {
    const { statusCode, body: answer } = await request(`http://askwatch/${path}`, {
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
    of(service) {
      const pathOf = (id: string) => `keys/${service}/${encodeURIComponent(id)}`;
      return {
        create: async (name, limits) =>
          (await call('POST', `keys/${service}`, { name, limits })) as KeyInfo & { key: string },
        list: async () => (await call('GET', `keys/${service}`)) as KeyInfo[],
        limit: async (id, limits) =>
          (await call('PATCH', pathOf(id), { limits })) as KeyInfo | undefined,
        revoke: async (id) => (await call('DELETE', pathOf(id))) !== undefined,
      };
    },
    async usage(query) {
      const given = Object.entries(query).filter(([, value]) => value !== undefined);
      const search = new URLSearchParams(given as Array<[string, string]>);
      return (await call('GET', `usage?${search}`)) as UsageRow[] | undefined;
    },
    close: () => dispatcher.close(),
  };
}

async function storedKeys(folder: string, secrets: string[]): Promise<KeyActions> {
  const log = createLog({ level: 'warn', secrets });
  const store = await openLowdbStore({ folder, log });
  const keys = {
    gateway: await openKeys(store, 'gateway'),
    monitoring: await openKeys(store, 'monitoring'),
  };
  return {
    of: (service) => keys[service],
    async usage(query) {
      const days = await openUsageDays({ store, journal: store.journal(usageJournal), log });
      return await days.summary(query);
    },
    close: () => store.close(),
  };
}
