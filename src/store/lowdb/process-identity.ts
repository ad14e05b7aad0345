import { readFile } from 'node:fs/promises';

/**
 * When a process started, in words that no other process of this machine shares with the same pid; `undefined` where the
 * system does not tell (all but Linux) or the process is gone.
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

/** Whether the process that had this pid and started then still runs; without `start` the pid alone decides. */
export async function isRunning(pid: number, start: string | undefined): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: there is such a process, of another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // A killed process that its parent has not looked after yet still has its pid and runs no more.
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
