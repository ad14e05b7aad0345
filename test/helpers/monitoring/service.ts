import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { request } from 'undici';
import { onTestFinished } from 'vitest';
import type { Monitor, MonitorCreated, MonitorList } from '../../../src/contracts/monitoring.ts';
import { type Keys, openKeys } from '../../../src/http/keys.ts';
import { createPublicAddress } from '../../../src/http/public-address.ts';
import { createServer, type ServerKit } from '../../../src/http/server.ts';
import type { CheckTypes } from '../../../src/monitoring/checks/registry.ts';
import { openSharedHistory } from '../../../src/monitoring/history/shared-history.ts';
import { createMonitoring, type ServiceParts } from '../../../src/monitoring/monitoring.ts';
import { STATES } from '../../../src/monitoring/monitors/state-store.ts';
import { readDefinitions } from '../../../src/monitoring/provisioning/definitions.ts';
import { Provisioning } from '../../../src/monitoring/provisioning/provisioning.ts';
import { readSourceFiles } from '../../../src/monitoring/provisioning/source-files.ts';
import type { ServiceClock } from '../../../src/monitoring/time/clock.ts';
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { recordingLog } from '../recording-log.ts';
import { type AtEnd, temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';

/** An answer of the service. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  // What comes is checked piece by piece in assertions.
  body: Record<string, unknown> & { error?: Record<string, unknown> };
  text: string;
}

/** The real service on a real port, with its own store. */
export interface Service {
  url: string;
  folder: string;
  key: string;
  kit: ServerKit;
  keys: Keys;
  createKey(rights?: { readOnly?: boolean }): Promise<string>;
  /** Any request; `json` is sent as JSON. With the key unless `key` is null. */
  call(
    method: string,
    path: string,
    options?: {
      key?: string | null;
      headers?: Record<string, string>;
      json?: unknown;
      body?: string;
    },
  ): Promise<Answer>;
  list(): Promise<Monitor[]>;
  /** GET with a key of its own, because a key may make 120 requests a minute and tests look all the time. */
  get(path: string): Promise<Answer>;
  /** Creates and asserts 201. */
  create(monitor: object): Promise<MonitorCreated>;
  metrics(): Promise<string>;
  lines: Array<Record<string, unknown>>;
  store: Store;
  provisioning: Provisioning | undefined;
  /** Times that the monitors file was read. */
  readings(): number;
  close(): Promise<void>;
}

const MONITORS = '/api/v1/public/monitors';

/** Starts the service; it ends with the running test, or when closed. Call inside a test. */
export async function startService(
  options: {
    folder?: string;
    allowPrivate?: string[];
    clock?: ServiceClock;
    types?: CheckTypes;
    publicUrl?: string;
    isOpen?: boolean;
    networkAnchors?: string[];
    maxMonitors?: number;
    /** The path of what declares monitors. */
    monitorsFile?: string;
    changesOverlapMs?: number;
    /** Adds other routes to the same server, and gives what to close before it. */
    addRoutes?: (parts: { kit: ServerKit; keys: Keys; serviceUrl: () => string; log: Logger }) => {
      close(): Promise<void>;
    };
    /** Another store than one in memory. */
    openStore?: (log: Logger) => Promise<Store | PostgresStore>;
    /** Called with the monitors that this process goes on counting, once it can. */
    onTakenOver?: (monitors: readonly string[]) => void;
    /** When it ends at the latest: with the running test, unless this says otherwise. */
    atEnd?: AtEnd;
  } = {},
): Promise<Service> {
  const folder = options.folder ?? (await temporaryFolder(options.atEnd));
  const { log, lines } = recordingLog();
  const store = (await options.openStore?.(log)) ?? (await openTestStore({ folder, log }));
  const shared = store.isShared ? (store as PostgresStore) : undefined;
  const keys = await openKeys(store, 'monitoring');
  const kit = await createServer({ log, version: '1.2.3' });
  let url = '';
  const path = options.monitorsFile;
  let provisioning: Provisioning | undefined;
  let readings = 0;
  // In this process, because a process for each reading takes half a second.
  const openFiles = ({ allowPrivate, ...parts }: ServiceParts) => {
    const context = { env: {}, taboo: [], platforms: ['slack', 'discord'], allowPrivate };
    const read = async (at: string) => {
      try {
        return await readDefinitions(await readSourceFiles(at), context);
      } finally {
        readings += 1;
      }
    };
    const at = path ?? '';
    provisioning = new Provisioning({ ...parts, path: at, read: () => read(at) });
    return provisioning;
  };
  const monitoring = await createMonitoring({
    kit,
    keys,
    store,
    allowPrivate: options.allowPrivate ?? ['127.0.0.0/8'],
    addressFor: createPublicAddress({
      ...{ publicUrl: options.publicUrl, isOpen: options.isOpen ?? false },
      listening: () => url,
    }),
    version: '1.2.3',
    log,
    clock: options.clock,
    ...(shared && {
      openHistory(parts) {
        const { series } = shared;
        const history = openSharedHistory({ ...parts, series, handed: shared.extras(STATES) });
        return {
          ...history,
          async takeOver(monitors) {
            await history.takeOver(monitors);
            options.onTakenOver?.(monitors);
          },
        };
      },
    }),
    networkAnchors: options.networkAnchors,
    openFiles: path === undefined ? undefined : openFiles,
    types: options.types,
    maxMonitors: options.maxMonitors,
    changesOverlapMs: options.changesOverlapMs,
  });
  const added = options.addRoutes?.({ kit, keys, serviceUrl: () => url, log });
  url = await kit.listen({ host: '127.0.0.1', port: 0 });
  monitoring.start();
  const key = (await keys.create('tests')).key;

  let closed = false;
  async function close() {
    if (closed) return;
    closed = true;
    await added?.close();
    await monitoring.close();
    await kit.close();
    await store.close();
  }
  (options.atEnd ?? onTestFinished)(close);

  const call: Service['call'] = async (method, path, { key: asked, headers, json, body } = {}) => {
    const answer = await request(url + path, {
      method: method as 'GET',
      headers: {
        ...(asked === null ? {} : { 'x-api-key': asked ?? key }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
    });
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
      body: text.startsWith('{') ? JSON.parse(text) : {},
      text,
    };
  };

  const get = (path: string) => call('GET', path, { key: keys.createTransient(randomUUID()) });

  return {
    url,
    folder,
    key,
    kit,
    keys,
    createKey: async (rights) => (await keys.create('more', {}, rights)).key,
    call,
    get,
    async list() {
      const { body } = await get(MONITORS);
      return (body as unknown as MonitorList).monitors;
    },
    async create(monitor) {
      const answer = await call('POST', MONITORS, {
        json: monitor,
        key: keys.createTransient(randomUUID()),
      });
      if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.text}`);
      return answer.body as unknown as MonitorCreated;
    },
    metrics: async () => (await call('GET', '/metrics')).text,
    lines,
    store,
    provisioning,
    readings: () => readings,
    close,
  };
}
