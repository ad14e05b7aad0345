import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Keyed, SharedValues, SharedValuesDeclaration, Store } from './store.ts';

interface SaveWaiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Opens shared values of the only process on a store, in a keyed map of the same name. */
export async function openLocalSharedValues<T>(
  declaration: SharedValuesDeclaration<T>,
  { keyed, log }: { keyed: Store['keyed']; log: Logger },
): Promise<SharedValues> {
  const { name, schema } = declaration;
  const values = await keyed({ name, schema, whenCorrupt: 'forget' });
  return createLocalSharedValues(declaration, { keyed: values, log });
}

/** No other process reads values of `saveLater`, so it stores nothing. */
function createLocalSharedValues<T>(
  { name, current, onStored }: SharedValuesDeclaration<T>,
  { keyed, log }: { keyed: Keyed<T>; log: Logger },
): SharedValues {
  let waiting = new Map<string, SaveWaiter[]>();
  const deleted = new Set<string>();
  let writing: Promise<void> | undefined;
  for (const [id, value] of keyed.items()) onStored(id, { value, extra: undefined });

  function startWriting() {
    writing ??= writeWaiting().finally(() => {
      writing = undefined;
      if (waiting.size > 0) startWriting();
    });
  }

  async function writeWaiting() {
    // Everything that came in the same round of the event loop is written together.
    await setImmediate();
    await setImmediate();
    while (waiting.size > 0) await writeBatch();
    await eraseDeleted();
  }

  async function writeBatch() {
    const batch = waiting;
    waiting = new Map();
    const values = [...batch.keys()].flatMap((id) => {
      const now = current(id);
      return now ? [{ id, ...now }] : [];
    });
    const waiters = [...batch.values()].flat();
    try {
      await keyed.write(new Map(values.map(({ id, value }) => [id, value])));
      for (const { onEnd } of values) onEnd(true);
      for (const { resolve } of waiters) resolve();
    } catch (error) {
      for (const { onEnd } of values) onEnd(false);
      for (const { reject } of waiters) reject(error);
    }
  }

  async function eraseDeleted() {
    const gone = [...deleted].filter((id) => current(id) === undefined);
    if (gone.length === 0) return;
    try {
      await keyed.erase(new Map(gone.map((id) => [id, undefined])));
      for (const id of gone) deleted.delete(id);
    } catch (error) {
      log.error({ err: error }, `could not delete values of '${name}'; retrying later`);
    }
  }

  return {
    save(id) {
      return new Promise((resolve, reject) => {
        waiting.set(id, [...(waiting.get(id) ?? []), { resolve, reject }]);
        startWriting();
      });
    },
    saveLater: (id) => current(id)?.onEnd(true),
    catchUp: () => undefined,
    delete(id) {
      deleted.add(id);
      startWriting();
    },
    async idle() {
      while (writing) await writing;
    },
  };
}
