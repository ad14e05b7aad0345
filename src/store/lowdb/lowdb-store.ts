import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { createClaims } from '../claims.ts';
import { STORED_NAME } from '../documents.ts';
import { createMemoryTurns } from '../memory-turns.ts';
import { createMemoryWindows } from '../memory-windows.ts';
import type { Store } from '../store.ts';
import { ACKNOWLEDGED } from './acknowledged.ts';
import { claimBuckets, createLowdbClaims } from './claims.ts';
import { createLowdbCollection } from './collection.ts';
import { prepareDataFolder } from './data-folder.ts';
import { createLowdbEvents } from './events.ts';
import { namesIn, removeTemporaryFiles, replaceFile } from './files.ts';
import { createLowdbJournal } from './journal.ts';
import { createKeyFile } from './key-file.ts';
import { createLeases, LEASES } from './leases.ts';
import { takeLock } from './lock.ts';
import { openLosses, reportLosses } from './losses.ts';
import { openQuarantine, QUARANTINE, type Quarantine } from './quarantine.ts';
import { createQueues } from './queues.ts';
import { assertNotMoved } from './raw-state.ts';
import { openLowdbRegisters } from './registers.ts';
import { openStateInJournals } from './state.ts';

/** Files of documents that are open at once. */
const MAX_OPEN_FILES = 32;

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

  const queues = createQueues(MAX_OPEN_FILES);
  const names = new Set([QUARANTINE, ACKNOWLEDGED]);
  const journals: Array<{ close(): Promise<void> }> = [];
  let checking: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  function assertOpen() {
    if (closing) throw new Error('The store is closed.');
  }

  function own(name: string): string {
    assertOpen();
    if (!STORED_NAME.test(name)) throw new Error(`'${name}' is not a valid name for stored data.`);
    if (names.has(name)) throw new Error(`Stored data named '${name}' is opened twice.`);
    names.add(name);
    return join(folder, name);
  }

  const collection: Store['collection'] = (declaration) =>
    createLowdbCollection(declaration, {
      folder: own(declaration.name),
      quarantine,
      queues,
      assertOpen,
      log,
    });
  const leases = createLeases(collection(LEASES));
  const pruning = setInterval(() => {
    quarantine.prune(Date.now()).catch((error: unknown) => {
      log.warn({ err: error }, 'could not remove old damaged files; retrying');
    });
  }, PRUNE_EVERY_MS).unref();

  async function closeAll() {
    leases.abortAll();
    clearInterval(pruning);
    try {
      await queues.idle();
      await Promise.all(journals.map((journal) => journal.close()));
      await checking?.catch(() => {});
    } finally {
      await lock.release();
    }
  }

  const journal: Store['journal'] = (declaration) => {
    const opened = createLowdbJournal(declaration, {
      folder: own(declaration.name),
      acknowledged: join(folder, ACKNOWLEDGED, declaration.name),
      losses,
      assertOpen,
      log,
    });
    journals.push(opened);
    return opened;
  };

  return {
    collection,
    journal,
    registers: (declaration) => openLowdbRegisters(declaration, { journal, log }),
    state: (declaration) => openStateInJournals(declaration, { journal, log }),
    events(declaration) {
      own(declaration.name);
      return createLowdbEvents(declaration.name, { assertOpen, log });
    },
    async lease(name) {
      assertOpen();
      return await leases.take(name);
    },
    leases(_kind, count, holder) {
      assertOpen();
      return leases.group(count, holder);
    },
    claims(declaration) {
      const table = createLowdbClaims(collection(claimBuckets(declaration.name)));
      return createClaims(declaration, { table, assertOpen, log });
    },
    turns(declaration) {
      own(declaration.name);
      return createMemoryTurns(declaration);
    },
    isShared: false,
    windows(declaration) {
      own(declaration.name);
      return createMemoryWindows(declaration);
    },
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
}

/** Removes what a killed process left half written. */
async function tidy(folder: string): Promise<void> {
  await removeTemporaryFiles(folder);
  for (const name of await namesIn(folder)) {
    if (STORED_NAME.test(name)) await removeTemporaryFiles(join(folder, name));
  }
}
