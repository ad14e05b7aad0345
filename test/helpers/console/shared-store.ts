import type { Collection, CollectionDeclaration, Store } from '../../../src/store/store.ts';

/** The store, which gives each of its collections to whoever asks: a console and the test that looks into it. */
export function sharedStore(store: Store): Store {
  const given = new Map<string, unknown>();
  return {
    ...store,
    collection<T>(declaration: CollectionDeclaration<T>) {
      const { name } = declaration;
      if (!given.has(name)) given.set(name, store.collection(declaration));
      return given.get(name) as Collection<T>;
    },
  };
}
