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

export interface KeyActions {
  of(service: KeyedService): Pick<Keys, 'create' | 'limit' | 'revoke'> & {
    list(): KeyInfo[] | Promise<KeyInfo[]>;
  };
  /** Usage of the gateway; `undefined` when the program that runs has no gateway. */
  usage(query: UsageQuery): Promise<UsageRow[] | undefined>;
  close(): Promise<void>;
}

/** Reads `.env`, if there is one, and the settings. */
export function loadSettings(): Settings {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return readSettings(process.env);
}

/** In the database, if there is one; else through the running program; else in the data folder. */
export async function reachKeys(version: string): Promise<KeyActions> {
  const settings = loadSettings();
  const running = await reachRunning(settings);
  return running ? runningKeys(running) : await storedKeys(settings, version);
}

/** Connects to the program that runs on the data folder; `undefined` if none does, or if data is in a database. */
export async function reachRunning({
  database,
  dataDir,
}: Pick<Settings, 'database' | 'dataDir'>): Promise<RunningProgram | undefined> {
  const socketPath = controlSocket(dataDir);
  if (database || !existsSync(socketPath)) return undefined;
  const running = new RunningProgram(socketPath);
  try {
    await running.ask('GET', 'keys/gateway');
    return running;
  } catch (error) {
    await running.close();
    // Left behind by a killed process: nobody listens.
    if ((error as { code?: string }).code === 'ECONNREFUSED') return undefined;
    throw error;
  }
}

type ControlMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** The running program, through its control socket. The caller closes it. */
export class RunningProgram {
  readonly #agent: Agent;

  constructor(socketPath: string) {
    this.#agent = new Agent({ connect: { socketPath } });
  }

  /** Resolves to the response's body, or to `undefined` after a 404. */
  async send(
    method: ControlMethod,
    path: string,
    { query = {}, body }: { query?: object; body?: unknown } = {},
  ) {
    const url = new URL(path, 'http://askwatch/');
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    const { statusCode, body: answer } = await request(url, {
      dispatcher: this.#agent,
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (statusCode < 400) return answer;
    const value: unknown = await answer.json();
    if (statusCode === 404) return undefined;
    throw new Error(ErrorBody.parse(value).error.message);
  }

  async ask<T>(
    method: ControlMethod,
    path: string,
    options: { query?: object; body?: unknown } = {},
  ): Promise<T | undefined> {
    return (await (await this.send(method, path, options))?.json()) as T | undefined;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}

function runningKeys(running: RunningProgram): KeyActions {
  return {
    of(service) {
      const keyPath = (id: string) => `keys/${service}/${encodeURIComponent(id)}`;
      return {
        create: async (name, limits, { readOnly } = {}) => {
          const body = { name, limits, readOnly: readOnly || undefined };
          const created = await running.ask('POST', `keys/${service}`, { body });
          return created as KeyInfo & { key: string };
        },
        list: async () => (await running.ask<KeyInfo[]>('GET', `keys/${service}`)) ?? [],
        limit: (id, limits) => running.ask('PATCH', keyPath(id), { body: { limits } }),
        revoke: async (id) => (await running.ask('DELETE', keyPath(id))) !== undefined,
      };
    },
    usage: (query) => running.ask('GET', 'usage', { query }),
    close: () => running.close(),
  };
}

async function storedKeys(settings: Settings, version: string): Promise<KeyActions> {
  const log = createLog({ level: 'warn', format: settings.logFormat, secrets: settings.secrets });
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
