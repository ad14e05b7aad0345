import { parseArgs } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runKeys } from '../../src/cli/keys.ts';
import { CommandLineError, keyOptions } from '../../src/cli/options.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test.each([
  [[], 'Say what to do'],
  [['fly'], 'Say what to do'],
  [['create', '--service', 'gateway'], 'a name of 1 to 100'],
  [['create', '--name', 'x'], 'Say which service'],
  [['create', '--service', 'gateway', '--name', 'x', '--tokens-per-day', '0'], 'tokens-per-day'],
  [['create', '--service', 'gateway', '--name', 'x'.repeat(101)], 'a name of 1 to 100'],
  [['create', '--service', 'gateway', '--name', 'x', '--read-only'], '--read-only is for keys'],
  [['list', '--service', 'cat'], 'cat'],
  [['revoke'], 'Say which key'],
  [['limit'], 'Say which key'],
  [['limit', 'AbCdEf12'], 'Say which limit'],
  [['limit', 'AbCdEf12', '--tokens-per-day', '1e9'], 'tokens-per-day'],
  [['usage', '--days', '401'], 'days'],
])('keys %j is refused before anything is opened', async (args, said) => {
  const parsed = parseArgs({ args, allowPositionals: true, options: keyOptions });
  const refused = runKeys(parsed.positionals, parsed.values, '0.0.0');
  await expect(refused).rejects.toBeInstanceOf(CommandLineError);
  await expect(refused).rejects.toThrow(said);
});

/** The command line on a data folder of its own, where no program runs. */
async function ownKeys() {
  vi.stubEnv('DATA_DIR', await temporaryFolder());
  vi.stubEnv('DATABASE_URL', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  return async (...args: string[]) => {
    const parsed = parseArgs({ args, allowPositionals: true, options: keyOptions });
    return await runKeys(parsed.positionals, parsed.values, '0.0.0');
  };
}

test('keys create makes a key that can only read, and keys list says so', async () => {
  const keys = await ownKeys();
  const made = await keys('create', '--service', 'monitoring', '--read-only', '--name', 'reader');
  expect(made[0]).toMatch(/^Read-only key \w{8} of the monitoring service/);
  expect(made[1]).toMatch(/^awm_/);
  expect((await keys('create', '--service', 'monitoring', '--name', 'writer'))[0]).toMatch(/^Key /);
  const [, reader = '', writer = ''] = await keys('list');
  expect(reader).toMatch(/ reader +read only$/);
  expect(writer).toMatch(/ writer$/);
});
