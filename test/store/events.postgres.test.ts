import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../helpers/eventually.ts';
import { long } from '../helpers/long.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { hearing } from './store-contract.ts';

const Said = z.object({ text: z.string() });
const said = { name: 'said', schema: Said };

/** A way to the database on which one answer can be lost, after what it is about was done. */
async function startLosingProxy(database: string) {
  const { hostname, port } = new URL(database);
  let toLose = '';
  let lost = 0;
  const server = createServer((client) => {
    const inner = connect(Number(port), hostname);
    for (const socket of [client, inner]) socket.on('error', () => {});
    client.on('close', () => inner.destroy());
    inner.on('close', () => client.destroy());
    let isLosing = false;
    client.on('data', (data) => {
      if (toLose !== '' && data.includes(toLose)) {
        toLose = '';
        isLosing = true;
      }
      inner.write(data);
    });
    inner.on('data', (data) => {
      if (!isLosing) return void client.write(data);
      // Ready for the next statement: this one is done.
      if (!data.subarray(-6).equals(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]))) return;
      lost += 1;
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = new URL(database);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    loseAnswerTo(text: string) {
      toLose = text;
    },
    lost: () => lost,
  };
}

async function follower(store: Store) {
  const log = store.events(said);
  const heard = hearing<z.infer<typeof Said>>();
  return { log, heard, following: await log.follow(heard) };
}

describe.skipIf(!hasPostgres)('events of several processes', () => {
  test('are told to all of them in one order, each once, and each process keeps its own order', async () => {
    const { open } = await testDatabase();
    const stores = await Promise.all([open(), open(), open()]);
    const all = await Promise.all(stores.map(follower));
    const each = long ? 2_000 : 150;
    await Promise.all(
      all.map(async ({ log }, from) => {
        for (let turn = 0; turn < each; turn += 1) {
          log.append({ text: `${from} ${turn}` });
          if (turn % 5 === 0) await pause(1);
        }
      }),
    );
    for (const { heard } of all) await eventually(() => heard.events.length >= 3 * each);
    const [first = []] = all.map(({ heard }) => heard.texts());
    for (const { heard } of all) {
      expect(heard.texts()).toEqual(first);
      expect(heard.missed.all).toEqual([]);
      const numbers = heard.events.map(({ number }) => number);
      expect(numbers).toEqual(Array.from({ length: 3 * each }, (_, index) => index + 1));
    }
    for (const from of [0, 1, 2]) {
      const own = first.filter((text) => text.startsWith(`${from} `));
      expect(own).toEqual(Array.from({ length: each }, (_, turn) => `${from} ${turn}`));
      const heard = all[from]?.heard.events.filter(({ isOwn }) => isOwn) ?? [];
      expect(heard.map(({ event }) => event.text)).toEqual(own);
    }
  });

  test('are told to who begins later, from those that are kept, under the same id', async () => {
    const { open, query } = await testDatabase();
    const first = await follower(await open());
    for (const text of ['a', 'b', 'c']) void first.log.append({ text });
    await eventually(() => first.heard.events.length === 3);
    await query(`update #.event set at = at - interval '11 minutes' where number = 1`);
    await query(`delete from #.event where at < clock_timestamp() - interval '10 minutes'`);
    const later = await follower(await open());
    expect(later.heard.texts()).toEqual(['b', 'c']);
    expect(later.heard.missed.all).toEqual([]);
    expect(later.following).toMatchObject({ id: first.following.id, lastNumber: 3 });
  });

  test('that were removed before somebody was told of them are told as missed', async () => {
    const { open, query } = await testDatabase();
    const { heard, log } = await follower(await open());
    void log.append({ text: 'a' });
    await eventually(() => heard.events.length === 1);
    // As when a process stood still while others appended, and it was all swept.
    await query('update #.event_head set number = 7');
    await eventually(() => heard.missed.all.length === 1);
    expect(heard.missed.all).toEqual([7]);
    void log.append({ text: 'b' });
    await eventually(() => heard.events.length === 2);
    expect(heard.events[1]).toMatchObject({ number: 8, event: { text: 'b' } });
  });

  test('that cannot be read, such as those of another version, are told as missed', async () => {
    const { open } = await testDatabase();
    const { heard, log } = await follower(await open());
    const other = (await open()).events({ name: 'said', schema: z.object({ words: z.string() }) });
    void log.append({ text: 'a' });
    await eventually(() => heard.events.length === 1);
    void other.append({ words: 'b' });
    await eventually(() => heard.missed.all.length === 1);
    void log.append({ text: 'c' });
    await eventually(() => heard.events.length === 2);
    expect([heard.texts(), heard.missed.all]).toEqual([['a', 'c'], [2]]);
  });

  test('wait while the database ends their connections, and none is lost, doubled or out of order', async () => {
    const { open, endConnections } = await testDatabase();
    const all = await Promise.all([open(), open()].map(async (store) => follower(await store)));
    let isOver = false;
    let appended = 0;
    const appending = (async () => {
      while (!isOver) {
        for (const [from, { log }] of all.entries()) log.append({ text: `${from} ${appended}` });
        appended += 1;
        await pause(2);
      }
    })();
    let ended = 0;
    for (let kill = 0; kill < (long ? 40 : 6); kill += 1) {
      await pause(40);
      ended += await endConnections();
    }
    expect(ended).toBeGreaterThan(0);
    isOver = true;
    await appending;
    for (const { heard } of all) {
      await eventually(() => heard.events.length >= 2 * appended);
      expect(heard.missed.all).toEqual([]);
      for (const from of [0, 1]) {
        expect(heard.texts().filter((text) => text.startsWith(`${from} `))).toEqual(
          Array.from({ length: appended }, (_, turn) => `${from} ${turn}`),
        );
      }
    }
  });

  test('are appended once when the answer that they were appended is lost', async () => {
    const { open, url } = await testDatabase();
    const { heard } = await follower(await open());
    const proxy = await startLosingProxy(url);
    const log = (await open({ url: proxy.url, directUrl: url })).events(said);
    void log.append({ text: 'a' });
    await eventually(() => heard.events.length === 1);
    proxy.loseAnswerTo('insert into');
    void log.append({ text: 'b' });
    void log.append({ text: 'c' });
    await eventually(() => proxy.lost() === 1);
    void log.append({ text: 'd' });
    await eventually(() => heard.texts().includes('d'));
    expect(heard.texts()).toEqual(['a', 'b', 'c', 'd']);
    expect(heard.missed.all).toEqual([]);
  });

  test('count as appended once whoever follows will be told, or that some were missed', async () => {
    const { open, hold } = await testDatabase();
    const { heard, log } = await follower(await open());
    await log.append({ text: 'a' });
    await eventually(() => heard.events.length === 1);
    const release = await hold('select from #.event_head for update');
    const appended: string[] = [];
    const append = async (text: string) => {
      await log.append({ text });
      appended.push(text);
    };
    const first = append('b');
    await pause(100);
    // Appended while the first is on its way, they are sent after it.
    const later = Array.from({ length: 250 }, (_, no) => append(String(no)));
    await pause(200);
    expect(appended).toEqual([]);
    await release();
    await first;
    await Promise.all(later);
    expect(appended).toHaveLength(251);
    const again = await follower(await open());
    expect(again.heard.texts()).toEqual(['a', 'b', ...later.map((_, no) => String(no))]);
    await Promise.all(Array.from({ length: 2_010 }, () => log.append({ text: 'x' })));
    await eventually(() => again.heard.missed.all.length === 1);
  });

  test('are left out when they are not to be told any more by the time that their turn comes', async () => {
    const { open, hold } = await testDatabase();
    const { heard, log } = await follower(await open());
    let isStill = true;
    const asLongAs = () => isStill;
    await log.append({ text: 'a' }, asLongAs);
    const release = await hold('select from #.event_head for update');
    // The first is on its way.
    const appended = [log.append({ text: 'b' })];
    await pause(100);
    for (const text of ['c', 'd']) appended.push(log.append({ text }, asLongAs));
    appended.push(log.append({ text: 'e' }));
    isStill = false;
    await release();
    await Promise.all(appended);
    await log.append({ text: 'f' }, asLongAs);
    await log.append({ text: 'g' });
    await eventually(() => heard.texts().at(-1) === 'g');
    expect(heard.texts()).toEqual(['a', 'b', 'e', 'g']);
    expect(heard.missed.all).toEqual([]);
  });

  test('of which more wait than there is room for are told as missed, to all', async () => {
    const { open, query } = await testDatabase();
    const all = await Promise.all([open(), open()].map(async (store) => follower(await store)));
    const [first, second] = all;
    first?.log.append({ text: 'before' });
    await eventually(() => second?.heard.events.length === 1);
    for (let count = 0; count < 2_001; count += 1) first?.log.append({ text: 'x' });
    first?.log.append({ text: 'after' });
    for (const { heard } of all) {
      await eventually(() => heard.texts().at(-1) === 'after');
      expect(heard.texts()).toEqual(['before', 'after']);
      expect(heard.missed.all).toEqual([2]);
    }
    expect(await query('select count(*)::int as count from #.event')).toEqual([{ count: 3 }]);
  });

  test('are not readable in the database', async () => {
    const { open, query } = await testDatabase();
    const [one, other] = await Promise.all([open(), open()]);
    const { heard } = await follower(other);
    await one.events(said).append({ text: 'swordfish' });
    await eventually(() => heard.texts().at(-1) === 'swordfish');
    const rows = await query('select event::text as row from #.event event');
    expect(rows).toHaveLength(1);
    expect(String(rows[0]?.row)).not.toContain('swordfish');
  });

  test('are appended before the store is closed', async () => {
    const { open } = await testDatabase();
    const [one, other] = await Promise.all([open(), open()]);
    const { heard } = await follower(other);
    const log = one.events(said);
    const words = Array.from({ length: 1_500 }, (_, index) => String(index));
    for (const text of words) log.append({ text });
    await one.close();
    await eventually(() => heard.events.length === words.length);
    expect(heard.texts()).toEqual(words);
  });
});
