import { randomBytes } from 'node:crypto';
import { type Logger, pino } from 'pino';
import { LEASES } from '../../../src/store/local-leases.ts';
import { createLocalStore, type LocalEngine } from '../../../src/store/local-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { openMemoryCollection, type StoredDocument } from './collection.ts';
import { openMemoryJournal } from './journal.ts';
import { openMemoryKeyed } from './keyed.ts';

/** The data of a memory store. It outlives the store, as files do, so that a test can open it again. */
export interface MemoryData {
  documents: Map<string, Map<string, StoredDocument>>;
  records: Map<string, string[]>;
  items: Map<string, Map<string, string>>;
  key?: string;
}

export const createMemoryData = (): MemoryData => ({
  documents: new Map(),
  records: new Map(),
  items: new Map(),
});

/** Opens a store in memory, for tests. It keeps the contract of `Store`, except that nothing survives the process. */
export function openMemoryStore(options: { data?: MemoryData; log?: Logger } = {}): Store {
  const { data = createMemoryData(), log = pino({ level: 'silent' }) } = options;
  const engine: LocalEngine = {
    openCollection: (declaration, access) =>
      openMemoryCollection(declaration, entry(data.documents, declaration.name, new Map()), {
        ...access,
        log,
      }),
    openJournal: (declaration, access) =>
      openMemoryJournal(declaration, entry(data.records, declaration.name, []), { ...access, log }),
    openKeyed: async (declaration, access) =>
      openMemoryKeyed(declaration, entry(data.items, declaration.name, new Map()), access),
    openKey: ({ assertOpen }) => ({
      place: 'the memory of this process',
      async read() {
        assertOpen();
        return data.key === undefined ? 'missing' : { key: data.key };
      },
      async make() {
        assertOpen();
        data.key ??= randomBytes(32).toString('base64url');
        return data.key;
      },
      async restore(stored) {
        assertOpen();
        data.key = typeof stored === 'object' ? stored.key : undefined;
      },
    }),
    names: async () => ({
      collections: filled(data.documents).filter((name) => name !== LEASES.name),
      journals: filled(data.records),
      keyed: filled(data.items),
    }),
    check: async () => {},
    close: async () => {},
  };
  return createLocalStore(engine, log);
}

const filled = (all: ReadonlyMap<string, { size: number } | { length: number }>) =>
  [...all]
    .filter(([, stored]) => ('size' in stored ? stored.size : stored.length) > 0)
    .map(([name]) => name);

function entry<T>(all: Map<string, T>, name: string, fresh: T): T {
  const found = all.get(name) ?? fresh;
  all.set(name, found);
  return found;
}
