import type { Collection, CollectionDeclaration, Store } from '../../../src/store/store.ts';

/** Shares each collection between a console and the test that reads or breaks it. */
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
