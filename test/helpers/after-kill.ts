import { cp, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { eventually } from './eventually.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { copyTestStore } from './test-store.ts';

/** A copy of a data folder as it is between two writes: what a process that is killed then leaves. */
export async function asKilled(folder: string): Promise<string> {
  const copy = await temporaryFolder();
  // The lock is of a process that is gone.
  const filter = (path: string) => !basename(path).startsWith('.lock');
  await eventually(
    async () => {
      const before = await contentsOf(folder);
      await rm(copy, { recursive: true, force: true });
      await cp(folder, copy, { recursive: true, filter });
      return before === (await contentsOf(folder));
    },
    { what: 'a moment without a write' },
  );
  copyTestStore(folder, copy);
  return copy;
}

/** Names and times of all files; a temporary file makes it differ from every other. */
async function contentsOf(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true });
  if (names.some((name) => name.endsWith('.tmp'))) return crypto.randomUUID();
  const files = names.sort().map(async (name) => {
    const { ino, mtimeMs } = await stat(join(folder, name));
    return `${name} ${ino} ${mtimeMs}`;
  });
  return (await Promise.all(files)).join('\n');
}
