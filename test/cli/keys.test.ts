import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCommand } from '../helpers/run-command.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test.each([
  [['create', '--service', 'gateway', '--name', 'x', '--tokens-per-day', '0'], 'tokens-per-day'],
  [['create', '--service', 'gateway', '--name', 'x'.repeat(101)], '1 to 100 characters'],
  [
    ['create', '--service', 'gateway', '--name', 'x', '--write'],
    '--write works only with monitoring',
  ],
  [['limit', 'AbCdEf12'], 'keys limit needs a limit'],
  [['limit', 'AbCdEf12', '--tokens-per-day', '1e9'], 'tokens-per-day'],
  [['usage', '--days', '401'], 'days'],
])('keys %j is refused before anything is opened', async (words, sentence) => {
  const { code, err } = await runCommand('keys', ...words);
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(sentence) });
});

/** The command line on a data folder, where no program runs. */
async function ownKeys(folder?: string) {
  vi.stubEnv('DATA_DIR', folder ?? (await temporaryFolder()));
  vi.stubEnv('DATABASE_URL', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  return async (...words: string[]) => await runCommand('keys', ...words);
}

test('a new monitoring key only reads unless --write is given, and keys list shows it', async () => {
  const keys = await ownKeys();
  const made = await keys('create', '--service', 'monitoring', '--name', 'reader');
  expect(made.out).toMatch(/^New monitoring key \w{8}, read-only \(shown only once\):\nawm_\w+\n$/);
  const write = ['create', '--service', 'monitoring', '--write', '--name', 'writer'];
  expect((await keys(...write)).out).toMatch(/^New monitoring key \w{8} \(/);
  const [, reader = '', writer = ''] = (await keys('list')).out.split('\n');
  expect(reader).toMatch(/ reader +read-only$/);
  expect(writer).toMatch(/ writer$/);
});

test('prints JSON, and with --quiet only the new key', async () => {
  const keys = await ownKeys();
  const named = ['--service', 'gateway', '--name', 'ci'];
  const { out } = await keys('create', ...named, '--tokens-per-day', '5', '--json');
  const { key, ...created } = JSON.parse(out);
  const { id } = created;
  expect(key).toContain(`awg_${id}`);
  const limits = { tokensPerDay: 5 };
  expect(created).toEqual({ service: 'gateway', id, name: 'ci', readOnly: false, limits });
  expect((await keys('create', ...named, '--quiet')).out).toMatch(/^awg_\w{40}\n$/);

  const monitoring = await keys('create', '--service', 'monitoring', '--name', 'm', '--json');
  const listed = JSON.parse((await keys('list', '--json')).out);
  const used = { requests: 0, tokens: 0 };
  const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(listed.keys).toContainEqual({
    ...{ service: 'gateway', id, name: 'ci', createdAt, limits },
    ...{ usedToday: used, used30Days: used },
  });
  expect(listed.keys).toContainEqual({
    ...{ service: 'monitoring', id: JSON.parse(monitoring.out).id, name: 'm' },
    ...{ createdAt, readOnly: true },
  });

  const changed = await keys('limit', id, '--tokens-per-day', 'none', '--json');
  expect(JSON.parse(changed.out)).toEqual({ id, name: 'ci', limits: {} });
  expect(JSON.parse((await keys('usage', '--json')).out)).toEqual({ days: 30, usage: [] });
  expect(await keys('revoke', id, '--quiet')).toEqual({ code: 0, out: '', err: '' });
});

test('a data folder that is missing is an error, and is not created', async () => {
  const folder = join(await temporaryFolder(), 'data');
  const keys = await ownKeys(folder);
  const named = ['--service', 'gateway', '--name', 'x'];
  for (const words of [['list'], ['create', ...named], ['revoke', 'AbCdEf12']]) {
    const { code, err } = await keys(...words);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(`There is no Askwatch data in ${folder}. Run this in`),
    });
  }
  expect(existsSync(folder)).toBe(false);
});
