import { createHash, randomUUID } from 'node:crypto';
import { link, readFile, rename } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { StoreInUseError } from '../errors.ts';
import { ifThere, isMissing, namesIn, removeIfThere, syncFolder, writeTemporary } from './files.ts';

const LOCK = '.lock';
const SUCCESSOR = `${LOCK}.after-`;

/** Takers that keep losing to others give up after so many tries. */
const MAX_TRIES = 20;

const Holder = z.object({
  pid: z.int().positive(),
  start: z.string().optional(),
  host: z.string(),
  nonce: z.string(),
});

/**
 * Takes the exclusive right to a data folder, also from a dead process. Throws `StoreInUseError`.
 *
 * Removing a dead holder's file and creating a new one would let two takers in, so nothing is removed: a successor links a file
 * named after the holder's contents, which works once. The holder is the last of that chain, and makes it short again. A file
 * linked to a chain that was cut meanwhile is found not to be on it.
 */
export async function takeLock(folder: string): Promise<{ release(): Promise<void> }> {
  const path = join(folder, LOCK);
  const start = await startOf(process.pid);
  const own = JSON.stringify({
    pid: process.pid,
    start,
    host: hostname(),
    nonce: randomUUID(),
  });
  const claim = await writeTemporary(`${path}.${randomUUID()}`, own);
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const last = await lastOfChain(folder);
      if (last) await assertGone(last.text, path);
      const wanted = last ? successorOf(folder, last.text) : path;
      if (!(await linkIfFree(claim, wanted))) continue;
      if ((await lastOfChain(folder))?.text !== own) {
        await removeIfThere(wanted);
        continue;
      }
      if (last) await shortenChain(folder, claim);
      await syncFolder(folder);
      return { release: () => release(path, own) };
    }
  } finally {
    await removeIfThere(claim);
  }
  throw new StoreInUseError(
    `Other processes are starting with the data folder ${folder} at the same moment. Start only one.`,
  );
}

async function lastOfChain(folder: string): Promise<{ text: string } | undefined> {
  let path = join(folder, LOCK);
  let last: { text: string } | undefined;
  for (;;) {
    const text = await ifThere(readFile(path, 'utf8'));
    if (text === undefined) return last;
    last = { text };
    path = successorOf(folder, text);
  }
}

function successorOf(folder: string, text: string): string {
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
  return join(folder, SUCCESSOR + digest);
}

async function assertGone(text: string, path: string): Promise<void> {
  const holder = await stillHolds(text);
  if (!holder) return;
  if (!holder.here) {
    throw new StoreInUseError(
      `The data folder is in use by process ${holder.pid} on the host '${holder.host}', and this host can't see whether that process is still running. Stop it there; if it is gone for good, remove ${path} and start again.`,
    );
  }
  throw new StoreInUseError(
    `The data folder is in use by process ${holder.pid} (lock file ${path}). Stop that process first, or give this one a folder of its own with DATA_DIR.`,
  );
}

/** Reads the holder of a data folder's lock; `undefined` if it is free. */
export async function lockHolder(
  folder: string,
): Promise<{ pid: number; host: string; here: boolean; file: string } | undefined> {
  const last = await lastOfChain(folder);
  const holder = last && (await stillHolds(last.text));
  return holder && { ...holder, file: join(folder, LOCK) };
}

/** The holder, unless it is known to be gone. One on another host (not `here`) cannot be checked. */
async function stillHolds(text: string) {
  const holder = readHolder(text);
  // A lock file is linked whole: one that cannot be read was damaged when the power went, and its process with it.
  if (!holder) return undefined;
  const { pid, host, start } = holder;
  if (host !== hostname()) return { pid, host, here: false };
  return (await isRunning(pid, start)) ? { pid, host, here: true } : undefined;
}

function readHolder(text: string): z.infer<typeof Holder> | undefined {
  try {
    return Holder.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function linkIfFree(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    // ENOENT: a holder that started meanwhile has tidied the claim away.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || isMissing(error)) return false;
    throw error;
  }
}

/** Makes the lock file one's own, and only then removes the chain that led to it. */
async function shortenChain(folder: string, claim: string): Promise<void> {
  await rename(claim, join(folder, LOCK));
  for (const name of await namesIn(folder)) {
    if (name.startsWith(SUCCESSOR)) await removeIfThere(join(folder, name));
  }
}

async function release(path: string, own: string): Promise<void> {
  if ((await ifThere(readFile(path, 'utf8'))) === own) await removeIfThere(path);
}

/**
 * Start of a process, which no other process of this machine with the same pid shares; `undefined` except on Linux, or if it is gone.
 * Source: proc(5), /proc/<pid>/stat field 22, in clock ticks since the boot that `boot_id` names.
 */
export async function startOf(pid: number): Promise<string | undefined> {
  const [boot, stat] = await Promise.all([
    readOrNothing('/proc/sys/kernel/random/boot_id'),
    readOrNothing(`/proc/${pid}/stat`),
  ]);
  const ticks = statFields(stat)[19];
  return boot && ticks ? `${boot.trim()}:${ticks}` : undefined;
}

/** True if the process that had this pid and start is still running; without `start` the pid decides. */
export async function isRunning(pid: number, start: string | undefined): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: there is such a process, of another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // A killed process that its parent has not waited for yet still has its pid and runs no more.
  const [state] = statFields(await readOrNothing(`/proc/${pid}/stat`));
  if (state === 'Z' || state === 'X') return false;
  const startNow = await startOf(pid);
  return start === undefined || startNow === undefined || start === startNow;
}

/** The fields from the third on; the second is the program's name in brackets and may hold anything. */
function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

async function readOrNothing(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // Not Linux, or the process is gone.
    return '';
  }
}
