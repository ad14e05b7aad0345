import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import type { Collection, Store } from '../../../src/store/store.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A store, whose owner closes it, and the collections that were opened in it, by their names. */
export async function openCollections() {
  const own = await openLowdbStore({ folder: await temporaryFolder(), log: recordingLog().log });
  const collections = new Map<string, Pick<Collection<unknown>, 'list'>>();
  const store: Store = {
    ...own,
    collection(declaration) {
      const collection = own.collection(declaration);
      collections.set(declaration.name, collection);
      return collection;
    },
  };
  return { store, collections, close: own.close };
}
