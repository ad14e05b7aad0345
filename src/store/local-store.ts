import type { Logger } from 'pino';
import { claimBuckets, createClaims } from './claim-buckets.ts';
import { STORED_NAME } from './documents.ts';
import { LeaseLostError } from './errors.ts';
import { createLocalLeases, holdAllParts, LEASES } from './local-leases.ts';
import { openLocalSharedValues } from './local-shared-values.ts';
import { createMemoryWindows } from './memory-windows.ts';
import type {
  Collection,
  CollectionDeclaration,
  Journal,
  JournalDeclaration,
  JournalRecord,
  Keyed,
  KeyedDeclaration,
  Lease,
  OpenedByName,
  Store,
  StoredNames,
  StoreKey,
} from './store.ts';

/** An engine for one process. `createLocalStore` adds what such engines have in common. */
export interface LocalEngine {
  openCollection<T>(
    declaration: CollectionDeclaration<T>,
    access: StoreAccess,
  ): Closable<Collection<T>>;
  openJournal<T extends JournalRecord>(
    declaration: JournalDeclaration<T>,
    access: StoreAccess,
  ): Closable<Journal<T>>;
  openKeyed<T>(declaration: KeyedDeclaration<T>, access: StoreAccess): Promise<Closable<Keyed<T>>>;
  openKey(access: StoreAccess): StoreKey;
  names(): Promise<StoredNames>;
  check(): Promise<void>;
  close(): Promise<void>;
}

/** `assertOpen` throws once the store is closed, `assertWritable` also once its lease is lost. */
export interface StoreAccess {
  assertOpen(): void;
  assertWritable(): void;
}

/** `close` waits for writes that were begun. */
export type Closable<Opened> = Opened & { close(): Promise<void> };

/** Stored data opened by name, until the store is closed or its lease is released. */
type Scope = { opens: OpenedByName; close(): Promise<void> };

/** `reserved` are names that data can't have. */
export function createLocalStore(
  engine: LocalEngine,
  log: Logger,
  reserved: readonly string[] = [],
): Store {
  const names = new Set(reserved);
  const scopes = new Map<Lease | undefined, Scope>();
  let checking: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  function assertOpen() {
    if (closing) throw new Error('The store is closed.');
  }

  function scopeOf(lease?: Lease): OpenedByName {
    const scope = scopes.get(lease) ?? openScope({ engine, names, assertOpen, lease, log });
    scopes.set(lease, scope);
    return scope.opens;
  }

  const unleased = scopeOf();
  const leases = createLocalLeases(unleased.collection(LEASES), async (lease) => {
    await scopes.get(lease)?.close();
    scopes.delete(lease);
  });

  async function closeAll() {
    leases.endAll();
    try {
      await Promise.all([...scopes.values()].map((scope) => scope.close()));
      await checking?.catch(() => {});
    } finally {
      await engine.close();
    }
  }

  const store: Store = {
    ...unleased,
    async lease(name) {
      assertOpen();
      return await leases.take(name);
    },
    under: (lease) => ({ ...store, ...scopeOf(lease) }),
    leases(_kind, count, holder) {
      assertOpen();
      return holdAllParts(count, holder);
    },
    isShared: false,
    async names() {
      assertOpen();
      return await engine.names();
    },
    key: engine.openKey({ assertOpen, assertWritable: assertOpen }),
    async check() {
      assertOpen();
      // Checks that come together share one write, so that health checks don't load the disk.
      checking ??= engine.check().finally(() => {
        checking = undefined;
      });
      await checking;
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
  return store;
}

function openScope(options: {
  engine: LocalEngine;
  /** Names in use, of all scopes. */
  names: Set<string>;
  assertOpen: () => void;
  lease?: Lease;
  log: Logger;
}): Scope {
  const { engine, names, assertOpen, lease, log } = options;
  const ownNames: string[] = [];
  const opened: Array<{ close(): Promise<void> }> = [];

  function assertWritable() {
    assertOpen();
    if (lease?.isHeld() === false) throw new LeaseLostError();
  }

  function occupy(name: string): void {
    assertWritable();
    if (!STORED_NAME.test(name)) throw new Error(`'${name}' is not a valid name for stored data.`);
    if (names.has(name)) throw new Error(`Stored data named '${name}' is opened twice.`);
    names.add(name);
    ownNames.push(name);
  }

  function track<Opened>(one: Closable<Opened>): Closable<Opened> {
    opened.push(one);
    return one;
  }

  const access = { assertOpen, assertWritable };
  const collection: OpenedByName['collection'] = (declaration) => {
    occupy(declaration.name);
    return track(engine.openCollection(declaration, access));
  };
  const journal: OpenedByName['journal'] = (declaration) => {
    occupy(declaration.name);
    return track(engine.openJournal(declaration, access));
  };
  const keyed: OpenedByName['keyed'] = async (declaration) => {
    occupy(declaration.name);
    return track(await engine.openKeyed(declaration, access));
  };
  return {
    opens: {
      collection,
      journal,
      keyed,
      sharedValues: (declaration) => openLocalSharedValues(declaration, { keyed, log }),
      claims(declaration) {
        const buckets = collection(claimBuckets(declaration.name));
        return createClaims(declaration, { collection: buckets, log });
      },
      windows(declaration) {
        occupy(declaration.name);
        return createMemoryWindows(declaration);
      },
    },
    async close() {
      await Promise.all(opened.map((one) => one.close()));
      for (const name of ownNames) names.delete(name);
    },
  };
}
