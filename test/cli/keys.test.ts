import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runKeys } from '../../src/cli/keys.ts';
import { CommandLineError, keyOptions } from '../../src/cli/options.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test.each([
  [[], 'keys needs a subcommand'],
  [['fly'], 'keys needs a subcommand'],
  [['create', '--service', 'gateway'], '1 to 100 characters'],
  [['create', '--name', 'x'], 'Missing --service'],
  [['create', '--service', 'gateway', '--name', 'x', '--tokens-per-day', '0'], 'tokens-per-day'],
  [['create', '--service', 'gateway', '--name', 'x'.repeat(101)], '1 to 100 characters'],
  [
    ['create', '--service', 'gateway', '--name', 'x', '--write'],
    '--write works only with monitoring',
  ],
  [['list', '--service', 'cat'], 'cat'],
  [['revoke'], 'Missing key id'],
  [['limit'], 'Missing key id'],
  [['limit', 'AbCdEf12'], 'keys limit needs a limit'],
  [['limit', 'AbCdEf12', '--tokens-per-day', '1e9'], 'tokens-per-day'],
  [['usage', '--days', '401'], 'days'],
])('keys %j is refused before anything is opened', async (args, said) => {
  const parsed = parseArgs({ args, allowPositionals: true, options: keyOptions });
  const refused = runKeys(parsed.positionals, parsed.values, '0.0.0');
  await expect(refused).rejects.toBeInstanceOf(CommandLineError);
  await expect(refused).rejects.toThrow(said);
});

/** The command line on a data folder, where no program runs. */
async function ownKeys(folder?: string) {
  vi.stubEnv('DATA_DIR', folder ?? (await temporaryFolder()));
  vi.stubEnv('DATABASE_URL', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  return async (...args: string[]) => {
    const parsed = parseArgs({ args, allowPositionals: true, options: keyOptions });
    return await runKeys(parsed.positionals, parsed.values, '0.0.0');
  };
}

test('a new monitoring key only reads unless --write is given, and keys list shows it', async () => {
  const keys = await ownKeys();
  const made = await keys('create', '--service', 'monitoring', '--name', 'reader');
  expect(made[0]).toMatch(/^New monitoring key \w{8}, read-only \(shown only once\):$/);
  expect(made[1]).toMatch(/^awm_/);
  const write = ['create', '--service', 'monitoring', '--write', '--name', 'writer'];
  expect((await keys(...write))[0]).toMatch(/^New monitoring key \w{8} \(/);
  const [, reader = '', writer = ''] = await keys('list');
  expect(reader).toMatch(/ reader +read-only$/);
  expect(writer).toMatch(/ writer$/);
});

test('a data folder that is missing is an error, and is not created', async () => {
  const folder = join(await temporaryFolder(), 'data');
  const keys = await ownKeys(folder);
  const named = ['--service', 'gateway', '--name', 'x'];
  for (const args of [['list'], ['create', ...named], ['revoke', 'AbCdEf12']]) {
    await expect(keys(...args)).rejects.toThrow(`There is no Askwatch here: ${folder} doesn't`);
  }
  expect(existsSync(folder)).toBe(false);
});
