import type { Logger } from 'pino';
import { openLocalSharedValues } from '../../src/store/local-shared-values.ts';
import type { Store } from '../../src/store/store.ts';

/** A store for which every write after so many fails, as for a process that was killed. */
export const mortalStore = (real: Store, life: { writes: number }, log: Logger): Store =>
  guardedStore(real, log, () => {
    life.writes -= 1;
    if (life.writes < 0) throw new Error('killed');
  });

/** A store that calls `beforeWrite` with the name of what is about to be written; a write fails with what that throws. */
export function guardedStore(real: Store, log: Logger, beforeWrite: (name: string) => void): Store {
  const guard =
    (name: string) =>
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      beforeWrite(name);
      return await write(...args);
    };
  const store: Store = {
    ...real,
    collection(declaration) {
      const inner = real.collection(declaration);
      const living = guard(declaration.name);
      const { update, erase, eraseAll } = inner;
      return {
        ...inner,
        ...{ update: living(update), erase: living(erase), eraseAll: living(eraseAll) },
      };
    },
    journal(declaration) {
      const inner = real.journal(declaration);
      const living = guard(declaration.name);
      const { append, erase, clear } = inner;
      return {
        ...inner,
        ...{ append: living(append), erase: living(erase), clear: living(clear) },
      };
    },
    claims(declaration) {
      const inner = real.claims(declaration);
      const living = guard(declaration.name);
      const { claim: once, finish, release: giveBack } = inner;
      return {
        ...inner,
        ...{ claim: living(once), finish: living(finish), release: living(giveBack) },
      };
    },
    async keyed(declaration) {
      const inner = await real.keyed(declaration);
      const living = guard(declaration.name);
      return { ...inner, write: living(inner.write), erase: living(inner.erase) };
    },
    sharedValues: (declaration) => openLocalSharedValues(declaration, { keyed: store.keyed, log }),
  };
  return store;
}
