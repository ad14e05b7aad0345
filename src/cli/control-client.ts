import { existsSync } from 'node:fs';
import { Agent, request } from 'undici';
import { createLog } from '../app/log.ts';
import { assertStarted, openStore } from '../app/open-store.ts';
import { readSettings, type Settings } from '../app/settings.ts';
import type { KeyedService } from '../contracts/api-key.ts';
import { ErrorBody } from '../contracts/error.ts';
import { openJournalBooks } from '../gateway/usage/journal-books.ts';
import { controlSocket } from '../http/control-socket.ts';
import { type KeyInfo, type Keys, openKeys } from '../http/keys.ts';
import type { UsageQuery, UsageRow } from '../store/usage.ts';

/** Key management for the command line. */
export interface KeyActions {
  of(service: KeyedService): Pick<Keys, 'create' | 'limit' | 'revoke'> & {
    list(): KeyInfo[] | Promise<KeyInfo[]>;
  };
  /** Usage of the gateway; `undefined` when the program that runs has no gateway. */
  usage(query: UsageQuery): Promise<UsageRow[] | undefined>;
  close(): Promise<void>;
}

/**
 * Opens the keys: in the database, if there is one; else through the running program's control socket; else in the data folder.
 * Running programs notice changes in the database by themselves.
 */
export async function reachKeys(version: string): Promise<KeyActions> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const settings = readSettings(process.env);
  const running = settings.database
    ? undefined
    : await runningKeys(controlSocket(settings.dataDir));
  return running ?? (await storedKeys(settings, version));
}

/** Connects to the running program's control socket; `undefined` if no program runs. The caller closes it. */
export async function openControlClient(socketPath: string): Promise<Agent | undefined> {
  if (!existsSync(socketPath)) return undefined;
  const dispatcher = new Agent({ connect: { socketPath } });
  try {
    await (await request('http://askwatch/keys/gateway', { dispatcher })).body.dump();
    return dispatcher;
  } catch (error) {
    await dispatcher.close();
    // Left behind by a killed process: nobody listens.
    if ((error as { code?: string }).code === 'ECONNREFUSED') return undefined;
    throw error;
  }
}

const pathOf = (name: string, query: object) => {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) given.set(key, String(value));
  }
  return `${name}?${given}`;
};

/** Streams the running program's response; `undefined` after a 404. */
export async function askRunning(dispatcher: Agent, name: string, query: object) {
  const url = `http://askwatch/${pathOf(name, query)}`;
  const { statusCode, body } = await request(url, { dispatcher });
  if (statusCode < 400) return body;
  const value: unknown = await body.json();
  if (statusCode === 404) return undefined;
  throw new Error(ErrorBody.parse(value).error.message);
}

/** `undefined` when no program runs. */
async function runningKeys(socketPath: string): Promise<KeyActions | undefined> {
  const opened = await openControlClient(socketPath);
  if (!opened) return undefined;
  const dispatcher = opened;
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
      const keyPath = (id: string) => `keys/${service}/${encodeURIComponent(id)}`;
      return {
        create: async (name, limits, { readOnly } = {}) => {
          // A program that runs since before there were such keys refuses what it does not know.
          const wanted = { name, limits, ...(readOnly && { readOnly }) };
          return (await call('POST', `keys/${service}`, wanted)) as KeyInfo & { key: string };
        },
        list: async () => (await call('GET', `keys/${service}`)) as KeyInfo[],
        limit: async (id, limits) =>
          (await call('PATCH', keyPath(id), { limits })) as KeyInfo | undefined,
        revoke: async (id) => (await call('DELETE', keyPath(id))) !== undefined,
      };
    },
    async usage(query) {
      return (await call('GET', pathOf('usage', query))) as UsageRow[] | undefined;
    },
    close: () => dispatcher.close(),
  };
}

async function storedKeys(settings: Settings, version: string): Promise<KeyActions> {
  const log = createLog({ level: 'warn', secrets: settings.secrets });
  assertStarted(settings);
  const { store } = await openStore(settings, { version, log });
  let keys: Record<KeyedService, Keys>;
  try {
    keys = {
      gateway: await openKeys(store, 'gateway'),
      monitoring: await openKeys(store, 'monitoring'),
    };
  } catch (error) {
    await store.close();
    throw error;
  }
  return {
    of: (service) => keys[service],
    async usage(query) {
      const clocks = { unixMs: Date.now, steadyMs: () => performance.now() };
      const books = store.usage?.(clocks) ?? (await openJournalBooks({ store, clocks, log }));
      try {
        return await books.summary(query);
      } finally {
        await books.close();
      }
    },
    close: () => store.close(),
  };
}
