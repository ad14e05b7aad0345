import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { openHistory } from '../monitoring/history/history.ts';
import { openSharedHistory } from '../monitoring/history/shared-history.ts';
import type { OpenHistory } from '../monitoring/monitoring.ts';
import { STATES } from '../monitoring/monitors/state-store.ts';
import { DataFolderError } from '../store/errors.ts';
import { openLowdbStore } from '../store/lowdb/lowdb-store.ts';
import type { Store } from '../store/store.ts';
import type { Settings } from './settings.ts';

/** The store that the settings name, and what of the services is kept in another way in each. */
export interface OpenedStore {
  store: Store;
  openHistory: OpenHistory;
  /** Monitors that all processes on it take together; what one process can check when absent. */
  maxMonitors?: number;
}

/** With as many processes as it takes to check them. */
const MAX_SHARED_MONITORS = 1_000_000;

/** Opens the store that the settings name. The one of a database, and its libraries, are loaded only for that. */
export async function openStore(
  { database, dataDir }: Pick<Settings, 'database' | 'dataDir'>,
  { version, log }: { version: string; log: Logger },
): Promise<OpenedStore> {
  if (!database) return { store: await openLowdbStore({ folder: dataDir, log }), openHistory };
  const { openPostgresStore } = await import('../store/postgres/postgres-store.ts');
  const store = await openPostgresStore({ ...database, version, log });
  const { series } = store;
  const handed = store.extras(STATES);
  return {
    store,
    openHistory: (options) => openSharedHistory({ series, handed, ...options }),
    maxMonitors: MAX_SHARED_MONITORS,
  };
}

/**
 * Throws a `DataFolderError` if no Askwatch was ever started on this data folder: a command in the wrong folder would create an
 * empty one, and show that.
 */
export function assertStarted({ database, dataDir }: Pick<Settings, 'database' | 'dataDir'>): void {
  if (database || existsSync(dataDir)) return;
  throw new DataFolderError(
    `There is no Askwatch data in ${dataDir}. Run this in the folder where Askwatch runs, or set DATA_DIR to its data folder. A new Askwatch creates it when it starts.`,
  );
}
