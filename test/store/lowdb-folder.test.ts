import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startupSentence } from '../../src/app/startup-errors.ts';
import { DataFolderError } from '../../src/store/errors.ts';
import { prepareDataFolder } from '../../src/store/lowdb/data-folder.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { openFiles } from '../helpers/lowdb-store.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';

const notes = {
  name: 'notes',
  schema: z.object({ text: z.string() }),
  version: 1,
  whenCorrupt: 'refuse',
} as const;

/** A data folder that was in use, with a document in it; gives the name of the document's file. */
async function usedFolder() {
  const folder = await folderOnDisk();
  const { store } = await openFiles(folder);
  await store.collection(notes).update('a', () => ({ text: 'one' }));
  await store.close();
  const [file = ''] = await readdir(join(folder, 'notes'));
  return { folder, file: join(folder, 'notes', file) };
}

const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

describe('a data folder that is open to other users', () => {
  test('is made private at the start, with all that Askwatch keeps in it', async () => {
    const { folder, file } = await usedFolder();
    await mkdir(join(folder, 'lost+found'), { mode: 0o755 });
    await chmod(join(folder, 'notes'), 0o777);
    await chmod(file, 0o666);
    await chmod(folder, 0o777);
    const { store } = await openFiles(folder);
    expect(await modeOf(folder)).toBe('700');
    expect(await modeOf(join(folder, 'notes'))).toBe('700');
    expect(await modeOf(file)).toBe('600');
    expect(await modeOf(join(folder, 'lost+found'))).toBe('755');
    expect(await store.collection(notes).get('a')).toEqual({ text: 'one' });
  });

  test('is refused when it holds something else that others can change, and stays as it is', async () => {
    for (const mode of [0o777, 0o1777, 0o770]) {
      const { folder } = await usedFolder();
      await mkdir(join(folder, 'Photos'));
      await chmod(folder, mode);
      const { log } = recordingLog();
      const refusal = await openLowdbStore({ folder, log }).catch((error) => error);
      expect(refusal).toBeInstanceOf(DataFolderError);
      expect(startupSentence(refusal)).toContain('holds other files, too, such as Photos');
      expect(startupSentence(refusal)).toContain(`chmod 700 ${folder}`);
      expect(await modeOf(folder)).toBe(mode.toString(8));
    }
  });

  test('stays as it is when others can only read it and it holds something else, and our own files become private', async () => {
    const { folder, file } = await usedFolder();
    await mkdir(join(folder, 'Photos'), { mode: 0o755 });
    await chmod(join(folder, 'notes'), 0o755);
    await chmod(file, 0o644);
    await chmod(folder, 0o755);
    const { lines } = await openFiles(folder);
    expect(await modeOf(folder)).toBe('755');
    expect(await modeOf(join(folder, 'Photos'))).toBe('755');
    expect(await modeOf(join(folder, 'notes'))).toBe('700');
    expect(await modeOf(file)).toBe('600');
    expect(lines.map(({ msg }) => msg)).toEqual([
      'the data folder is open to other users and holds other files, too, such as Photos; its permissions were not changed',
    ]);
  });
});

test('files that another starting process writes and removes again do not disturb a start', async () => {
  const { folder } = await usedFolder();
  const { log } = recordingLog();
  let done = false;
  async function comeAndGo(name: string) {
    while (!done) {
      await writeFile(join(folder, name), '');
      await unlink(join(folder, name));
    }
  }
  const others = ['.lock.after-1', '.lock.after-2', '.lock.after-3'].map(comeAndGo);
  try {
    for (let round = 0; round < 200; round += 1) await prepareDataFolder(folder, log);
  } finally {
    done = true;
    await Promise.all(others);
  }
});

describe('a data folder that cannot be used is refused with its path and what to do', () => {
  const pipe = (path: string) => execFileSync('mkfifo', [path]);

  test.each<[string, RegExp, (folder: string) => unknown]>([
    ['a file', /^\S+\/data is a file, but .* DATA_DIR/, (path) => writeFile(path, '')],
    ['a pipe', /^\S+\/data is a file, but .* DATA_DIR/, pipe],
    [
      'a link to nothing',
      /^\S+\/data is a broken link\. Create/,
      (path) => symlink('/nowhere/at/all', path),
    ],
  ])('%s', async (_what, sentence, make) => {
    const folder = join(await folderOnDisk(), 'data');
    await make(folder);
    for (const path of [folder, join(folder, 'deeper')]) {
      const { log } = recordingLog();
      const refusal = await openLowdbStore({ folder: path, log }).catch((error) => error);
      expect(refusal).toBeInstanceOf(DataFolderError);
      expect(startupSentence(refusal)).toMatch(sentence);
    }
  });

  test('a place where the system takes no folders', {
    skip: process.platform !== 'linux',
  }, async () => {
    const { log } = recordingLog();
    const opened = openLowdbStore({ folder: '/proc/nope/data', log });
    await expect(opened).rejects.toThrow(/^The folder \/proc\/nope cannot be created/);
  });

  test('a file where a folder belongs', async () => {
    const folder = await folderOnDisk();
    const sentence = /notes is a file, but Askwatch needs a folder there/;
    const { store } = await openFiles(folder);
    await writeFile(join(folder, 'notes'), '');
    await expect(store.collection(notes).list()).rejects.toThrow(sentence);
    await store.close();
    await expect(openFiles(folder)).rejects.toThrow(sentence);
  });
});
