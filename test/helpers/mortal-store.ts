import type { Logger } from 'pino';
import { openLowdbRegisters } from '../../src/store/lowdb/registers.ts';
import { openStateInJournals } from '../../src/store/lowdb/state.ts';
import type { Store } from '../../src/store/store.ts';

/** A store for which every write after so many fails, as for a process that was killed. */
export function mortalStore(real: Store, life: { writes: number }, log: Logger): Store {
  const living =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      life.writes -= 1;
      if (life.writes < 0) throw new Error('killed');
      return await write(...args);
    };
  const store: Store = {
    ...real,
    collection(declaration) {
      const inner = real.collection(declaration);
      const { update, erase, eraseAll } = inner;
      return {
        ...inner,
        ...{ update: living(update), erase: living(erase), eraseAll: living(eraseAll) },
      };
    },
    journal(declaration) {
      const inner = real.journal(declaration);
      const { append, erase, clear } = inner;
      return {
        ...inner,
        ...{ append: living(append), erase: living(erase), clear: living(clear) },
      };
    },
    claims(declaration) {
      const inner = real.claims(declaration);
      const { once, finish, giveBack } = inner;
      return {
        ...inner,
        ...{ once: living(once), finish: living(finish), giveBack: living(giveBack) },
      };
    },
    state: (declaration) => openStateInJournals(declaration, { journal: store.journal, log }),
    registers: (declaration) => openLowdbRegisters(declaration, { journal: store.journal, log }),
  };
  return store;
}
