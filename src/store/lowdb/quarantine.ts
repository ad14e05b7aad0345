import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder, namesIn, removeIfThere, replaceFile, syncFolder } from './files.ts';

/** Folder of the data folder for damaged files. */
export const QUARANTINE = 'quarantine';

/** The copies are for people to inspect. They may hold something that somebody wanted deleted. */
export const QUARANTINE_KEPT_MS = 30 * 86_400_000;

/** For example `notes.<40 hex digits>.json.bak.2026-12-01T10-00-00.000Z.1b2c3d4e`. */
const NAME =
  /^(([a-z0-9-]+)\.(?:[0-9a-f]{40}\.json|[a-z0-9-]+\.ndjson))(?:\.bak)?\.(\d{4}-\d\d-\d\dT[\d.-]+Z)\.\w+$/;

/**
 * Damaged files, kept for 30 days at most, and only until their original is erased: nobody can tell what they hold, so they
 * count as holding whatever is erased.
 */
export type Quarantine = Awaited<ReturnType<typeof openQuarantine>>;

interface DamagedCopy {
  name: string;
  /** Folder and name of the original, joined by a dot. */
  original: string;
  folder: string;
  atMs: number;
}

/** Opens the folder, which may be missing. Other files in it stay. */
export async function openQuarantine(folder: string) {
  let copies = copiesIn(await namesIn(folder));

  async function remove(isOver: (copy: DamagedCopy) => boolean): Promise<void> {
    const over = copies.filter(isOver);
    if (over.length === 0) return;
    for (const { name } of over) await removeIfThere(join(folder, name));
    await syncFolder(folder);
    copies = copies.filter((copy) => !over.includes(copy));
  }

  async function newCopy(path: string, write: (to: string) => Promise<void>): Promise<string> {
    await makeFolder(folder);
    const time = new Date().toISOString().replaceAll(':', '-');
    const name = `${originalAt(path)}.${time}.${randomUUID().slice(0, 8)}`;
    const to = join(folder, name);
    await write(to);
    copies.push(...copiesIn([name]));
    await syncFolder(folder);
    return to;
  }

  return {
    /** Moves a file here, durably. Resolves to its new path. */
    async take(path: string): Promise<string> {
      const to = await newCopy(path, (to) => rename(path, to));
      await syncFolder(dirname(path));
      return to;
    },
    /** Keeps the damaged part of a file that stays where it is, unless there is a copy already. */
    async keepCopy(path: string, text: string): Promise<void> {
      if (copies.some(({ original }) => original === originalAt(path))) return;
      await newCopy(path, (to) => replaceFile(to, text));
    },
    /** Deletes all copies of one file for good. */
    erase: (path: string) => remove(({ original }) => original === originalAt(path)),
    /** Deletes all copies of files of one folder for good. */
    eraseAll: (of: string) => remove((copy) => copy.folder === basename(of)),
    prune: (nowMs: number) => remove(({ atMs }) => atMs < nowMs - QUARANTINE_KEPT_MS),
  };
}

const originalAt = (path: string) => `${basename(dirname(path))}.${basename(path)}`;

/** Damaged files of a data folder that were set aside, oldest first. Only reads. */
export async function quarantinedFiles(folder: string) {
  const copies = copiesIn(await namesIn(join(folder, QUARANTINE)));
  return copies
    .map(({ name, original, atMs }) => ({
      atMs,
      original: original.replace('.', '/'),
      copy: join(QUARANTINE, name),
    }))
    .sort((a, b) => a.atMs - b.atMs);
}

function copiesIn(names: readonly string[]): DamagedCopy[] {
  return names.flatMap((name) => {
    const [, original, folder, time] = NAME.exec(name) ?? [];
    if (original === undefined || folder === undefined || time === undefined) return [];
    const [day, clock = ''] = time.split('T');
    const atMs = Date.parse(`${day}T${clock.replaceAll('-', ':')}`);
    return Number.isNaN(atMs) ? [] : [{ name, original, folder, atMs }];
  });
}
