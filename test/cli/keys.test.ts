import { parseArgs } from 'node:util';
import { expect, test } from 'vitest';
import { runKeys } from '../../src/cli/keys.ts';
import { CommandLineError, keyOptions } from '../../src/cli/options.ts';

test.each([
  [[], 'Say what to do'],
  [['fly'], 'Say what to do'],
  [['create', '--service', 'gateway'], 'a name of 1 to 100'],
  [['create', '--name', 'x'], 'Say which service'],
  [['create', '--service', 'gateway', '--name', 'x', '--tokens-per-day', '0'], 'tokens-per-day'],
  [['create', '--service', 'gateway', '--name', 'x'.repeat(101)], 'a name of 1 to 100'],
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
