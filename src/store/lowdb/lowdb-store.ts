import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { STORED_NAME } from '../documents.ts';
import type { Lease, OpenedByName, Store } from '../store.ts';
import { ACKNOWLEDGED } from './acknowledged.ts';
import { prepareDataFolder } from './data-folder.ts';
import { namesIn, removeTemporaryFiles, replaceFile } from './files.ts';
import { createKeyFile } from './key-file.ts';
import { createLeases, LEASES } from './leases.ts';
import { takeLock } from './lock.ts';
import { openLosses, reportLosses } from './losses.ts';
import { openQuarantine, QUARANTINE, type Quarantine } from './quarantine.ts';
import { assertNotMoved } from './raw-state.ts';
import { openScope, type Scope } from './scope.ts';

/** How often what is in quarantine for too long is removed. */
const PRUNE_EVERY_MS = 3_600_000;

/**
 * Opens the embedded engine: a folder of plain files, for one process at a time.
 * Throws `StoreInUseError` while another process has the folder, `DataFolderError` when it cannot be used, `StateMovedError`
 * when what was in it is elsewhere now.
 */
export async function openLowdbStore(options: { folder: string; log: Logger }): Promise<Store> {
  const { log } = options;
  const folder = resolve(options.folder);
  await prepareDataFolder(folder, log);
  const lock = await takeLock(folder);
  const losses = openLosses(folder, log);
  let quarantine: Quarantine;
  try {
    await assertNotMoved(folder);
    await tidy(folder);
    quarantine = await openQuarantine(join(folder, QUARANTINE));
    await quarantine.prune(Date.now());
    await reportLosses(folder, losses, log);
  } catch (error) {
    await lock.release();
    throw error;
  }

  const names = new Set([QUARANTINE, ACKNOWLEDGED]);
  const scopes = new Map<Lease | undefined, Scope>();
  let checking: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  function assertOpen() {
    if (closing) throw new Error('The store is closed.');
  }

  function scopeOf(lease?: Lease): OpenedByName {
    const parts = { folder, names, quarantine, losses, assertOpen, log };
    const known = scopes.get(lease) ?? openScope(parts, lease);
    scopes.set(lease, known);
    return known.opens;
  }

  const unleased = scopeOf();
  const leases = createLeases(unleased.collection(LEASES), async (lease) => {
    await scopes.get(lease)?.close();
    scopes.delete(lease);
  });
  const pruning = setInterval(() => {
    quarantine.prune(Date.now()).catch((error: unknown) => {
      log.warn({ err: error }, 'could not remove old damaged files; retrying');
    });
  }, PRUNE_EVERY_MS).unref();

  async function closeAll() {
    leases.abortAll();
    clearInterval(pruning);
    try {
      await Promise.all([...scopes.values()].map((each) => each.close()));
      await checking?.catch(() => {});
    } finally {
      await lock.release();
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
      return leases.group(count, holder);
    },
    isShared: false,
    key: createKeyFile(folder, assertOpen),
    async check() {
      assertOpen();
      // Those who ask at the same moment share one write: health checks must not load the disk they check.
      checking ??= replaceFile(join(folder, '.check'), `${new Date().toISOString()}\n`).finally(
        () => {
          checking = undefined;
        },
      );
      await checking;
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
  return store;
}

/** Removes what a killed process left half written. */
async function tidy(folder: string): Promise<void> {
  await removeTemporaryFiles(folder);
  for (const name of await namesIn(folder)) {
    if (STORED_NAME.test(name)) await removeTemporaryFiles(join(folder, name));
  }
}
