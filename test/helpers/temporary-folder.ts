import { statfsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Linux keeps files in memory here; in a container it may be 64 MiB. */
const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 1024 ** 3;

/** Says when something is to be ended: mostly with the running test. */
export type AtEnd = (end: () => Promise<void>) => void;

/**
 * A fresh, empty folder; it is removed when the running test has finished, or as `atEnd` says. It is in memory where there is
 * room: a durable write costs half the CPU time and a fifth of the wait there. A kill leaves what is written as it is on a disk.
 */
export async function temporaryFolder(atEnd: AtEnd = onTestFinished): Promise<string> {
  return await folderIn(hasRoom(MEMORY) ? MEMORY : tmpdir(), atEnd);
}

/** A temporary folder on a real disk, for tests of the file system. */
export async function folderOnDisk(atEnd: AtEnd = onTestFinished): Promise<string> {
  return await folderIn(tmpdir(), atEnd);
}

async function folderIn(parent: string, atEnd: AtEnd): Promise<string> {
  const folder = await mkdtemp(join(parent, 'askwatch-test-'));
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

function hasRoom(folder: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ENOUGH_BYTES;
  } catch {
    // Not there, or not for this user.
    return false;
  }
}
