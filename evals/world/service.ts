import { openKeys } from '../../src/http/keys.ts';
import { createPublicAddress } from '../../src/http/public-address.ts';
import { createServer } from '../../src/http/server.ts';
import type { CheckTypes } from '../../src/monitoring/checks/registry.ts';
import { createMonitoring } from '../../src/monitoring/monitoring.ts';
import type { Store } from '../../src/store/store.ts';
import { createFakeClock } from '../../test/helpers/monitoring/fake-clock.ts';
import { recordingLog } from '../../test/helpers/recording-log.ts';

/** Starts the real monitoring service over a store, with a clock that stands, so no check is due. */
export async function startServiceAt(nowMs: number, store: Store, types: CheckTypes) {
  const { log } = recordingLog();
  const keys = await openKeys(store, 'monitoring');
  const kit = await createServer({ log, version: '0' });
  let url = '';
  const monitoring = await createMonitoring({
    kit,
    keys,
    store,
    allowPrivate: [],
    addressFor: createPublicAddress({
      publicUrl: undefined,
      isOpen: false,
      listening: () => url,
    }),
    version: '0',
    log,
    clock: createFakeClock(nowMs),
    types,
  });
  let listener = (_method: string, _path: string) => {};
  kit.server.addHook('onRequest', async ({ method, url: path }) => listener(method, path));
  url = await kit.listen({ host: '127.0.0.1', port: 0 });
  monitoring.start();
  let keyCount = 0;
  return {
    url,
    onRequest(listen: typeof listener) {
      listener = listen;
    },
    /** A key of its own for each bot, since one may make 120 requests a minute. */
    createKey() {
      keyCount += 1;
      return keys.createTransient(`bot ${keyCount}`);
    },
    /** The store is the caller's to close. */
    async close() {
      await monitoring.close();
      await kit.close();
    },
  };
}
