import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCommand } from '../helpers/run-command.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

/** A folder with a file, before the first start. */
async function setUp() {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'monitors.yaml'), 'monitors: {}\n');
  vi.stubEnv('DATA_DIR', join(folder, 'data'));
  vi.stubEnv('DATABASE_URL', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  return { folder, monitors: (...words: string[]) => runCommand('monitors', ...words) };
}

test.each([
  [[], 'works only with the file in MONITORS_FILE, which is not set. Set it'],
  [['other.yaml'], 'use askwatch monitors plan other.yaml.'],
])('refuses monitors apply %j without MONITORS_FILE', async (words, sentence) => {
  const { monitors } = await setUp();
  const { code, out, err } = await monitors('apply', ...words);
  expect({ code, out, err }).toEqual({ code: 1, out: '', err: expect.stringContaining(sentence) });
});

test.each([
  ['a missing file', 'gatus', 'missing.yaml', 'Cannot read missing.yaml (ENOENT). Check the path.'],
  ['another format', 'file_sd', 'monitors.yaml', 'this is not a Prometheus file_sd file'],
])('refuses to import %s', async (_, tool, name, sentence) => {
  const { folder, monitors } = await setUp();
  const path = name === 'missing.yaml' ? name : join(folder, name);
  const { code, out, err } = await monitors('import', tool, path);
  expect({ code, out, err }).toEqual({ code: 1, out: '', err: expect.stringContaining(sentence) });
});

test('prints imported monitors as JSON', async () => {
  const { folder, monitors } = await setUp();
  await writeFile(join(folder, 'targets.json'), '[{"targets": ["https://a.example/"]}]');
  const { out } = await monitors('import', 'file_sd', join(folder, 'targets.json'), '--json');
  const declared = { target: 'https://a.example/', check_type: 'HTTP' };
  expect(JSON.parse(out)).toEqual({ monitors: { 'a.example': declared } });
});
