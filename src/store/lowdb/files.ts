import { mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DataFolderError } from '../errors.ts';

/** Only the owner reads and writes: documents hold conversations and hashes of keys. */
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

const TEMPORARY = /^\..*\.tmp$/;

/** True if a call failed because the file or folder is missing. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Resolves to `undefined` if the file or folder is missing. */
export async function ifThere<T>(operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Makes changed names survive power loss. Windows can't do this for a folder, and orders the changes itself. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a folder and its missing parents, durably. Node's `recursive` never ends in /proc (seen with Node 20.20). */
export async function makeFolder(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let at = folder; !(await isFolder(at)); at = dirname(at)) missing.push(at);
  for (const path of missing.reverse()) {
    try {
      await mkdir(path, { mode: FOLDER_MODE });
    } catch (error) {
      // Another call may have made it meanwhile.
      if (!(isTaken(error) && (await isFolder(path)))) throw cannotMake(path, error);
    }
    await syncFolder(dirname(path));
  }
}

/** Throws `DataFolderError` when something else has the name, or one of those above. */
async function isFolder(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true;
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
    throw error;
  }
  throw new DataFolderError(
    `${path} is a file, but Askwatch needs a folder there. Move it away, or set DATA_DIR to another folder.`,
  );
}

const isTaken = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EEXIST';

/** Codes that say all there is to say stay as they are. */
function cannotMake(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') {
    return new DataFolderError(
      `${path} is a broken link. Create the folder it points to, or set DATA_DIR to another folder.`,
    );
  }
  if (code !== 'ENOENT') return error;
  return new DataFolderError(
    `The folder ${path} cannot be created: the system does not allow new folders there. Set DATA_DIR to a folder on a disk.`,
  );
}

/** A file's temporary name is always the same, so that a leftover is found again. */
export const temporaryOf = (path: string) => join(dirname(path), `.${basename(path)}.tmp`);

/** Writes a text to a file beside `path` and on to the disk; gives its path. One call at a time for a path. */
export async function writeTemporary(
  path: string,
  text: string | AsyncIterable<string>,
): Promise<string> {
  const temporary = temporaryOf(path);
  const handle = await open(temporary, 'w', FILE_MODE);
  try {
    if (typeof text === 'string') await handle.writeFile(text);
    else for await (const piece of text) await handle.writeFile(piece);
    await handle.datasync();
    await handle.close();
  } catch (error) {
    // The first failure is the one to tell; a file that cannot be removed now is removed with the document or at the next
    // start, or written over.
    await handle.close().catch(() => {});
    await removeIfThere(temporary).catch(() => {});
    throw error;
  }
  return temporary;
}

/** After a crash there is the old file or the new one, whole. `makeWay` runs between writing the text and renaming it. */
export async function replaceFile(
  path: string,
  text: string | AsyncIterable<string>,
  makeWay: () => Promise<void> = async () => {},
): Promise<void> {
  const temporary = await writeTemporary(path, text);
  try {
    await makeWay();
    await rename(temporary, path);
  } catch (error) {
    await removeIfThere(temporary).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Removes a file; one that is not there is no error. Durable only after `syncFolder`. */
export async function removeIfThere(path: string): Promise<void> {
  await ifThere(unlink(path));
}

/** Names in a folder; none when the folder is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await ifThere(readdir(folder))) ?? [];
  } catch (error) {
    // Says what is wrong where it is a file.
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') await isFolder(folder);
    throw error;
  }
}

/** Removes what `writeTemporary` left in a folder when the process was killed. */
export async function removeTemporaryFiles(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (TEMPORARY.test(name)) await removeIfThere(join(folder, name));
  }
}
