import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Finding, ok, problem, warning } from '../bot/shared/finding.ts';
import { CorruptDocumentError, StateMovedError } from '../store/errors.ts';
import { lockHolder } from '../store/lowdb/lock.ts';
import { findLosses, LOSSES } from '../store/lowdb/losses.ts';
import { assertNotMoved } from '../store/lowdb/raw-state.ts';
import type { ClockReading } from './doctor-fetch.ts';

const FOLDER = 'Data folder';

const MIB = 1024 * 1024;

/** A day of results of some hundred monitors is a few MiB; below the first the next one may not fit. */
const FULL_BYTES = 16 * MIB;
const NEARLY_FULL_BYTES = 256 * MIB;

/** How long a loss is told of, and how many at most. */
const LOSSES_TOLD_MS = 30 * 86_400_000;
const MAX_LOSSES_TOLD = 10;

/** Slack's requests over HTTP are refused from then on. Source: Slack docs, "Verifying requests from Slack". */
const CLOCK_LIMIT_MS = 5 * 60_000;
const CLOCK_SLACK_MS = 10_000;

/** Whether this Node.js is new enough; `wanted` as in package.json, such as `>=20.19`. */
export function checkNode(wanted: string): Finding {
  const { node } = process.versions;
  const parts = (version: string) => version.replace(/^\D+/, '').split('.').map(Number);
  const [major = 0, minor = 0] = parts(node);
  const [wantedMajor = 0, wantedMinor = 0] = parts(wanted);
  const isNewEnough = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  if (isNewEnough) return ok('Node.js', node);
  const least = `${wantedMajor}.${wantedMinor}`;
  return problem(
    'Node.js',
    `This is ${node}, but Askwatch needs ${least} or newer. Get it from nodejs.org.`,
  );
}

/** Whether the data folder is to be used, and can be written, by what the system says: nothing is written to find out. */
export async function checkDataFolder(folder: string): Promise<Finding[]> {
  try {
    await assertNotMoved(folder);
    return [await checkWritable(folder)];
  } catch (error) {
    if (error instanceof StateMovedError || error instanceof CorruptDocumentError) {
      return [problem(FOLDER, error.message)];
    }
    // That it cannot be read is told by the other check, with what to do.
    return [await checkWritable(folder)];
  }
}

async function checkWritable(folder: string): Promise<Finding> {
  const check = FOLDER;
  const elsewhere = 'or set DATA_DIR to another folder';
  try {
    const there = await nearestThere(folder);
    if (!(await stat(there)).isDirectory()) {
      return problem(check, `${there} isn't a folder. Move it away, ${elsewhere}.`);
    }
    await access(there, constants.R_OK | constants.W_OK | constants.X_OK);
    const { bavail, bsize, files, ffree } = await statfs(there);
    const freeBytes = bavail * bsize;
    const free = `${Math.floor(freeBytes / MIB)} MiB free`;
    if (freeBytes < FULL_BYTES || (files > 0 && ffree === 0)) {
      const what = freeBytes < FULL_BYTES ? free : 'no room for more files';
      return problem(
        check,
        `${folder}: the disk is full (${what}). Free some space, ${elsewhere}.`,
      );
    }
    if (freeBytes < NEARLY_FULL_BYTES) {
      return warning(check, `${folder}: only ${free}. Free some space, ${elsewhere}.`);
    }
    const made = there === folder ? '' : '; created at the first start';
    return ok(check, `${folder} is writable, ${free}${made}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'EROFS'
        ? 'the disk is read-only. Mount it writable'
        : `this user can't read and write there (${code}). Grant the permission`;
    return problem(check, `${folder}: ${why}, ${elsewhere}.`);
  }
}

/** The folder, or the nearest one above that is there. */
async function nearestThere(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder)
      throw error;
    return await nearestThere(dirname(folder));
  }
}

/** Whether the program runs on this data folder; the lock is only read. */
export async function checkProgram(
  folder: string,
): Promise<{ finding: Finding; runs: boolean | 'elsewhere' }> {
  const check = 'Program';
  try {
    const holder = await lockHolder(folder);
    if (!holder) return { finding: ok(check, 'not running'), runs: false };
    if (holder.here) return { finding: ok(check, `running as process ${holder.pid}`), runs: true };
    const text = `The folder is locked by process ${holder.pid} on host '${holder.host}'. If that process is gone for good, remove ${holder.file}.`;
    return { finding: warning(check, text), runs: 'elsewhere' };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = `Cannot read the lock of ${folder} (${code}) to see whether Askwatch is running. Run doctor as the user who runs Askwatch.`;
    return { finding: warning(check, text), runs: false };
  }
}

/** Our clock against that of whoever answered, those on other machines where there are any. */
export function checkClock(readings: readonly ClockReading[]): Finding {
  const check = 'Clock';
  const far = readings.filter(({ near }) => !near);
  const skews = (far.length > 0 ? far : readings).map(({ skewMs }) => skewMs);
  const skewMs = skews.sort((a, b) => a - b)[Math.floor((skews.length - 1) / 2)];
  if (skewMs === undefined) return ok(check, 'not compared, because no server sent the time');
  if (Math.abs(skewMs) <= CLOCK_SLACK_MS) return ok(check, 'in sync');
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const words = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} minutes`;
  const text = `This machine's clock is ${words} ${skewMs > 0 ? 'ahead' : 'behind'}. Sync it with NTP.`;
  return Math.abs(skewMs) < CLOCK_LIMIT_MS
    ? warning(check, text)
    : problem(
        check,
        `${text} Until then, Askwatch refuses Slack's requests and alerts show wrong times.`,
      );
}

/** What the journals of the data folder were found to have lost, in the last days or now. */
export async function checkLosses(folder: string, isRunning: boolean): Promise<Finding[]> {
  const check = 'Stored journals';
  try {
    const losses = await findLosses(folder, { isRunning });
    const recent = losses.filter(({ atMs }) => Date.now() - atMs < LOSSES_TOLD_MS);
    return recent.slice(-MAX_LOSSES_TOLD).map(({ atMs, file, what }) => {
      const day = new Date(atMs).toISOString().slice(0, 10);
      const text = `${file} ${what} (found ${day}). Restore ${folder} from a backup if you need that data. This note stays in ${LOSSES} there for 30 days; you can delete it.`;
      return warning(check, text);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = `Cannot check the journals for lost data (${code}). Run doctor as the user who runs Askwatch.`;
    return [warning(check, text)];
  }
}
