import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryFolder } from './helpers/temporary-folder.ts';

const compose = parse(readFileSync(new URL('../compose.yaml', import.meta.url), 'utf8'), {
  merge: true,
}) as { services: { backup: { entrypoint: string[]; command: string[] } } };
const { entrypoint, command } = compose.services.backup;

const TODAY = new Date().toISOString().slice(0, 10);

/** Runs the backup service's script until it sleeps, with a pg_dump that writes `dump`, or fails if there is none. */
async function backUp({ dump, before = [] }: { dump?: string; before?: string[] }) {
  const folder = await temporaryFolder();
  const backups = join(folder, 'backups');
  await mkdir(join(folder, 'bin'));
  await mkdir(backups);
  for (const name of before) await writeFile(join(backups, name), 'old');
  const programs = {
    pg_dump: dump === undefined ? 'exit 1' : `for last; do :; done; echo ${dump} > "\${last#*=}"`,
    // Ends the loop, and shows how long it would have waited.
    sleep: 'echo "slept $1"; exit 9',
  };
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, 'bin', name), 0o755);
  }
  const [shell = '', ...options] = entrypoint;
  // In compose.yaml, $$ is one $.
  const script = (command[0] ?? '').replaceAll('$$', '$').replaceAll('/backups', backups);
  const ended = await promisify(execFile)(shell, [...options, script], {
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
  }).catch((error: { code: number; stdout: string }) => error);
  return { ...ended, backups, names: (await readdir(backups)).sort() };
}

/** The images are Debian's, with GNU's head. */
describe.skipIf(process.platform !== 'linux')('the backup service of compose.yaml', () => {
  test('dumps the database into a file of the day, and waits for a day', async () => {
    const { names, backups, stdout } = await backUp({ dump: 'new' });
    expect(names).toEqual([`askwatch-${TODAY}.dump`]);
    expect(await readFile(join(backups, names[0] ?? ''), 'utf8')).toBe('new\n');
    expect(stdout).toBe('slept 86400\n');
  });

  test('keeps the dumps of the last seven days', async () => {
    const before = Array.from({ length: 9 }, (_, at) => `askwatch-2026-01-0${at + 1}.dump`);
    const { names } = await backUp({ dump: 'new', before: [...before, 'of-mine.dump'] });
    expect(names).toEqual([...before.slice(3), `askwatch-${TODAY}.dump`, 'of-mine.dump']);
  });

  test('replaces the dump of the same day, so that restarts push none out', async () => {
    const before = ['askwatch-2026-01-01.dump', `askwatch-${TODAY}.dump`];
    const { names, backups } = await backUp({ dump: 'new', before });
    expect(names).toEqual(before);
    expect(await readFile(join(backups, before[1] ?? ''), 'utf8')).toBe('new\n');
  });

  test('leaves the older dumps alone if one fails, and tries again after ten minutes', async () => {
    const before = Array.from({ length: 9 }, (_, at) => `askwatch-2026-01-0${at + 1}.dump`);
    const { names, stdout } = await backUp({ before });
    expect(names).toEqual(before);
    expect(stdout).toBe('slept 600\n');
  });
});
