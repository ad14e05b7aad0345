import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runKeys } from '../../src/cli/keys.ts';
import { openKeys } from '../../src/http/keys.ts';
import { requestOf } from '../gateway/usage/books-contract.ts';
import { eventually } from '../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
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
    const [, key = ''] = await runKeys(['create'], { service: 'gateway', name: 'job' }, '0.0.0');
    await eventually(() => running.verify(key)?.name === 'job');
    const id = key.slice(4, 12);
    await runKeys(['limit', id], { 'tokens-per-day': '5' }, '0.0.0');
    await eventually(() => running.verify(key)?.limits?.tokensPerDay === 5);

    const books = store.usage?.({ unixMs: Date.now, steadyMs: () => performance.now() });
    books?.addRequest(requestOf(id, 77));
    await eventually(async () => (await books?.summary({}))?.length === 1);
    const used = await runKeys(['usage', id], {}, '0.0.0');
    expect(used.join('\n')).toMatch(/ job +one +1 .* 77 /);
    expect((await runKeys(['list'], {}, '0.0.0')).join('\n')).toMatch(/ job .* 77/);

    const reader = { service: 'monitoring', name: 'reader' };
    await runKeys(['create'], reader, '0.0.0');
    expect((await runKeys(['list'], {}, '0.0.0')).join('\n')).toMatch(/ reader .* read-only/);

    await runKeys(['revoke', id], {}, '0.0.0');
    await eventually(() => running.verify(key) === undefined);
    await books?.close();
  });
});
