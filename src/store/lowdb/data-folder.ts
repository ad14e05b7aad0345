import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { STORED_NAME } from '../documents.ts';
import { DataFolderError } from '../errors.ts';
import { FILE_MODE, FOLDER_MODE, ifThere, makeFolder, namesIn } from './files.ts';

/** Files in the data folder itself, and their half-written versions. */
const OWN_FILE =
  /^(\.(lock|check|secret\.key|moved\.json)(\..*)?|secret\.key|moved\.json|control\.sock)$/;
/** Stands at the root of a disk. */
const LOST_AND_FOUND = 'lost+found';

const FOR_OTHERS = 0o077;
const WRITABLE_FOR_OTHERS = 0o022;

/**
 * Creates the data folder, or makes one that others can open private, with everything that Askwatch keeps in it. Throws
 * `DataFolderError` if it isn't a folder, or if others can change it and it can't be closed.
 */
export async function prepareDataFolder(folder: string, log: Logger): Promise<void> {
  await makeFolder(folder);
  const { mode } = await stat(folder);
  if ((mode & FOR_OTHERS) === 0) return;
  const names = await namesIn(folder);
  await close(folder, { mode, names, log });
  for (const name of names) {
    const path = join(folder, name);
    if (OWN_FILE.test(name)) await makePrivate(path);
    if (!STORED_NAME.test(name)) continue;
    await makePrivate(path);
    if (!(await ifThere(stat(path)))?.isDirectory()) continue;
    for (const file of await namesIn(path)) await makePrivate(join(path, file));
  }
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

/** A name may be gone: another process that starts at the same time writes files for a moment. */
async function makePrivate(path: string): Promise<void> {
  const found = await ifThere(stat(path));
  if (!found || (found.mode & FOR_OTHERS) === 0) return;
  await ifThere(chmod(path, found.isDirectory() ? FOLDER_MODE : FILE_MODE));
}
