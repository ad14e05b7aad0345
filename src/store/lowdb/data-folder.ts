import type { Stats } from 'node:fs';
import { chmod, lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { STORED_NAME } from '../documents.ts';
import { DataFolderError } from '../errors.ts';
import { FILE_MODE, FOLDER_MODE, ifThere, makeFolder, namesIn } from './files.ts';

/** Files in the data folder itself, and their half-written versions. */
const OWN_FILE =
  /^(\.(lock|check|secret\.key|moved\.json)(\..*)?|secret\.key|moved\.json|control\.sock)$/;
/** Endings of files of documents and journals. */
const STORED_ENDING = /\.(json|bak|ndjson)$/;
/** Stands at the root of a disk. */
const LOST_AND_FOUND = 'lost+found';

const FOR_OTHERS = 0o077;
const WRITABLE_FOR_OTHERS = 0o022;

/**
 * Makes the data folder where it is missing, and one that others can open private, with all that Askwatch keeps in it. Throws
 * `DataFolderError` when it cannot be used as it is: when it is no folder, when something else is where a file belongs, or
 * when others can change what is in it and it cannot be closed.
 */
export async function prepareDataFolder(folder: string, log: Logger): Promise<void> {
  await makeFolder(folder);
  const { mode } = await stat(folder);
  const isOpen = (mode & FOR_OTHERS) !== 0;
  const names = await namesIn(folder);
  if (isOpen) await close(folder, { mode, names, log });
  for (const name of names) {
    const isStored = STORED_NAME.test(name);
    if (!isStored && !OWN_FILE.test(name)) continue;
    const path = join(folder, name);
    const found = await statIfThere(path);
    if (!found) continue;
    if (!isStored) assertFile(path, found);
    if (isOpen) await makePrivate(path, found);
    if (found.isDirectory()) await checkStored(path, isOpen);
  }
}

/** Checks the folder of a collection or journal: a pipe would stop a read for ever, a folder fail without a word. */
async function checkStored(folder: string, isOpen: boolean): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (!STORED_ENDING.test(name)) continue;
    const path = join(folder, name);
    const found = await statIfThere(path);
    if (!found) continue;
    assertFile(path, found);
    if (isOpen) await makePrivate(path, found);
  }
}

/** A socket is left by a process that was killed. */
function assertFile(path: string, found: Stats): void {
  if (found.isFile() || found.isSocket()) return;
  throw new DataFolderError(
    `${path} is ${wordFor(found)}, where Askwatch needs a file. Move it away, or restore the file from a backup.`,
  );
}

function wordFor(found: Stats): string {
  if (found.isSymbolicLink()) return 'a broken link';
  if (found.isDirectory()) return 'a folder';
  return found.isFIFO() ? 'a pipe' : 'a device';
}

/**
 * Takes the folder from everybody but its owner. One that is not Askwatch's alone stays as it is: with `DATA_DIR=/` nobody could
 * use the machine any more.
 */
async function close(
  folder: string,
  { mode, names, log }: { mode: number; names: readonly string[]; log: Logger },
): Promise<void> {
  const octal = (mode & 0o7777).toString(8).padStart(4, '0');
  const open = `The data folder ${folder} is open to other users of this machine (mode ${octal})`;
  const ways = `Give Askwatch a folder of its own with DATA_DIR, or restrict this one with: chmod 700 ${folder}`;
  const foreign = names.find(
    (name) => !STORED_NAME.test(name) && !OWN_FILE.test(name) && name !== LOST_AND_FOUND,
  );
  if (foreign !== undefined) {
    const why = `holds other files, too, such as ${foreign}`;
    if ((mode & WRITABLE_FOR_OTHERS) !== 0)
      throw new DataFolderError(`${open} and ${why}. ${ways}`);
    log.warn(
      { folder, mode: octal },
      `the data folder is open to other users and ${why}; its permissions were not changed`,
    );
    return;
  }
  try {
    await chmod(folder, mode & ~FOR_OTHERS & 0o7777);
  } catch {
    throw new DataFolderError(
      `${open}, and Askwatch may not change that. ${ways} as its owner, which should be the user that runs Askwatch.`,
    );
  }
}

async function makePrivate(path: string, found: Stats): Promise<void> {
  if (found.isSymbolicLink() || (found.mode & FOR_OTHERS) === 0) return;
  await ifThere(chmod(path, found.isDirectory() ? FOLDER_MODE : FILE_MODE));
}

/**
 * Follows links, except broken ones. `undefined` if the name is gone: another process that starts at the same time
 * writes files for a moment, because nobody has the lock yet.
 */
async function statIfThere(path: string): Promise<Stats | undefined> {
  return (await ifThere(stat(path))) ?? (await ifThere(lstat(path)));
}
