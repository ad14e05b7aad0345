import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { createAuthentication } from '../../src/http/authentication.ts';
import { openKeys } from '../../src/http/keys.ts';
import { eventually } from '../helpers/eventually.ts';
import { runningServer } from '../helpers/http/running-server.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';

const NOBODY = { id: '', name: '', createdAtMs: 0 };

/** Removes a key as another process does, without word of it, and takes its time. */
const REVOKE = `
import pg from 'pg';
const [url, schema, key] = process.argv.slice(1);
const client = new pg.Client({ connectionString: url });
await client.connect();
await client.query(\`update "\${schema}".document set id = null, body = null,
  revision = gen_random_uuid(), changed_at = clock_timestamp()
  where collection = 'monitoring-keys' and id::text = $1\`, [JSON.stringify(key.slice(4, 12))]);
await client.end();
await new Promise((resolve) => setTimeout(resolve, 2_000));
`;

describe.skipIf(!hasPostgres)('keys of two processes on one database', () => {
  test('keys that one process creates, limits or revokes change in the other moments later', async () => {
    const { open } = await testDatabase();
    const here = await openKeys(await open(), 'gateway');
    const there = await openKeys(await open(), 'gateway');
    const { key, id } = await here.create('job', { tokensPerDay: 5 });
    await eventually(() => there.verify(key)?.limits?.tokensPerDay === 5);
    await there.limit(id, { tokensPerDay: 7 });
    await eventually(() => here.verify(key)?.limits?.tokensPerDay === 7);
    expect(there.list()).toEqual(here.list());
    expect(await there.revoke(id)).toBe(true);
    expect(there.verify(key)).toBeUndefined();
    await eventually(() => here.verify(key) === undefined);
    expect([await here.revoke(id), here.list()]).toEqual([false, []]);
  });

  test('a read-only key is read-only in the other process, whatever else changes', async () => {
    const { open } = await testDatabase();
    const here = await openKeys(await open(), 'monitoring');
    const there = await openKeys(await open(), 'monitoring');
    const { key, id } = await here.create('reader', {}, { readOnly: true });
    await eventually(() => there.verify(key)?.readOnly === true);
    await there.limit(id, {});
    expect(there.list()).toMatchObject([{ id, readOnly: true }]);
    expect((await openKeys(await open(), 'monitoring')).verify(key)?.readOnly).toBe(true);
  });

  test('can be limited and revoked before the other has heard of them', async () => {
    const { open } = await testDatabase();
    const here = await openKeys(await open(), 'gateway');
    const there = await openKeys(await open(), 'gateway');
    const [one, two] = [await here.create('one'), await here.create('two')];
    expect(await there.limit(one.id, { tokensPerDay: 1 })).toMatchObject({ name: 'one' });
    expect(await there.revoke(two.id)).toBe(true);
  });

  test('never have the same id, though both draw the same at the same moment', async () => {
    const { open } = await testDatabase();
    const drawing = async (last: string) => {
      const drawn = ['sameSame', 'other000', 'other111'].map((id) => id.padEnd(40, last));
      return await openKeys(await open(), 'gateway', { randomText: () => drawn.shift() ?? '' });
    };
    const [here, there] = [await drawing('x'), await drawing('y')];
    const [one, two] = await Promise.all([here.create('one'), there.create('two')]);
    expect([one.id, two.id].sort()).toEqual(['other000', 'sameSame']);
    await eventually(() => here.verify(two.key)?.name === 'two');
    await eventually(() => there.verify(one.key)?.name === 'one');
  });

  test('are made once at the first start, however many start at the same moment', async () => {
    const { open } = await testDatabase();
    const all = await Promise.all(
      Array.from({ length: 6 }, async () => await openKeys(await open(), 'monitoring')),
    );
    const made = await Promise.all(all.map((keys) => keys.createFirst('first key')));
    const [key = '', ...others] = made.filter((each) => each !== undefined);
    expect(others).toEqual([]);
    for (const keys of all) await eventually(() => keys.verify(key)?.name === 'first key');
    expect(await all[0]?.createFirst('first key')).toBeUndefined();
  });

  test('a process that was frozen asks for revocations before it accepts a key', async () => {
    const { open, url, schema } = await testDatabase();
    const keys = await openKeys(await open(), 'monitoring');
    const { key } = await keys.create('job');
    const { key: other } = await keys.create('other');
    expect(keys.confirm(keys.verify(key) ?? NOBODY)).toBeUndefined();
    // This process does nothing until the other one has ended, as when it is stopped.
    execFileSync(process.execPath, ['--input-type=module', '-e', REVOKE, url, schema, key], {
      cwd: process.cwd(),
    });
    const [taken, kept] = [keys.verify(key), keys.verify(other)];
    expect([taken?.name, kept?.name]).toEqual(['job', 'other']);
    await Promise.all([
      expect(keys.confirm(taken ?? NOBODY)).rejects.toMatchObject({ status: 401 }),
      expect(keys.confirm(kept ?? NOBODY)).resolves.toBeUndefined(),
    ]);
  });

  test('are refused with a 503 by one that cannot know for long, and taken again once it does', async () => {
    const { open, query } = await testDatabase();
    const keys = await openKeys(await open(), 'monitoring', { maxStaleMs: 3_000 });
    const { key } = await keys.create('job');
    const own = keys.createTransient('bot');
    const authenticate = createAuthentication(keys, { acceptApiKeyHeader: true });
    const { ask } = await runningServer(({ server }) => {
      server.get('/who', async (request) => authenticate(request).name);
    });
    const answer = async (presented: string) => {
      const { status, headers, text } = await ask('/who', { headers: { 'x-api-key': presented } });
      return { status, retryAfter: headers.get('retry-after'), text };
    };
    expect(await answer(key)).toMatchObject({ status: 200, text: 'job' });
    await query('alter table #.document rename to hidden');
    await eventually(async () => (await answer(key)).status === 503);
    const refused = await answer(key);
    expect(refused).toMatchObject({ status: 503, retryAfter: '5' });
    expect(refused.text).toContain('Keep the key');
    // A key could have been created in the meantime; a malformed key is refused as always.
    const other = `${key.slice(0, 4)}${[...key.slice(4)].reverse().join('')}`;
    expect((await answer(other)).status).toBe(503);
    expect((await answer('nonsense')).status).toBe(401);
    expect(await answer(own)).toMatchObject({ status: 200, text: 'bot' });
    await query('alter table #.hidden rename to document');
    await eventually(async () => (await answer(key)).status === 200);
    expect((await answer(other)).status).toBe(401);
  });
});
