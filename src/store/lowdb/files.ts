import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Only the owner reads and writes: documents hold conversations and hashes of keys. */
export const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

const TEMPORARY = /^\..*\.tmp$/;

/** Whether a call failed because the file or folder is not there. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/**
 * Makes names created, renamed or removed in a folder survive power loss.
 * Windows cannot do this for a folder and orders the changes itself.
 */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a folder and those above it that are missing, durably. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

/** Writes a text to a new file beside `path` and on to the disk; gives the new file's path. */
export async function writeTemporary(path: string, text: string): Promise<string> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  const handle = await open(temporary, 'wx', FILE_MODE);
  try {
    await handle.writeFile(text);
    await handle.datasync();
    await handle.close();
  } catch (error) {
    // The first failure is the one to tell; a file that cannot be removed now is removed at the next start.
    await handle.close().catch(() => {});
    await removeIfThere(temporary).catch(() => {});
    throw error;
  }
  return temporary;
}

/** Puts a text in the place of a file: after a crash there is the old file or the new one, whole. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = await writeTemporary(path, text);
  try {
    await rename(temporary, path);
  } catch (error) {
    await removeIfThere(temporary).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Removes a file; one that is not there is no error. Durable only after `syncFolder`. */
export async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Names in a folder; none when the folder is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Removes what `writeTemporary` left in a folder when the process was killed. */
export async function removeTemporaryFiles(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (TEMPORARY.test(name)) await removeIfThere(join(folder, name));
  }
}
