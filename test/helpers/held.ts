import type { Claims, ClaimsDeclaration } from '../../src/store/claims.ts';
import type { Collection, Store } from '../../src/store/store.ts';

/** A store whose documents and claims are neither read nor written while it is held. */
export function holdable(store: Store): { store: Store; hold(): () => void; waiting(): number } {
  let gate = Promise.resolve();
  let waiting = 0;

  const passing =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      waiting += 1;
      await gate;
      waiting -= 1;
      return await call(...args);
    };

  function collection<T>(declared: Parameters<Store['collection']>[0]): Collection<T> {
    const inner = store.collection(declared) as Collection<T>;
    const { get, list, update, erase, eraseAll, follow } = inner;
    return {
      ...{ get: passing(get), list: passing(list), update: passing(update) },
      ...{ erase: passing(erase), eraseAll: passing(eraseAll), follow: passing(follow) },
    };
  }

  function claims<T>(declared: ClaimsDeclaration<T>): Claims<T> {
    const {
      claim: once,
      finish,
      release: giveBack,
      unfinished: left,
      eraseFinished,
    } = store.claims(declared);
    return {
      ...{ claim: passing(once), finish: passing(finish) },
      ...{ release: passing(giveBack), unfinished: passing(left) },
      eraseFinished: passing(eraseFinished),
    };
  }

  return {
    store: { ...store, collection: collection as Store['collection'], claims },
    hold() {
      let release = () => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    /** Operations that wait for the store. */
    waiting: () => waiting,
  };
}
