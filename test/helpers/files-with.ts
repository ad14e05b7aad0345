import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of the files below a folder that hold a text, or have it in their name. */
export async function filesWith(text: string, folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  const hits = names.map(async (name) => {
    const path = join(folder, name);
    try {
      if (name.includes(text)) return [name];
      if (!(await stat(path)).isFile()) return [];
      return (await readFile(path)).includes(text) ? [name] : [];
    } catch (error) {
      // Gone since the folder was read.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
  return (await Promise.all(hits)).flat().sort();
}
