import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KeyLimits } from '../../src/contracts/key-limits.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../helpers/eventually.ts';
import { eventuallyEquals } from '../helpers/eventually-equals.ts';
import { startGateway } from '../helpers/gateway/running-gateway.ts';
import { startPostgres } from '../helpers/postgres/server.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';

const MODEL = 'small-4k';

/** A gateway of one process, whose built-in engine answers, and what can be asked of it with any key. */
async function startReplica(store: Store) {
  const running = await startGateway({ store });
  const authorization = (key: string) => ({ authorization: `Bearer ${key}` });
  const ask = (key: string, more: object = {}) =>
    running.post(
      { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20, ...more },
      authorization(key),
    );
  async function report(key: string) {
    const answer = await fetch(`${running.url}/v1/usage?days=1`, { headers: authorization(key) });
    return { status: answer.status, body: await answer.json() };
  }
  return { ...running, ask, report };
}

async function startTwo() {
  const database = await testDatabase();
  const [one, two] = [
    await startReplica(await database.open()),
    await startReplica(await database.open()),
  ];
  /** A key of the first that the second knows, too. */
  async function makeKey(limits?: KeyLimits) {
    const { key, id } = await one.keys.create('job', limits);
    await eventually(() => two.keys.verify(key));
    return { key, id };
  }
  return { ...database, one, two, makeKey };
}

/** A key may look at its usage 20 times a minute. */
const SELDOM = { everyMs: 2_500 };

describe.skipIf(!hasPostgres)('two gateways on one database', () => {
  test('let a key make as many requests a minute as it may in all, and tell what is left', async () => {
    const { one, two, makeKey } = await startTwo();
    const { key } = await makeKey({ requestsPerMinute: 7 });
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, at) => (at % 2 ? one : two).ask(key)),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(7);
    expect(statuses.filter((status) => status === 429)).toHaveLength(17);
    for (const { status, headers } of answers) {
      expect(headers.get('x-ratelimit-limit-requests')).toBe('7');
      if (status === 200) continue;
      expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(30);
    }
    for (const { report } of [one, two]) {
      expect((await report(key)).body.remaining).toEqual({ requests_per_minute: 0 });
    }
  });

  test('refuse a key within moments of its revocation in the other', async () => {
    const { one, two, makeKey } = await startTwo();
    const { key, id } = await makeKey();
    expect((await two.ask(key)).status).toBe(200);
    await one.keys.revoke(id);
    expect((await one.ask(key)).status).toBe(401);
    await eventually(async () => (await two.ask(key)).status === 401);
  });

  test('go on when a client leaves while its limits are looked at', async () => {
    const { one, makeKey, url, schema, hold } = await startTwo();
    const { key } = await makeKey({ requestsPerMinute: 5 });
    expect((await one.ask(key)).status).toBe(200);
    const release = await hold('select from #.rate_window for update');
    const leaving = new AbortController();
    const left = fetch(`${one.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
      signal: leaving.signal,
    });
    left.catch(() => {});
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like $1`;
    const monitor = new pg.Client({ connectionString: url });
    await monitor.connect();
    onTestFinished(() => monitor.end());
    await eventually(
      async () => (await monitor.query(waiting, [`%"${schema}"%take_of_window%`])).rowCount,
    );
    leaving.abort();
    await expect(left).rejects.toThrow('abort');
    // Waits until the gateway has noticed.
    await eventually(async () => /requests_under_way 0\n/.test(await metricsOf(one.url)));
    await release();
    expect((await one.ask(key)).status).toBe(200);
    const ends = async () => (await one.report(key)).body.data.map(({ ends }: Ends) => ends);
    await eventuallyEquals(
      ends,
      [
        { complete: 2, client_gone: 0, upstream_error: 0, refused: 0 },
        { complete: 0, client_gone: 1, upstream_error: 0, refused: 0 },
      ],
      SELDOM,
    );
  });
});

interface Ends {
  ends: Record<string, number>;
}

const metricsOf = async (url: string) => (await fetch(`${url}/metrics`)).text();

describe.skipIf(!hasPostgres)('a gateway whose database goes away and comes back', () => {
  test('refuses what needs it with a 503, serves the rest, and stores afterwards what was used meanwhile', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    const { open } = await testDatabase();
    const gateway = await startReplica(await open({ url: server.url }));
    const free = await gateway.keys.create('free');
    const limited = await gateway.keys.create('limited', { requestsPerMinute: 100 });
    const budgeted = await gateway.keys.create('budgeted', { tokensPerDay: 100_000 });
    const own = gateway.keys.createTransient('bot');
    for (const key of [free.key, limited.key, budgeted.key, own]) {
      expect((await gateway.ask(key)).status).toBe(200);
    }
    const requestsOf = (key: string) => async () =>
      (await gateway.report(key)).body.data?.map(({ requests }: { requests: number }) => requests);
    await eventuallyEquals(requestsOf(free.key), [1], SELDOM);

    await server.stop();
    // While it is known which keys count: what needs no database goes on.
    expect((await gateway.ask(free.key)).status).toBe(200);
    for (const { key } of [limited, budgeted]) {
      const { status, headers, text } = await gateway.ask(key);
      expect([status, headers.get('retry-after')]).toEqual([503, '5']);
      expect(JSON.parse(text).error.message).toContain('cannot reach its database');
    }
    expect((await gateway.report(free.key)).status).toBe(503);
    let free200 = 2;
    // After that no stored key is valid; the process's own keys still are.
    await eventually(async () => {
      const { status, text } = await gateway.ask(free.key);
      if (status === 200) free200 += 1;
      else
        expect([status, JSON.parse(text).error.message]).toEqual([
          503,
          expect.stringMatching('Keep the key'),
        ]);
      await pause(200);
      return status !== 200;
    });
    expect((await gateway.ask(own)).status).toBe(200);

    await server.start();
    await eventually(async () => (await gateway.ask(limited.key)).status === 200);
    await eventually(async () => (await gateway.ask(budgeted.key)).status === 200);
    await eventuallyEquals(requestsOf(free.key), [free200], SELDOM);
    await eventuallyEquals(requestsOf(own), [2], SELDOM);
  });
});
