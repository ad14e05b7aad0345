import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openKeys } from '../../src/http/keys.ts';
import { requestOf } from '../gateway/usage/books-contract.ts';
import { eventually } from '../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { runCommand } from '../helpers/run-command.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

describe.skipIf(!hasPostgres)('npx askwatch keys, where state is in a database', () => {
  test('makes, lists, limits and revokes keys that a running process takes, and shows what was used', async () => {
    const { open, url, schema } = await testDatabase();
    vi.stubEnv('DATABASE_URL', url);
    vi.stubEnv('DATABASE_SCHEMA', schema);
    vi.stubEnv('DATA_DIR', await temporaryFolder());
    onTestFinished(() => void vi.unstubAllEnvs());
    const store = await open();
    const running = await openKeys(store, 'gateway');
    const keys = async (...words: string[]) => (await runCommand('keys', ...words)).out;
    const create = (service: string, name: string) =>
      keys('create', '--service', service, '--name', name, '--quiet');
    const key = (await create('gateway', 'job')).trim();
    await eventually(() => running.verify(key)?.name === 'job');
    const id = key.slice(4, 12);
    await keys('limit', id, '--tokens-per-day', '5');
    await eventually(() => running.verify(key)?.limits?.tokensPerDay === 5);

    const books = store.usage?.({ unixMs: Date.now, steadyMs: () => performance.now() });
    books?.addRequest(requestOf(id, 77));
    await eventually(async () => (await books?.summary({}))?.length === 1);
    expect(await keys('usage', id)).toMatch(/ job +one +1 .* 77 /);
    expect(await keys('list')).toMatch(/ job .* 77/);

    await create('monitoring', 'reader');
    expect(await keys('list')).toMatch(/ reader .* read-only/);

    await keys('revoke', id);
    await eventually(() => running.verify(key) === undefined);
    await books?.close();
  });
});
