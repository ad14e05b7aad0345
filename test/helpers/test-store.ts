import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createMemoryData, type MemoryData, openMemoryStore } from './memory-store/memory-store.ts';
import { recordingLog } from './recording-log.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The data of each folder that a test opened a store in. */
const dataOfFolders = new Map<string, MemoryData>();

/** Folders whose stores are in files. */
const foldersOfFiles = new Set<string>();

/**
 * Opens a store in memory, which keeps the contract of `Store` without the syncs that make files slow. A store that is opened
 * later in the same process with the same `folder` has the same data. A folder from `folderOfFiles`, or one that has files already,
 * keeps them in files.
 */
export async function openTestStore(
  options: { folder?: string; log?: Logger } = {},
): Promise<Store> {
  const { folder, log = recordingLog().log } = options;
  if (!folder) return openMemoryStore({ log });
  const path = resolve(folder);
  const known = dataOfFolders.get(path);
  if (foldersOfFiles.has(path) || (!known && (await hasFiles(path)))) {
    return await openLowdbStore({ folder, log });
  }
  const data = known ?? createMemoryData();
  dataOfFolders.set(path, data);
  return openMemoryStore({ data, log });
}

async function hasFiles(folder: string): Promise<boolean> {
  return existsSync(folder) && (await readdir(folder)).length > 0;
}

/** Creates a temporary folder for a test that reads or damages the files of its store. */
export async function folderOfFiles(): Promise<string> {
  const folder = await temporaryFolder();
  foldersOfFiles.add(folder);
  return folder;
}

/** Gives a folder the data that the store of another one has now, as a kill would leave it. */
export function copyTestStore(from: string, to: string): void {
  if (foldersOfFiles.has(resolve(from))) foldersOfFiles.add(resolve(to));
  const data = dataOfFolders.get(resolve(from));
  if (!data) return;
  const { documents, records, items, key } = data;
  dataOfFolders.set(resolve(to), {
    documents: new Map([...documents].map(([name, all]) => [name, new Map(all)])),
    records: new Map([...records].map(([name, all]) => [name, [...all]])),
    items: new Map([...items].map(([name, all]) => [name, new Map(all)])),
    key,
  });
}

/** All that is stored in a folder: names and contents of its files, and of the data of its store in memory. */
export async function storedText(folder: string): Promise<string> {
  return (await storedTexts(folder)).map(({ name, text }) => `${name}\n${text}`).join('\n');
}

/** Names of the files of a folder, and of the data of its store in memory, that contain a text or have it in their name. */
export async function filesWith(wanted: string, folder: string): Promise<string[]> {
  const all = await storedTexts(folder);
  return all
    .filter(({ name, text }) => `${name}\n${text}`.includes(wanted))
    .map(({ name }) => name)
    .sort();
}

/** Throws if nothing was ever stored for the folder, because a search in it would then prove nothing. */
async function storedTexts(folder: string): Promise<Array<{ name: string; text: string }>> {
  if (!dataOfFolders.has(resolve(folder)) && !(await hasFiles(folder))) {
    throw new Error(`No store was opened in ${folder}.`);
  }
  const files = (await readdir(folder, { recursive: true })).map(async (name) => ({
    name,
    text: await textOfFile(join(folder, name)),
  }));
  const { documents, records, items, key } =
    dataOfFolders.get(resolve(folder)) ?? createMemoryData();
  const inMemory = [
    ...[...documents].flatMap(([name, all]) =>
      [...all].map(([id, { text }]) => ({
        name: `${name}/${encodeURIComponent(id)}`,
        text: `${id}\n${text}`,
      })),
    ),
    ...[...records].map(([name, all]) => ({ name, text: all.join('\n') })),
    ...[...items].map(([name, all]) => ({ name, text: [...all].flat().join('\n') })),
    { name: 'key', text: key ?? '' },
  ];
  return [...(await Promise.all(files)), ...inMemory];
}

async function textOfFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    // A folder, a socket, or a file that is gone since the folder was read.
    if (['EISDIR', 'ENXIO', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return '';
    throw error;
  }
}
