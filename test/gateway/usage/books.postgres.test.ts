import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import type { UsageBooks } from '../../../src/store/usage.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { long } from '../../helpers/long.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';
import { startChild } from '../../store/children/start-child.ts';
import { describeBooks, requestOf } from './books-contract.ts';

const CLOCKS = { unixMs: Date.now, steadyMs: () => performance.now() };

/** Short enough for a test to see a process die. */
const SHORT = { times: { ttlMs: 1_000, beatMs: 200 } };

const today = () => new Date().toISOString().slice(0, 10);

function booksOf(store: Store): UsageBooks {
  if (!store.usage) throw new Error('This engine has no books of its own.');
  const books = store.usage(CLOCKS);
  onTestFinished(() => books.close());
  return books;
}

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  describeBooks('tables', async () => {
    const { open } = await testDatabase();
    let store = await open();
    const books = booksOf(store);
    return {
      books,
      async reopen() {
        await books.close();
        await store.close();
        store = await open();
        return booksOf(store);
      },
    };
  });
});

/** A connection on which the answer to a statement with some text can be lost. */
async function lossyWay(url: string) {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  let word: string | undefined;
  let lost = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port || 5432), hostname);
    let isDoomed = false;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (word !== undefined && chunk.includes(word)) isDoomed = true;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!isDoomed) return void client.write(chunk);
      lost += 1;
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  const way = new URL(url);
  way.hostname = '127.0.0.1';
  way.port = String(typeof address === 'object' ? address?.port : '');
  return {
    url: way.href,
    loseAnswersTo: (text: string | undefined) => {
      word = text;
    },
    lost: () => lost,
  };
}

describe.skipIf(!hasPostgres)('a budget that several processes share', () => {
  test('is never exceeded however they race, and given out as far as what is asked for fits', async () => {
    const { open } = await testDatabase();
    const all = await Promise.all(Array.from({ length: 4 }, async () => booksOf(await open())));
    const limit = long ? 20_000 : 3_000;
    const limits = { tokensPerDay: limit, tokensPerMinute: 1_000_000 };
    const random = createRandom(seed());
    let used = 0;
    let refused = 0;
    const asking = async (books: UsageBooks) => {
      while (refused < 40) {
        const need = 1 + Math.floor(random() * 40);
        const { hold } = await books.reserve('key', need, limits);
        if (!hold) {
          refused += 1;
          await pause(5);
          continue;
        }
        await pause(random() * 10);
        // Most requests use all reserved tokens.
        const tokens = random() < 0.7 ? need : Math.floor(random() * need);
        used += tokens;
        books.addRequest(requestOf('key', tokens), hold);
      }
    };
    await Promise.all(all.flatMap((books) => [asking(books), asking(books), asking(books)]));
    expect(used).toBeLessThanOrEqual(limit);
    for (const books of all) {
      // One that used nothing may be the last to give back what was set aside for it.
      await eventually(async () => {
        const { day, reserved } = await books.spending('key');
        return day === used && reserved === 0;
      });
      expect(await books.spending('key')).toMatchObject({ month: used });
    }
    // Fewer tokens remain than the last request wants.
    expect((await all[0]?.reserve('key', limit - used, limits))?.hold?.tokens).toBe(limit - used);
    expect((await all[1]?.reserve('key', 1, limits))?.hold).toBeUndefined();
  });

  test('gets back what was set aside in a process that is killed', async () => {
    const { open, url, schema } = await testDatabase();
    const books = booksOf(await open(SHORT));
    const child = startChild('reserve-tokens.mjs', [url, schema]);
    await child.line((line) => line === 'reserved 80');
    expect(await books.spending('key')).toMatchObject({ reserved: 80, day: 0 });
    expect((await books.reserve('key', 30, { tokensPerDay: 100 })).hold).toBeUndefined();
    child.kill('SIGKILL');
    await child.exit;
    await eventually(
      async () => (await books.reserve('key', 100, { tokensPerDay: 100 })).hold !== undefined,
    );
  });

  test('keeps what is set aside for requests that outlive the process as it was known', async () => {
    const { open, query } = await testDatabase();
    const [one, other] = [booksOf(await open(SHORT)), booksOf(await open(SHORT))];
    const { hold } = await one.reserve('key', 80, { tokensPerDay: 100 });
    // Like a database that was away for longer than a process counts as alive.
    const [before] = await query('select member from #.budget_hold');
    await query(
      `update #.member set until = clock_timestamp() - interval '1 second' where id = $1`,
      [before?.member],
    );
    expect(await other.spending('key')).toMatchObject({ reserved: 0 });
    await eventuallyEquals(async () => (await other.spending('key')).reserved, 80);
    one.addRequest(requestOf('key', 10), hold);
    await eventuallyEquals(async () => (await other.spending('key')).reserved, 0);
  });

  test('begins anew with a day and with a month, and is made of the sums where it is not there', async () => {
    const { open, query } = await testDatabase();
    const books = booksOf(await open());
    const spent = async () => {
      const { day, month, minute } = await books.spending('key');
      return [day, month, minute.used(performance.now())];
    };
    books.addRequest(requestOf('key', 7));
    await eventuallyEquals(spent, [7, 7, 7]);
    await query('delete from #.budget');
    expect(await spent()).toEqual([7, 7, 0]);
    books.addRequest(requestOf('key', 1));
    await eventuallyEquals(spent, [8, 8, 1]);
    // The first of a month is a new day of a new month.
    const isFirst = today().endsWith('-01');
    await query('update #.budget set day = day - 1');
    expect(await spent()).toEqual([0, isFirst ? 0 : 8, 1]);
    await query('update #.budget set day = day - 40');
    expect(await spent()).toEqual([0, 0, 1]);
  });

  test('is not touched by a process that does not count as alive, which says that it can be tried again', async () => {
    const { open, query } = await testDatabase();
    const books = booksOf(await open({ times: { ttlMs: 60_000, beatMs: 50_000 } }));
    await query('delete from #.member');
    await expect(books.reserve('key', 1, { tokensPerDay: 10 })).rejects.toThrow('alive');
    expect(await query('select from #.budget_hold')).toEqual([]);
  });

  test('loses nothing to a reservation whose answer was lost', async () => {
    const { open, url } = await testDatabase();
    const way = await lossyWay(url);
    const books = booksOf(await open({ url: way.url, directUrl: url }));
    const limits = { tokensPerDay: 100 };
    way.loseAnswersTo('reserve_tokens');
    await expect(books.reserve('key', 60, limits)).rejects.toThrow('is not available');
    expect(way.lost()).toBeGreaterThan(1);
    way.loseAnswersTo(undefined);
    await eventually(async () => (await books.reserve('key', 100, limits)).hold !== undefined);
  });
});

describe.skipIf(!hasPostgres)('usage that several processes count', () => {
  const sums = async (books: UsageBooks) =>
    (await books.summary({})).map(
      ({ keyId, requests, promptTokens }) => `${keyId} ${requests} ${promptTokens}`,
    );

  test('is counted once though the answer to its storing was lost, again and again', async () => {
    const { open, url } = await testDatabase();
    const way = await lossyWay(url);
    const books = booksOf(await open({ url: way.url, directUrl: url }));
    books.addRequest(requestOf('key', 1));
    await eventuallyEquals(() => sums(books), ['key 1 1']);
    way.loseAnswersTo('store_usage');
    for (let turn = 0; turn < 5; turn += 1) books.addRequest(requestOf('key', 1));
    await eventually(() => way.lost() > 4);
    // These wait with stored ones, and are sent with them again.
    for (let turn = 0; turn < 7; turn += 1) books.addRequest(requestOf('key', 1));
    way.loseAnswersTo(undefined);
    await eventuallyEquals(() => sums(books), ['key 13 13']);
    await eventually(() => books.waiting() === 0);
    expect(await sums(books)).toEqual(['key 13 13']);
    expect((await books.spending('key')).day).toBe(13);
  });

  test('is the same in all of them, and exact, though all connections were ended in the middle', async () => {
    const { open, endConnections } = await testDatabase();
    const all = [booksOf(await open({ poolSize: 4 })), booksOf(await open({ poolSize: 4 }))];
    const entered = new Map<string, [requests: number, tokens: number]>();
    let isOver = false;
    const entering = all.map(async (books, process) => {
      for (let turn = 0; !isOver; turn += 1) {
        for (const keyId of ['shared', `own${process}`]) {
          const [requests, tokens] = entered.get(keyId) ?? [0, 0];
          entered.set(keyId, [requests + 1, tokens + turn]);
          books.addRequest(requestOf(keyId, turn));
        }
        await pause(3);
      }
    });
    let ended = 0;
    for (let kill = 0; kill < (long ? 60 : 10); kill += 1) {
      await pause(110);
      ended += await endConnections();
    }
    expect(ended).toBeGreaterThan(0);
    isOver = true;
    await Promise.all(entering);
    const wanted = [...entered].map(([key, [requests, tokens]]) => `${key} ${requests} ${tokens}`);
    for (const books of all) {
      await eventuallyEquals(() => sums(books), wanted.sort());
      expect((await books.spending('shared')).day).toBe(entered.get('shared')?.[1]);
    }
  });

  test('waits in memory while the database is away, and is stored afterwards with what it was set aside for', async () => {
    const { open, query, lines } = await testDatabase();
    const books = booksOf(await open());
    const { hold } = await books.reserve('key', 50, { tokensPerDay: 100 });
    await query(`create function #.refuse() returns trigger language plpgsql as
      $$ begin raise exception 'shut' using errcode = '57P03'; end $$`);
    await query(`create trigger refuse before insert on #.usage_batch
      for each row execute function #.refuse()`);
    books.addRequest(requestOf('key', 20), hold);
    await eventually(() =>
      lines.some(({ msg }) => /could not store usage records; they are kept/.test(`${msg}`)),
    );
    expect(books.waiting()).toBe(1);
    expect(await books.spending('key')).toMatchObject({ day: 0, reserved: 50 });
    await query('drop trigger refuse on #.usage_batch');
    await eventuallyEquals(() => sums(books), ['key 1 20']);
    expect(await books.spending('key')).toMatchObject({ day: 20, reserved: 0 });
  });

  test('deletes sums that are older than they are kept, and ids of old batches', async () => {
    const { open, query } = await testDatabase();
    const books = booksOf(await open());
    for (const days of [0, 40, 399, 440]) {
      const atMs = Date.now() - days * 86_400_000;
      books.addRequest(requestOf(`d${days}`, 1, { atMs }));
    }
    await eventually(async () => (await query('select from #.usage_day')).length === 4);
    await query("update #.usage_batch set stored_at = stored_at - interval '3 days'");
    await books.tidy();
    expect(await query('select from #.usage_batch')).toEqual([]);
    const days = await query('select "keyId" from #.usage_day order by day');
    expect(days.map(({ keyId }) => keyId)).toEqual(['d399', 'd40', 'd0']);
  });
});
