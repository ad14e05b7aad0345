import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createMonitoringClient, type MonitoringClient } from '../../src/clients/monitoring.ts';
import type { Monitor } from '../../src/contracts/monitoring.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../../test/helpers/recording-log.ts';
import { plannedChecks } from '../week/planned-checks.ts';
import { NOW_MS } from '../week/planned-monitor.ts';
import { writeRecordedWeek } from '../week/write-week.ts';
import { startServiceAt } from './service.ts';

/** The real service over the recorded week. Nothing is due at the moment at which its clock stands. */
export interface Week {
  url: string;
  /** For a bot: an empty folder that nobody else has. */
  createFolder(): string;
  /** A key of its own for each bot, since one may make 120 requests a minute. */
  createKey(): string;
  /** Requests that change something, such as `PATCH /api/v1/public/monitors/mon_1`. */
  changes: string[];
  /** Reads the service's state for grading. */
  list(): Promise<Monitor[]>;
  show: MonitoringClient['show'];
  close(): Promise<void>;
}

/** Weeks that begin as they were recorded, for one answer after another. */
export interface Weeks {
  /** Returns the current week if nothing has changed it, because a start is slow. */
  fresh(): Promise<Week>;
  close(): Promise<void>;
}

/** Weeks in an empty folder, which is the caller's to remove. Nothing is written before the first one is asked for. */
export function openWeeks(folder: string): Weeks {
  let recorded: Promise<string> | undefined;
  let count = 0;
  let current: Week | undefined;
  return {
    async fresh() {
      if (current?.changes.length === 0) return current;
      await current?.close();
      recorded ??= writeWeek(join(folder, 'recorded'));
      count += 1;
      const copy = join(folder, `week-${count}`);
      copyFolder(await recorded, copy);
      current = await startWeek(copy);
      return current;
    },
    close: async () => await current?.close(),
  };
}

async function writeWeek(folder: string): Promise<string> {
  const store = await openLowdbStore({ folder, log: recordingLog().log });
  await writeRecordedWeek(store);
  await store.close();
  return folder;
}

/** A thousand small files: a promise for each would cost more than what is copied. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700 });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, copy);
    else copyFileSync(source, copy);
  }
}

async function startWeek(folder: string): Promise<Week> {
  const store = await openLowdbStore({ folder, log: recordingLog().log });
  const service = await startServiceAt(NOW_MS, store, plannedChecks());
  const changes: string[] = [];
  service.onRequest((method, path) => {
    if (method !== 'GET' && !path.endsWith('/check')) changes.push(`${method} ${path}`);
  });
  let bots = 0;
  const createFolder = () => {
    bots += 1;
    return `${folder}-bot-${bots}`;
  };
  /** Reads for grading, with a new key each time. */
  async function looking<T>(look: (client: MonitoringClient) => Promise<T>): Promise<T> {
    const { url, createKey } = service;
    const client = createMonitoringClient({ baseUrl: url, apiKey: createKey() });
    return await look(client).finally(() => client.close());
  }
  return {
    ...service,
    createFolder,
    changes,
    list: () => looking((client) => client.list()),
    show: (id) => looking((client) => client.show(id)),
    async close() {
      await service.close();
      await store.close();
    },
  };
}
