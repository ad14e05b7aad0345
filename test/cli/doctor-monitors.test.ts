import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/app/settings.ts';
import { checkMonitorsFile } from '../../src/cli/doctor-monitors.ts';
import { monitorsFileProgram } from '../helpers/files/reader-program.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

async function found(text?: string) {
  const folder = await temporaryFolder();
  const path = join(folder, 'monitors.yaml');
  if (text !== undefined) await writeFile(path, text);
  const settings = readSettings({ DATA_DIR: folder, MONITORS_FILE: path });
  const findings = await checkMonitorsFile(settings, monitorsFileProgram());
  return findings.map(({ level, text }) => `${level}: ${text.replace(path, 'FILE')}`);
}

test('the doctor reads the file of monitors, where there is one', async () => {
  expect(await checkMonitorsFile(readSettings({}))).toEqual([]);
  const good = 'monitors: {shop: {target: "https://x.example", check_type: HTTP}}';
  expect(await found(good)).toEqual(['ok: declares 1 monitor']);
  expect(await found()).toEqual([
    expect.stringContaining('problem: FILE:1:1: this file does not exist'),
  ]);
});

test('the doctor tells the mistakes of the file, the first ones one by one', async () => {
  const many = Array.from({ length: 12 }, (_, at) => `  k${at}: {}`);
  const all = await found(['monitors:', ...many].join('\n'));
  expect(all).toHaveLength(11);
  expect(all[0]).toContain("problem: FILE:2:3: 'check_type' is missing");
  expect(all[10]).toBe('warning: has 2 more errors.');
});
