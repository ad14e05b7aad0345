import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { LeaseLostError, StoreUnavailableError } from '../../src/store/errors.ts';
import { openDatabase } from '../../src/store/postgres/database.ts';
import { openPostgresKeyed } from '../../src/store/postgres/keyed.ts';
import { createPendingWork } from '../../src/store/postgres/pending-work.ts';
import { long } from '../helpers/long.ts';
import { startProxy } from '../helpers/postgres/proxy.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { createRandom } from '../helpers/random.ts';
import { seed } from '../helpers/seed.ts';

const items = {
  name: 'items',
  schema: z.object({ count: z.int() }),
  whenCorrupt: 'refuse',
} as const;
const put = (id: string, count: number) => new Map([[id, { count }]]);

describe.skipIf(!hasPostgres)('a keyed map in PostgreSQL', () => {
  test('a write whose answer was lost is stored once, and the next one follows it', async () => {
    const opened = await testDatabase();
    const losing = { text: '' };
    const url = await startProxy(opened.url, { passesNotifications: true, losing });
    const keyed = await (await opened.open({ url, directUrl: opened.url })).keyed(items);
    for (let count = 0; count < (long ? 60 : 12); count += 1) {
      losing.text = 'with head as';
      await keyed.write(put(`n${count}`, count));
      expect(losing.text).toBe('');
    }
    expect((await (await opened.open()).keyed(items)).items()).toEqual(keyed.items());
  });

  test('a write that failed and was stored all the same is undone by the next one', async () => {
    const { url, schema, log, open } = await testDatabase();
    await open();
    const database = openDatabase({ url, schema, log });
    onTestFinished(() => database.close());
    let isLosing = false;
    const losing: typeof database = {
      ...database,
      async again(task) {
        const done = await database.again(task);
        if (isLosing) throw new StoreUnavailableError('the answer is lost');
        return done;
      },
    };
    const options = { database: losing, pending: createPendingWork(), assertOpen() {}, log };
    const keyed = await openPostgresKeyed(items, options);
    await keyed.write(put('a', 1));
    isLosing = true;
    await expect(keyed.write(put('a', 2))).rejects.toThrow('the answer is lost');
    await expect(keyed.write(put('b', 2))).rejects.toThrow('the answer is lost');
    isLosing = false;
    await keyed.write(put('c', 3));
    const stored = (await (await open()).keyed(items)).items();
    expect(stored).toEqual(
      new Map([
        ['a', { count: 1 }],
        ['c', { count: 3 }],
      ]),
    );
    expect(keyed.items()).toEqual(stored);
  });

  test('a process that was followed by another one can write no more', async () => {
    const { open } = await testDatabase();
    const first = await (await open()).keyed(items);
    await first.write(put('a', 1));
    const second = await (await open()).keyed(items);
    await second.write(put('a', 2));
    await expect(first.write(put('a', 3))).rejects.toThrow(LeaseLostError);
    expect((await (await open()).keyed(items)).items().get('a')).toEqual({ count: 2 });
  });

  test('a write of many items is whole or absent when connections end in the middle', async () => {
    const { open, endConnections } = await testDatabase();
    const random = createRandom(seed());
    let keyed = await (await open()).keyed(items);
    const many = (count: number) =>
      new Map(Array.from({ length: 2_500 }, (_, no) => [`n${no}`, { count }]));
    let ended = 0;
    for (let turn = 1; turn <= (long ? 40 : 5); turn += 1) {
      const written = keyed.write(many(turn)).catch(() => {});
      await pause(random() * 300);
      ended += await endConnections('%keyed_%');
      await written;
      keyed = await (await open()).keyed(items);
      expect(new Set([...keyed.items().values()].map(({ count }) => count)).size).toBeLessThan(2);
    }
    expect(ended).toBeGreaterThan(0);
  });
});
