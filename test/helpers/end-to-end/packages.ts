import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { type AtEnd, folderOnDisk } from '../temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const execute = promisify(execFile);

/** Runs a command in a folder and gives what it prints; rejects with that when it fails. */
export async function run(folder: string, [program = '', ...args]: readonly string[]) {
  return (await execute(program, args, { cwd: folder, maxBuffer: 16 * 1024 ** 2 })).stdout;
}

/** The files that a clone would have if everything were committed now, in a folder of its own; they may be built there. */
export async function freshCheckout(atEnd: AtEnd = onTestFinished): Promise<string> {
  const folder = await folderOnDisk(atEnd);
  const listed = await run(ROOT, [
    'git',
    'ls-files',
    '-coz',
    '--exclude-standard',
    '--deduplicate',
  ]);
  await copyFiles(ROOT, folder, listed.split('\0').filter(Boolean));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Files and folders, by their paths below both; what is deleted but not committed is left out. */
export async function copyFiles(from: string, to: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await cp(join(from, path), join(to, path), { recursive: true }).catch((error) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
}

/** The installed packages that package.json's `dependencies` lead to, by their paths: what `npm ci --omit=dev` installs. */
export async function productionModules(): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path]) => path);
}

/** Copies those packages; some exist on other systems only. */
export async function copyProductionModules(folder: string): Promise<void> {
  await copyFiles(ROOT, folder, await productionModules());
  // npm fetches a package again if the link to its program is missing.
  const bin = 'node_modules/.bin';
  await cp(join(ROOT, bin), join(folder, bin), { recursive: true, verbatimSymlinks: true });
}
