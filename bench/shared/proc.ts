import { readdirSync, readFileSync } from 'node:fs';

/** The kernel's tick in `/proc/stat`. Source: proc_stat(5); it is 100 Hz on every common Linux. */
export const NS_PER_TICK = 10_000_000;

/**
 * CPU time that a process has used so far in all its threads, in the kernel too, nanoseconds.
 * Source: Linux kernel documentation, "Scheduler Statistics", `/proc/<pid>/schedstat`.
 */
export function cpuNs(pid: number): number {
  const folder = `/proc/${pid}/task`;
  return sum(
    readdirSync(folder).map((thread) => {
      try {
        return Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]);
      } catch (error) {
        // The thread ended between the two checks.
        if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
        throw error;
      }
    }),
  );
}

/**
 * Time for which the main thread of a process could have run and had no core, nanoseconds.
 * Source: as above; the second figure.
 */
export function waitedNs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]);
}

/** Memory of a process that is in RAM, MiB. Source: proc_pid_status(5), "VmRSS". */
export function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kib === undefined) throw new Error(`The memory of process ${pid} cannot be read.`);
  return Number(kib) / 1024;
}

/** CPU time that whatever runs on these cores has used so far, nanoseconds. Source: proc_stat(5). */
export function busyNs(cores: readonly number[]): number {
  const stat = readFileSync('/proc/stat', 'utf8');
  return sum(
    cores.map((core) => {
      const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(stat)?.[1] ?? '';
      const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
        .split(' ')
        .map(Number);
      return (user + nice + system + irq + softirq + steal) * NS_PER_TICK;
    }),
  );
}

/** Throws if the system lacks these figures. */
export function checkProc(): void {
  try {
    cpuNs(process.pid);
  } catch (cause) {
    throw new Error(
      'The bench reads CPU times from /proc/<pid>/task/*/schedstat. Run it on Linux.',
      {
        cause,
      },
    );
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
