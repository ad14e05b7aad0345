import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder, namesIn, removeIfThere, syncFolder } from './files.ts';

/** Folder of the data folder that damaged files are moved to. */
export const QUARANTINE = 'quarantine';

/** How long a damaged file can be inspected; what it holds may be meant to be forgotten. */
export const QUARANTINE_KEPT_MS = 30 * 86_400_000;

/** Such as `notes.<40 hex digits>.json.bak.2026-12-01T10-00-00.000Z.1b2c3d4e`. */
const NAME = /^(([a-z0-9-]+)\.[0-9a-f]{40}\.json)(?:\.bak)?\.(\d{4}-\d\d-\d\dT[\d.-]+Z)\.\w+$/;

/**
 * Damaged files of documents, kept for people to inspect: for 30 days at most, and only until their document is erased. What
 * a damaged file holds cannot be known, so it counts as holding whatever is erased of its document.
 */
export type Quarantine = Awaited<ReturnType<typeof openQuarantine>>;

interface Copy {
  name: string;
  document: string;
  collection: string;
  atMs: number;
}

/** Opens the folder, which need not be there. Whatever else somebody has put into it stays. */
export async function openQuarantine(folder: string) {
  let copies = copiesIn(await namesIn(folder));

  async function remove(isOver: (copy: Copy) => boolean): Promise<void> {
    const over = copies.filter(isOver);
    if (over.length === 0) return;
    for (const { name } of over) await removeIfThere(join(folder, name));
    await syncFolder(folder);
    copies = copies.filter((copy) => !over.includes(copy));
  }

  const documentAt = (path: string) => `${basename(dirname(path))}.${basename(path)}`;

  return {
    /** Moves a file of a document here, durably; gives where it is now. */
    async take(path: string): Promise<string> {
      await makeFolder(folder);
      const time = new Date().toISOString().replaceAll(':', '-');
      const name = `${documentAt(path)}.${time}.${randomUUID().slice(0, 8)}`;
      const to = join(folder, name);
      await rename(path, to);
      copies.push(...copiesIn([name]));
      await syncFolder(folder);
      await syncFolder(dirname(path));
      return to;
    },
    /** Removes the copies of the document with this file, for good; where there are none, nothing is read. */
    erase: (path: string) => remove(({ document }) => document === documentAt(path)),
    /** Removes all copies of documents of the collection with this folder, for good. */
    eraseAll: (of: string) => remove(({ collection }) => collection === basename(of)),
    /** Removes what is here for longer than is kept. */
    prune: (nowMs: number) => remove(({ atMs }) => atMs < nowMs - QUARANTINE_KEPT_MS),
  };
}

function copiesIn(names: readonly string[]): Copy[] {
  return names.flatMap((name) => {
    const [, document, collection, time] = NAME.exec(name) ?? [];
    if (document === undefined || collection === undefined || time === undefined) return [];
    const [day, clock = ''] = time.split('T');
    const atMs = Date.parse(`${day}T${clock.replaceAll('-', ':')}`);
    return Number.isNaN(atMs) ? [] : [{ name, document, collection, atMs }];
  });
}
