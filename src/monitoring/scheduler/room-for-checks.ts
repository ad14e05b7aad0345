import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';

/** A thousand targets that don't answer for ten seconds leave room for the others. */
const MOST = 1_024;

/** For systems that don't say how many files may be open; every system allows this. */
const FALLBACK = 256;

/**
 * Number of checks that may run at the same time. Each has an open socket, and half of the files that this process may open are
 * reserved for its callers and its data. Logs a warning if that lowers the number. Source: proc_pid_limits(5).
 */
export async function roomForChecks(
  log: Pick<Logger, 'warn'>,
  limitsFile = '/proc/self/limits',
): Promise<number> {
  // Only Linux has this file.
  const limits = await readFile(limitsFile, 'utf8').catch(() => '');
  const written = /^Max open files +(\d+|unlimited) /m.exec(limits)?.[1];
  if (written === undefined) return FALLBACK;
  const room = written === 'unlimited' ? MOST : Math.min(MOST, Math.ceil(Number(written) / 2));
  if (room < MOST) {
    log.warn(
      `at most ${room} checks run at a time, because this process may open only ${written} files; with fewer than ` +
        `${2 * MOST} (ulimit -n, or LimitNOFILE= in systemd), many targets that never answer delay the others`,
    );
  }
  return room;
}
