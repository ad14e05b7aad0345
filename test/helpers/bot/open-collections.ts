import type { Collection, Store } from '../../../src/store/store.ts';
import { openTestStore } from '../test-store.ts';

/** A store, whose owner closes it, and the collections that were opened in it, by their names. */
export async function openCollections() {
  const own = await openTestStore();
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
