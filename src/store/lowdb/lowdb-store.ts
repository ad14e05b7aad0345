import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { STORED_NAME } from '../documents.ts';
import { LEASES } from '../local-leases.ts';
import { createLocalStore, type LocalEngine } from '../local-store.ts';
import type { MovableStore } from '../move-mark.ts';
import type { Store, StoredNames } from '../store.ts';
import { createLowdbCollection, isDocumentName } from './collection.ts';
import { prepareDataFolder } from './data-folder.ts';
import { dayOfName } from './day-file.ts';
import { namesIn, removeTemporaryFiles, replaceFile } from './files.ts';
import { createLowdbJournal } from './journal.ts';
import { createKeyFile } from './key-file.ts';
import { ITEMS_FILE, openLowdbKeyed } from './keyed.ts';
import { takeLock } from './lock.ts';
import { assertNotMoved, HOW_TO_EMPTY, placeOf, readMark, writeMark } from './moved.ts';
import { openQuarantine, QUARANTINE, type Quarantine } from './quarantine.ts';

const PRUNE_EVERY_MS = 3_600_000;

/** Opens a folder of plain files, for one process at a time. Throws `StoreInUseError`, `DataFolderError` or `StateMovedError`. */
export async function openLowdbStore(options: {
  folder: string;
  log: Logger;
  /** Rejects if the state must not be used. */
  assertUsable?: (folder: string) => Promise<void>;
}): Promise<Store> {
  const { log, assertUsable = assertNotMoved } = options;
  const folder = resolve(options.folder);
  await prepareDataFolder(folder, log);
  const lock = await takeLock(folder);
  let quarantine: Quarantine;
  try {
    await assertUsable(folder);
    await tidy(folder);
    quarantine = await openQuarantine(join(folder, QUARANTINE));
    await quarantine.prune(Date.now());
  } catch (error) {
    await lock.release();
    throw error;
  }

  const pruning = setInterval(() => {
    quarantine.prune(Date.now()).catch((error: unknown) => {
      log.warn({ err: error }, 'could not remove old damaged files; retrying');
    });
  }, PRUNE_EVERY_MS).unref();

  const placeOfData = ({ name }: { name: string }) => ({
    folder: join(folder, name),
    quarantine,
    log,
  });
  const engine: LocalEngine = {
    openCollection: (declaration, access) =>
      createLowdbCollection(declaration, { ...access, ...placeOfData(declaration) }),
    openJournal: (declaration, access) =>
      createLowdbJournal(declaration, { ...access, ...placeOfData(declaration) }),
    openKeyed: (declaration, access) =>
      openLowdbKeyed(declaration, { ...access, ...placeOfData(declaration) }),
    openKey: ({ assertOpen }) => createKeyFile(folder, assertOpen),
    names: () => namesOf(folder),
    check: () => replaceFile(join(folder, '.check'), `${new Date().toISOString()}\n`),
    async close() {
      clearInterval(pruning);
      await lock.release();
    },
  };
  return createLocalStore(engine, log, [QUARANTINE]);
}

/** Opens a data folder to move its state, whatever its mark says. */
export async function openLowdbForMove(options: {
  folder: string;
  log: Logger;
}): Promise<MovableStore> {
  const folder = resolve(options.folder);
  return {
    store: await openLowdbStore({ ...options, assertUsable: async () => {} }),
    place: placeOf(folder),
    howToEmpty: HOW_TO_EMPTY,
    lost: new AbortController().signal,
    mark: () => readMark(folder),
    setMark: (mark) => writeMark(folder, mark),
  };
}

/** File names tell what a folder holds. */
async function namesOf(folder: string): Promise<StoredNames> {
  const found: StoredNames = { collections: [], journals: [], keyed: [] };
  for (const name of await namesIn(folder)) {
    if (!STORED_NAME.test(name) || [QUARANTINE, LEASES.name].includes(name)) continue;
    const files = await namesIn(join(folder, name));
    if (files.some(isDocumentName)) found.collections.push(name);
    if (files.some((file) => dayOfName(file) !== undefined)) found.journals.push(name);
    if (files.includes(ITEMS_FILE)) found.keyed.push(name);
  }
  return found;
}

/** Removes what a killed process left half written. */
async function tidy(folder: string): Promise<void> {
  await removeTemporaryFiles(folder);
  for (const name of await namesIn(folder)) {
    if (STORED_NAME.test(name)) await removeTemporaryFiles(join(folder, name));
  }
}
