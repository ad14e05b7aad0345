import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Finding, ok, problem, warning } from '../bot/shared/finding.ts';
import { CorruptDocumentError, StateMovedError } from '../store/errors.ts';
import { lockHolder } from '../store/lowdb/lock.ts';
import { assertNotMoved } from '../store/lowdb/moved.ts';
import { quarantinedFiles } from '../store/lowdb/quarantine.ts';
import type { ClockReading } from './doctor-fetch.ts';

const FOLDER = 'Data folder';

const MIB = 1024 * 1024;

/** One day of results of some hundred monitors is a few MiB. */
const FULL_BYTES = 16 * MIB;
const NEARLY_FULL_BYTES = 256 * MIB;

const MAX_DAMAGED_SHOWN = 10;

/** Slack's HTTP requests are refused if the clocks differ by more. Source: Slack docs, "Verifying requests from Slack". */
const CLOCK_LIMIT_MS = 5 * 60_000;
const CLOCK_SLACK_MS = 10_000;

/** `wanted` is `engines.node` of package.json, such as `>=20.19`. */
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

/** It asks the system instead of writing a file. */
export async function checkDataFolder(folder: string): Promise<Finding[]> {
  try {
    await assertNotMoved(folder);
    return [await checkWritable(folder)];
  } catch (error) {
    if (error instanceof StateMovedError || error instanceof CorruptDocumentError) {
      return [problem(FOLDER, error.message)];
    }
    // The next check reports a folder that can't be read, with advice.
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

/** Reports whether the program runs on this data folder. It only reads the lock. */
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

/** Compares this machine's clock with the servers that responded, if possible with those on other machines. */
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

/** Damaged files of the data folder that were set aside in the last days. */
export async function checkDamagedFiles(folder: string): Promise<Finding[]> {
  const check = 'Stored files';
  try {
    const damaged = await quarantinedFiles(folder);
    return damaged.slice(-MAX_DAMAGED_SHOWN).map(({ atMs, original, copy }) => {
      const day = new Date(atMs).toISOString().slice(0, 10);
      const text = `${original} was damaged (found ${day}). Restore ${folder} from a backup if you need that data. The damaged part stays in ${copy} there for 30 days; you can delete it.`;
      return warning(check, text);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = `Cannot look for damaged files (${code}). Run doctor as the user who runs Askwatch.`;
    return [warning(check, text)];
  }
}
