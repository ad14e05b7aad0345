import { onTestFinished } from 'vitest';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';
import { describeStore } from './store-contract.ts';

describeStore('the lowdb engine', async () => {
  const folder = await folderOnDisk();
  const { log } = recordingLog();
  let store = await openLowdbStore({ folder, log });
  onTestFinished(() => store.close());
  return {
    store,
    async reopen() {
      await store.close();
      store = await openLowdbStore({ folder, log });
      return store;
    },
  };
});
