import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** CPU cores: the measured process has one for itself; load generators and targets share another. */
export interface Cores {
  /** Undefined where processes cannot be pinned. */
  target?: number;
  load?: number;
  /** All of them, for what is measured as a whole. */
  all?: string;
  /** Why they cannot. */
  note?: string;
}

/** The first two cores that this process may use. */
export function chooseCores(): Cores {
  const [target, load] = allowedCores();
  if (target === undefined || load === undefined) {
    return {
      note: 'There is one core only, so nothing is pinned: the load slows what it measures.',
    };
  }
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
  } catch {
    return { note: 'There is no taskset (util-linux), so nothing is pinned: expect noise.' };
  }
  return { target, load, all: allowedCores().join() };
}

/** The command that runs another one on a core. */
export function pinned(core: number | undefined, command: string[]): string[] {
  return core === undefined ? command : ['taskset', '--cpu-list', String(core), ...command];
}

/** Moves this process, with all its threads and what it starts from now on, to a core, or to several. */
export function pinSelf(core: number | string | undefined): void {
  if (core === undefined) return;
  const args = ['--all-tasks', '--cpu-list', '--pid', String(core), String(process.pid)];
  execFileSync('taskset', args, { stdio: 'ignore' });
}

/** Source: proc_pid_status(5), "Cpus_allowed_list", such as `0,2-5`. */
function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return (list ?? '').split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}
