import type { Logger } from 'pino';
import type { Settings } from '../config/settings.ts';
import { openLowdbStore } from '../store/lowdb/lowdb-store.ts';
import type { Store } from '../store/store.ts';

/** Opens the store that the settings name. The one of a database, and its libraries, are loaded only for that. */
export async function openStore(
  { database, dataDir }: Pick<Settings, 'database' | 'dataDir'>,
  { version, log }: { version: string; log: Logger },
): Promise<Store> {
  if (!database) return await openLowdbStore({ folder: dataDir, log });
  const { openPostgresStore } = await import('../store/postgres/postgres-store.ts');
  return await openPostgresStore({ ...database, version, log });
}
