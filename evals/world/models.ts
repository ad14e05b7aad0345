import { readSettings } from '../../src/app/settings.ts';
import { readCatalog } from '../../src/gateway/catalog/catalog.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { openKeys } from '../../src/http/keys.ts';
import { createServer } from '../../src/http/server.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../../test/helpers/recording-log.ts';

/** A gateway and a key for it. */
export interface Models {
  baseUrl: string;
  apiKey: string;
}

/** Starts the gateway of Askwatch in a folder, with the keys of providers and the catalog that these settings name. */
export async function startGateway(
  env: NodeJS.ProcessEnv,
  folder: string,
): Promise<Models & { close(): Promise<void> }> {
  const { providers, catalogFile } = readSettings(env);
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder, log });
  const keys = await openKeys(store, 'gateway');
  const kit = await createServer({ log, version: '0' });
  const catalog = await readCatalog(catalogFile);
  const gateway = await createGateway({ kit, keys, catalog, providers, log });
  return {
    baseUrl: await kit.listen({ host: '127.0.0.1', port: 0 }),
    apiKey: keys.createTransient('evals'),
    async close() {
      await gateway.close();
      await kit.close();
      await store.close();
    },
  };
}
