import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { folderOnDisk } from '../helpers/temporary-folder.ts';
import { startChild } from './children/start-child.ts';

/** Mounts in a name space of its own, so that the mount goes away with the child, whatever happens. `$3` is the folder. */
const IN_SMALL_DISK =
  'exec unshare -m sh -c \'mount -t tmpfs -o size=512k tmpfs "$3" && exec "$@"\' sh "$@"';

function mayMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    console.log('This user may not mount a small disk: the test of a full disk is skipped.');
    return false;
  }
}

test('a full disk refuses writes, changes nothing in memory, and heals', {
  skip: !mayMount(),
}, async () => {
  const folder = await folderOnDisk();
  const child = startChild('fill-disk.mjs', [folder, '100000', 'fill'], IN_SMALL_DISK);
  expect(JSON.parse(await child.line((line) => line.startsWith('{')))).toEqual({
    full: {
      update: 'ENOSPC',
      create: 'ENOSPC',
      append: ['ENOSPC', 'ENOSPC'],
      write: 'ENOSPC',
      check: 'ENOSPC',
      memory: 'before',
      item: 'before',
      journal: ['before'],
      leftovers: [],
    },
    healed: { update: 'done', append: 'done', write: 'done', check: 'done' },
    reopened: {
      ids: ['a'],
      text: 'before x',
      journal: ['before', 'after'],
      items: ['a before', 'b after'],
    },
  });
  expect((await child.exit).code).toBe(0);
});

test('a write that breaks off in the middle refuses, changes nothing, and leaves nothing half written', {
  skip: process.platform === 'win32',
}, async () => {
  const folder = await folderOnDisk();
  // The limit for files is 64 blocks of 512 or 1024 bytes, as the shell counts; writing over it gives EFBIG.
  const child = startChild('fill-disk.mjs', [folder, '100000', 'limit'], 'ulimit -f 64; exec "$@"');
  expect(JSON.parse(await child.line((line) => line.startsWith('{')))).toEqual({
    full: {
      update: 'EFBIG',
      create: 'EFBIG',
      append: ['EFBIG', 'EFBIG'],
      write: 'EFBIG',
      check: 'done',
      memory: 'before',
      item: 'before',
      journal: ['before'],
      leftovers: [],
    },
    healed: { update: 'done', append: 'done', write: 'done', check: 'done' },
    reopened: {
      ids: ['a'],
      text: 'before a',
      journal: ['before', 'after'],
      items: ['a before', 'b after'],
    },
  });
  expect((await child.exit).code).toBe(0);
});
