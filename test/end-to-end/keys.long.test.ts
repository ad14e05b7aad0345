import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sharedAskwatch, startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import {
  cells,
  chat,
  limitsOnlyGatewayKeys,
  managesKeys,
  runCli,
  showsUsage,
} from '../helpers/end-to-end/key-commands.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

describe('npx askwatch keys', () => {
  const shared = sharedAskwatch();

  test('creates, lists, limits and revokes while the program does not run', () => managesKeys());

  test('shows what was used, by day and model, while the program does not run', () => showsUsage());

  test('gives monitoring keys no limits while the program runs', () =>
    limitsOnlyGatewayKeys(shared()));
});

test('usage and budgets outlive kill -9, but for the last quarter of a second', async () => {
  const dataDir = await temporaryFolder();
  const first = await startAskwatch({ dataDir });
  const key = await first.createKey('gateway');
  const id = key.slice(4, 12);
  expect((await chat(first.url, key, 'Hello')).status).toBe(200);
  const journal = join(dataDir, 'data', 'gateway-usage');
  await eventually(async () => {
    const [file = ''] = await readdir(journal);
    return (await readFile(join(journal, file), 'utf8')).includes(id);
  });
  await first.kill();

  const used = (await runCli(dataDir, ['keys', 'usage', id])).output.split('\n');
  expect(cells(used.at(1)).slice(1, 5)).toEqual([id, 'test key', 'small-4k', '1']);
  const tokens = cells(used.at(1))
    .slice(9, 11)
    .reduce((sum, cell) => sum + Number(cell), 0);
  expect(tokens).toBeGreaterThan(1);
  expect((await runCli(dataDir, ['keys', 'limit', id, '--tokens-per-day', `${tokens}`])).code).toBe(
    0,
  );
  const second = await startAskwatch({ dataDir });
  const refused = await chat(second.url, key, 'Hello');
  expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([429, 'false']);
});

test('npx askwatch keys says that no key has an id', async () => {
  const dataDir = await temporaryFolder();
  // Without a data folder, that would be said instead.
  await mkdir(join(dataDir, 'data'));
  for (const args of [
    ['keys', 'limit', 'AbCdEf12', '--tokens-per-day', '5'],
    ['keys', 'usage', 'AbCdEf12'],
    ['keys', 'revoke', 'AbCdEf12'],
  ]) {
    const { code, output } = await runCli(dataDir, args);
    const sentence = 'No key has the id AbCdEf12. askwatch keys list shows the ids.\n';
    expect([args, code, output]).toEqual([args, 1, sentence]);
  }
});
