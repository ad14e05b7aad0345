import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { StoreInUseError } from '../../src/store/errors.ts';
import { startOf, takeLock } from '../../src/store/lowdb/lock.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { long } from '../helpers/long.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';
import { startChild } from './children/start-child.ts';

const onLinux = process.platform === 'linux';

/** The lock file of a process that is gone: above the largest pid that Linux gives out. */
const deadHolder = (nonce: string) =>
  JSON.stringify({ pid: 4_194_999, start: 'long:ago', host: hostname(), nonce });

async function holding(child: Awaited<ReturnType<typeof startChild>>) {
  return await child.line((line) => line.startsWith('open') || line.startsWith('refused'));
}

describe('a data folder', () => {
  test('is refused to a second process with a sentence, and free when the first has closed it', async () => {
    const folder = await folderOnDisk();
    const holder = startChild('hold-store.mjs', [folder]);
    expect(await holding(holder)).toBe('open');
    const { log } = recordingLog();
    await expect(openLowdbStore({ folder, log })).rejects.toThrow(
      new RegExp(`in use by process ${holder.pid} .*Stop that process first`),
    );
    await expect(openLowdbStore({ folder, log })).rejects.toThrow(StoreInUseError);
    holder.endInput();
    expect(await holder.exit).toEqual({ code: 0, signal: null });
    expect(await readdir(folder)).not.toContain('.lock');
    await (await openLowdbStore({ folder, log })).close();
  });

  test('is taken over from a process that was killed, by one of those who try', async () => {
    const folder = await folderOnDisk();
    const killed = startChild('hold-store.mjs', [folder]);
    expect(await holding(killed)).toBe('open');
    killed.kill('SIGKILL');
    await killed.exit;
    expect(await readdir(folder)).toContain('.lock');

    const takers = Array.from({ length: 4 }, () => startChild('hold-store.mjs', [folder]));
    const said = await Promise.all(takers.map(holding));
    expect(said.filter((line) => line === 'open')).toHaveLength(1);
    expect(said.filter((line) => line.startsWith('refused StoreInUseError'))).toHaveLength(3);
    for (const taker of takers) taker.endInput();
    await Promise.all(takers.map((taker) => taker.exit));
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('cannot be opened twice in one process either', async () => {
    const folder = await folderOnDisk();
    const lock = await takeLock(folder);
    await expect(takeLock(folder)).rejects.toThrow(`process ${process.pid}`);
    await lock.release();
    await (await takeLock(folder)).release();
  });

  test('is not taken from another host, whose processes cannot be seen', async () => {
    const folder = await folderOnDisk();
    await writeFile(
      join(folder, '.lock'),
      JSON.stringify({ pid: 1, host: 'elsewhere', nonce: 'x' }),
    );
    await expect(takeLock(folder)).rejects.toThrow(/on the host 'elsewhere'.*remove .*\.lock/);
  });

  test.each([
    ['', 'it is empty'],
    ['\0\0\0', 'NULs'],
    ['{"pid":"no"}', 'garbage'],
  ])('is taken when power loss damaged the lock file: %j', async (content) => {
    const folder = await folderOnDisk();
    await writeFile(join(folder, '.lock'), content);
    const lock = await takeLock(folder);
    expect(await readFile(join(folder, '.lock'), 'utf8')).toContain(`"pid":${process.pid}`);
    await lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  test('is taken when the pid now belongs to another process', { skip: !onLinux }, async () => {
    const folder = await folderOnDisk();
    const path = join(folder, '.lock');
    const own = { pid: process.ppid, host: hostname(), nonce: 'x' };
    await writeFile(path, JSON.stringify({ ...own, start: await startOf(process.ppid) }));
    await expect(takeLock(folder)).rejects.toThrow(StoreInUseError);
    await writeFile(path, JSON.stringify(own));
    await expect(takeLock(folder)).rejects.toThrow(StoreInUseError);
    await writeFile(path, JSON.stringify({ ...own, start: 'another-boot:1' }));
    await (await takeLock(folder)).release();
  });

  test('is given back only by who still has it', async () => {
    const folder = await folderOnDisk();
    const path = join(folder, '.lock');
    const lock = await takeLock(folder);
    const other = deadHolder('of another');
    await writeFile(path, other);
    await lock.release();
    expect(await readFile(path, 'utf8')).toBe(other);
  });

  test('goes to exactly one of many takers, from a lock left in any state', async () => {
    const rounds = long ? 400 : 8;
    for (let round = 0; round < rounds; round += 1) {
      const folder = await folderOnDisk();
      await mkdir(folder, { recursive: true });
      // A chain of takers that were killed before they had made it short; none at all in every fourth round.
      let text = deadHolder('0');
      let name = '.lock';
      for (let link = 0; link < round % 4; link += 1) {
        await writeFile(join(folder, name), text);
        name = `.lock.after-${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
        text = deadHolder(`${link + 1}`);
      }
      const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => takeLock(folder)));
      const locks = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      const errors = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
      expect(locks).toHaveLength(1);
      for (const error of errors) expect(error).toBeInstanceOf(StoreInUseError);
      await expect(takeLock(folder)).rejects.toThrow(StoreInUseError);
      await locks[0]?.release();
      expect(await readdir(folder)).toEqual([]);
    }
  });
});
