import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  type AskwatchProcess,
  PROGRAM,
  startAskwatch,
} from '../../helpers/end-to-end/askwatch-process.ts';
import { chat } from '../../helpers/end-to-end/key-commands.ts';
import { eventually } from '../../helpers/eventually.ts';
import { isInstalled } from '../../helpers/intake/real-program.ts';
import { folderOnDisk } from '../../helpers/temporary-folder.ts';

const UNIT = fileURLToPath(new URL('../../../manifests/askwatch.service', import.meta.url));

/** Not in every container, so CI may lack it. */
const ANALYZE = '/usr/bin/systemd-analyze';
const hasSystemd = existsSync(ANALYZE);
if (!hasSystemd)
  process.stderr.write('\nSKIPPED: checks of the unit. They need systemd-analyze.\n\n');

const hasStrace = isInstalled('/usr/bin/strace');

/** The values of a directive, in order. */
async function valuesOf(directive: string): Promise<string[]> {
  const lines = (await readFile(UNIT, 'utf8')).split('\n');
  return lines.flatMap((line) =>
    line.startsWith(`${directive}=`) ? [line.slice(directive.length + 1)] : [],
  );
}

const lastOf = async (directive: string) => (await valuesOf(directive)).at(-1) ?? '';

/** Starts the program by the unit's command, in its environment and an own working folder. `before` are words before the command. */
async function startUnit(
  before: string[] = [],
): Promise<{ askwatch: AskwatchProcess; folder: string }> {
  const root = await folderOnDisk();
  const folder = join(root, await lastOf('StateDirectory'));
  const bin = join(root, 'bin');
  for (const path of [folder, bin]) await mkdir(path);
  await symlink(join(dirname(PROGRAM), 'cli.js'), join(bin, 'askwatch'));
  const [name = '', value = ''] = (await lastOf('Environment')).split('=');
  const command = [...before, ...(await lastOf('ExecStart')).split(' ')];
  const env = { [name]: value, PATH: `${bin}:${process.env.PATH}`, DATA_DIR: '' };
  return { askwatch: await startAskwatch({ dataDir: folder, command, env }), folder };
}

test('the command of the unit starts the program, which keeps its state in the folder of the unit and ends in time', async () => {
  const { askwatch, folder } = await startUnit();
  expect(await lastOf('WorkingDirectory')).toBe(`/var/lib/${await lastOf('StateDirectory')}`);
  expect(await readdir(folder)).toEqual(['data']);
  expect(await askwatch.stop()).toBe(0);
  const main = await readFile(new URL('../../../src/main.ts', import.meta.url), 'utf8');
  const stopSeconds = Number(/STOP_LIMIT_MS = ([\d_]+)/.exec(main)?.[1]?.replace('_', '')) / 1000;
  expect(Number.parseInt(await lastOf('TimeoutStopSec'), 10)).toBeGreaterThan(stopSeconds);
});

describe.skipIf(!hasSystemd)('systemd', () => {
  test('finds no mistake in the unit', () => {
    const { status, stderr } = spawnSync(ANALYZE, ['verify', UNIT]);
    expect([status, String(stderr)]).toEqual([0, '']);
  });

  test('rates the exposure of the unit at most 2.0 of 10', () => {
    const args = ['security', '--offline=yes', '--threshold=20', UNIT];
    expect(String(execFileSync(ANALYZE, args))).toContain('Overall exposure level');
  });

  /** Lists the system calls of a set and of the sets in it. */
  function callsOf(
    set: string,
    listed = String(execFileSync(ANALYZE, ['syscall-filter', set])),
  ): string[] {
    const names = listed
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
    return names.flatMap((name) => {
      if (name === '' || name.startsWith('#')) return [];
      return name.startsWith('@') ? callsOf(name) : [name];
    });
  }

  test.skipIf(!hasStrace)('lets the program make every system call that it needs', async () => {
    const trace = join(await folderOnDisk(), 'trace');
    const { askwatch } = await startUnit(['strace', '-D', '-f', '-qq', '-o', trace]);
    expect((await chat(askwatch.url, await askwatch.createKey('gateway'), 'Hello')).status).toBe(
      200,
    );
    expect(await askwatch.stop()).toBe(0);
    const used = await eventually(async () => {
      const text = await readFile(trace, 'utf8');
      return text.includes(' exit_group(') && new Set(text.match(/(?<=^\d+ +)[a-z]\w+(?=\()/gm));
    });
    const allowed = new Set<string>();
    for (const filter of await valuesOf('SystemCallFilter')) {
      const denies = filter.startsWith('~');
      for (const call of filter
        .replace('~', '')
        .split(' ')
        .flatMap((set) => callsOf(set))) {
        if (denies) allowed.delete(call);
        else allowed.add(call);
      }
    }
    expect(used.size).toBeGreaterThan(50);
    // V8 does without memory protection keys if the kernel refuses them.
    allowed.add('pkey_alloc');
    expect([...used].filter((call) => !allowed.has(call))).toEqual([]);
  });
});
