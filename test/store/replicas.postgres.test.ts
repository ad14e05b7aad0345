import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { LeaseLostError, NewerSchemaError, StoreUnavailableError } from '../../src/store/errors.ts';
import { type Migrations, migrations } from '../../src/store/postgres/migrations/migrations.ts';
import type { Lease, Store } from '../../src/store/store.ts';
import { eventually } from '../helpers/eventually.ts';
import { long } from '../helpers/long.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';

const Count = z.object({ count: z.int() });
const counts = { name: 'counts', schema: Count, version: 1, whenCorrupt: 'refuse' } as const;
const jobs = { name: 'jobs', schema: z.object({ no: z.int() }), keptMs: 60_000 };
const items = { name: 'items', schema: Count, whenCorrupt: 'refuse' } as const;
const lines = { name: 'lines', schema: z.object({ atMs: z.int(), from: z.string() }) };

/** Short enough for a test to see a process die. */
const SHORT = { times: { ttlMs: 1_000, beatMs: 200 } };

function under(store: Store, lease: Lease | undefined): Store {
  if (!lease) throw new Error('there is no lease');
  return store.under(lease);
}

describe.skipIf(!hasPostgres)('two processes on one database', () => {
  test('lose no update of a document that both change', async () => {
    const { open } = await testDatabase();
    const both = [await open(), await open()].map((store) => store.collection(counts));
    const each = long ? 500 : 60;
    const results = await Promise.all(
      both.flatMap((collection) =>
        Array.from({ length: each }, async () => {
          const made = await collection.update('a', (now) => ({ count: (now?.count ?? 0) + 1 }));
          return made?.count ?? Number.NaN;
        }),
      ),
    );
    expect([...results].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 2 * each }, (_, index) => index + 1),
    );
    expect(await both[0]?.get('a')).toEqual({ count: 2 * each });
  });

  test('tell each other of every change, in the end as it is stored', async () => {
    const { open } = await testDatabase();
    const [a, b] = [await open(), await open()];
    const [writer, reader] = [a.collection(counts), b.collection(counts)];
    await writer.update('before', () => ({ count: 1 }));
    const memory = new Map<string, number>();
    await reader.follow((changed) => {
      for (const { id, document } of changed) {
        if (document) memory.set(id, document.count);
        else memory.delete(id);
      }
    });
    expect(memory).toEqual(new Map([['before', 1]]));
    const ids = Array.from({ length: 30 }, (_, index) => `n${index}`);
    await Promise.all(ids.map((id, count) => writer.update(id, () => ({ count }))));
    await Promise.all(ids.slice(0, 10).map((id) => writer.update(id, () => undefined)));
    await Promise.all(ids.slice(5, 8).map((id) => writer.update(id, () => ({ count: 100 }))));
    const stored = new Map((await writer.list()).map(({ id, document }) => [id, document.count]));
    await eventually(() => isSame(memory, stored));
    expect(memory.size).toBe(24);
  });

  test('tell each other of changes also when word of them does not come through, as behind a pooler', async () => {
    const { open, schema, query, endConnections } = await testDatabase();
    const a = await open();
    const b = await open();
    const listens = `listen "askwatch_${schema}"`;
    await eventually(async () => {
      const found = await query(`select 1 from pg_stat_activity where query = '${listens}'`);
      return found.length === 2;
    });
    expect(await endConnections(listens)).toBe(2);
    const reader = b.collection(counts);
    let seen = 0;
    await reader.follow((changed) => {
      seen = changed.at(-1)?.document?.count ?? seen;
    });
    await a.collection(counts).update('a', () => ({ count: 5 }));
    await eventually(() => seen === 5);
  });

  test('never tell what is older than what this process has written meanwhile', async () => {
    const { open, query } = await testDatabase();
    const store = await open();
    const documents = store.collection(counts);
    const ids = Array.from({ length: 3_000 }, (_, no) => `n${no}`);
    await documents.update('n0', () => ({ count: 1 }));
    await query(
      `insert into #.document (collection, key, id, version, revision, body)
        select collection, sha256(convert_to(to_json('n' || no)::text, 'UTF8')), to_json('n' || no), version,
          gen_random_uuid(), '{"count":1}'
        from #.document, generate_series(1, ${ids.length - 1}) no where collection = 'counts'`,
    );
    const memory = new Map<string, number | undefined>();
    let writing: Promise<unknown> | undefined;
    async function writeEvery(step: number, first: number) {
      for (let at = first; at < ids.length; at += step)
        await documents.update(ids[at] ?? '', () => ({ count: 2 }));
    }
    await documents.follow((changed) => {
      // While the rest is still being read; of all at once the last would wait too long for a connection.
      writing ??= Promise.all(Array.from({ length: 100 }, (_, first) => writeEvery(100, first)));
      for (const { id, document } of changed) memory.set(id, document?.count);
    });
    await writing;
    expect(memory).toEqual(new Map(ids.map((id) => [id, 2])));
  });

  test('go through all again when they have not looked for long', async () => {
    const { open, query } = await testDatabase();
    const [writer, reader] = [await open(), await open()];
    const documents = writer.collection(counts);
    await Promise.all(
      ['kept', 'changed', 'gone'].map((id) => documents.update(id, () => ({ count: 1 }))),
    );
    const told: string[] = [];
    const memory = new Map<string, number | undefined>();
    const following = await reader.collection(counts).follow((changed) => {
      for (const { id, document } of changed) {
        told.push(id);
        memory.set(id, document?.count);
      }
    });
    await following.catchUp();
    // Like after a restored backup: no timestamp shows the change, and no row is left of the deleted document.
    const restored = `update #.document set body = '{"count":9}', revision = gen_random_uuid(),
      changed_at = changed_at - interval '1 hour' where id::text = '"changed"'`;
    await query(restored);
    await query(`delete from #.document where id::text = '"gone"'`);
    told.length = 0;
    await following.catchUp();
    expect(told).toEqual([]);
    const nowMs = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs() + 301_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await following.catchUp();
    expect(memory).toEqual(
      new Map([
        ['kept', 1],
        ['changed', 9],
        ['gone', undefined],
      ]),
    );
  });

  describe('with shared values', () => {
    /** A cache that adds to what is stored, and makes its additions again over what another process has stored. */
    async function counters(store: Store, extra?: unknown) {
      const state = new Map<string, { count: number; pending: number; extra: unknown }>();
      const told: string[] = [];
      const ownOf = (id: string) => {
        const own = state.get(id) ?? { count: 0, pending: 0, extra: undefined };
        state.set(id, own);
        return own;
      };
      const values = await store.sharedValues({
        name: 'newest',
        schema: Count,
        current(id) {
          const own = state.get(id);
          if (!own) return undefined;
          const sent = own.pending;
          return {
            value: { count: own.count },
            extra,
            onEnd(isStored) {
              if (isStored) own.pending -= sent;
            },
          };
        },
        onStored(id, stored) {
          told.push(id);
          const own = ownOf(id);
          own.count = stored.value.count + own.pending;
          own.extra = stored.extra;
        },
      });
      const add = (id: string) => {
        const own = ownOf(id);
        own.count += 1;
        own.pending += 1;
        return values;
      };
      return {
        state,
        told,
        values,
        add,
        put: (id: string) => add(id).save(id),
        note: (id: string) => add(id).saveLater(id),
      };
    }

    test('lose nothing of what both write at once, put or noted', async () => {
      const { open } = await testDatabase();
      const both = [await counters(await open()), await counters(await open())];
      const ids = ['a', 'b', 'c'];
      const each = long ? 200 : 40;
      await Promise.all(
        both.map(async ({ put, note }) => {
          for (let turn = 0; turn < each; turn += 1) {
            const id = ids[turn % ids.length] ?? '';
            if (turn % 5 === 4) note(id);
            else await put(id);
          }
        }),
      );
      await Promise.all(both.map(({ values }) => values.idle()));
      await Promise.all(both.map(({ values }) => values.catchUp({ notes: true })));
      for (const { state } of both) {
        expect(sum([...state.values()].map(({ count }) => count))).toBe(2 * each);
        expect([...state.values()].map(({ pending }) => pending)).toEqual([0, 0, 0]);
      }
    });

    test('hear of each other what was put without asking, and of notes when they catch up', async () => {
      const { open } = await testDatabase();
      const writer = await counters(await open(), { hours: [1, 2] });
      const reader = await counters(await open());
      await writer.put('a');
      await eventually(() => reader.state.get('a')?.count === 1);
      expect(reader.state.get('a')?.extra).toEqual({ hours: [1, 2] });
      writer.note('a');
      await writer.values.idle();
      await reader.values.catchUp({ notes: true });
      expect(reader.state.get('a')?.count).toBe(2);
      await writer.put('a');
      await reader.values.catchUp();
      expect(reader.state.get('a')?.count).toBe(3);
    });

    test('lose nothing acknowledged when connections end in the middle', async () => {
      const { open, endConnections } = await testDatabase();
      const both = [await counters(await open()), await counters(await open())];
      let acknowledged = 0;
      let isOver = false;
      const working = both.map(async ({ put }) => {
        while (!isOver) {
          await put('a').then(
            () => {
              acknowledged += 1;
            },
            (error: unknown) => expect(error).toBeInstanceOf(StoreUnavailableError),
          );
        }
      });
      let ended = 0;
      for (let kill = 0; kill < (long ? 40 : 6); kill += 1) {
        await pause(40);
        ended += await endConnections();
      }
      expect(ended).toBeGreaterThan(0);
      isOver = true;
      await Promise.all(working);
      const added = acknowledged;
      // Refused changes are still in memory, and are written with the next one.
      await Promise.all(both.map(({ put }) => put('a')));
      await Promise.all(both.map(({ values }) => values.catchUp()));
      const counts = both.map(({ state }) => state.get('a'));
      expect(counts[0]?.count).toBe(counts[1]?.count);
      expect(counts[0]?.count).toBeGreaterThanOrEqual(added + 2);
      expect(added).toBeGreaterThan(5);
    });
  });

  test('share one key of secrets, made by whoever needs it first', async () => {
    const { open } = await testDatabase();
    const stores = await Promise.all([open(), open(), open()]);
    const keys = await Promise.all(stores.map((store) => store.key.make()));
    expect(new Set(keys).size).toBe(1);
    expect(await stores[0]?.key.read()).toEqual({ key: keys[0] });
  });

  test('hold a lease one at a time, and the next one has it soon after the first is dead', async () => {
    const { open, query } = await testDatabase();
    const [one, other] = [await open(SHORT), await open(SHORT)];
    const first = await one.lease('poller');
    expect(await other.lease('poller')).toBeUndefined();
    // Like a frozen process: its heartbeats stop, and the database forgets it.
    await query(`update #.member set until = clock_timestamp() - interval '1 second'
      where id = (select holder from #.lease where kind = 'poller')`);
    const second = await other.lease('poller');
    expect(second?.fence).toBeGreaterThan(first?.fence ?? Number.NaN);
    await eventually(() => first?.signal.aborted === true);
    expect(second?.signal.aborted).toBe(false);
    // It continues under another id, and its release changes nothing any more.
    await first?.release();
    expect(await one.lease('poller')).toBeUndefined();
    await second?.release();
    await eventually(async () => (await one.lease('poller')) !== undefined);
  });

  describe('under a lease', () => {
    test('go on with all that one stored that was killed, and are told what it left', async () => {
      const { open, query } = await testDatabase();
      const [killed, next] = [await open(), await open()];
      const lease = await killed.lease('bot');
      const first = under(killed, lease);
      const claims = first.claims(jobs);
      for (let no = 0; no < 5; no += 1) await claims.claim(`job ${no}`, { no });
      await claims.finish('job 2');
      const keyed = await first.keyed(items);
      await keyed.write(new Map([['a', { count: 0 }]]));
      await query(`update #.member set until = clock_timestamp() - interval '1 second'
        where id = (select holder from #.lease where kind = 'bot')`);
      const second = under(next, await next.lease('bot'));
      const left = second.claims(jobs);
      expect(await left.unfinished()).toEqual([0, 1, 3, 4].map((no) => ({ no })));
      expect(await left.claim('job 0', { no: 0 })).toBe(false);
      await left.finish('job 0');
      const taken = await second.keyed(items);
      await taken.write(new Map([['a', { count: 1 }]]));

      // The killed one was only frozen.
      await eventually(() =>
        keyed.write(new Map([['a', { count: 2 }]])).then(
          () => false,
          (error: unknown) => error instanceof LeaseLostError,
        ),
      );
      await eventually(() => lease?.isHeld() === false);
      await expect(claims.finish('job 1')).rejects.toThrow(LeaseLostError);
      expect(taken.items().get('a')).toEqual({ count: 1 });
    });

    test('write nothing after they were frozen, also before anything else tells them', async () => {
      const { open } = await testDatabase();
      const store = await open();
      const own = under(store, await store.lease('bot'));
      const keyed = await own.keyed(items);
      await keyed.write(new Map([['a', { count: 0 }]]));
      const [collection, claims] = [own.collection(counts), own.claims(jobs)];
      // The state right after SIGCONT: the clocks have advanced, and no timer has fired yet.
      const nowMs = performance.now.bind(performance);
      vi.spyOn(performance, 'now').mockImplementation(() => nowMs() + 6_000);
      onTestFinished(() => void vi.restoreAllMocks());
      const outcomes = await Promise.allSettled([
        keyed.write(new Map([['a', { count: 1 }]])),
        collection.update('a', () => ({ count: 1 })),
        claims.claim('a', { no: 1 }),
      ]);
      vi.restoreAllMocks();
      expect(keyed.items().get('a')).toEqual({ count: 0 });
      expect(await collection.get('a')).toBeUndefined();
      expect(outcomes).toMatchObject(outcomes.map(() => ({ reason: expect.any(LeaseLostError) })));
    });

    test('send nothing that waited for a connection until the lease was lost', async () => {
      const { open, hold, query } = await testDatabase();
      const store = await open({ ...SHORT, poolSize: 1 });
      const own = under(store, await store.lease('bot'));
      const [collection, journal] = [own.collection(counts), own.journal(lines)];
      const release = await hold('lock table #.document');
      const blocked = collection.get('a');
      const appended = journal.append({ atMs: 1, from: 'late' });
      void appended.catch(() => {});
      await query(`update #.member set until = clock_timestamp() - interval '1 second'`);
      await pause(500);
      await release();
      await blocked;
      await expect(appended).rejects.toThrow(LeaseLostError);
      expect(await query('select 1 from #.record')).toEqual([]);
    });
  });

  test('trust that they are alive for less time than the database does', async () => {
    const { open, query } = await testDatabase();
    const store = await open({ times: { ttlMs: 2_000, beatMs: 100 } });
    const lease = await store.lease('poller');
    const [holder] = await query("select holder from #.lease where kind = 'poller'");
    // No sign of life gets through from here on, and what came through before counts.
    await query('alter table #.member rename to hidden');
    await eventually(() => lease?.signal.aborted === true);
    const [left] = await query(
      'select until > clock_timestamp() as lives from #.hidden where id = $1',
      [holder?.holder],
    );
    expect(left?.lives).toBe(true);
    await query('alter table #.hidden rename to member');
    await eventually(async () => (await store.lease('another')) !== undefined);
    // The old id has no row any more, so nobody waits for it.
    expect(await query('select count(*)::int as count from #.member')).toEqual([{ count: 1 }]);
  });

  test('count as alive while all that they do waits for something in the database', async () => {
    const { open, hold } = await testDatabase();
    const store = await open({ times: { ttlMs: 4_000, beatMs: 300 }, poolSize: 2 });
    const documents = store.collection(counts);
    const write = (count: number) =>
      Promise.all(['a', 'b', 'c', 'd'].map((id) => documents.update(id, () => ({ count }))));
    await write(1);
    const lease = await store.lease('poller');
    const release = await hold('select from #.document for update');
    const writing = write(2);
    // Longer than a process trusts that it is alive without a sign of life.
    await pause(3_500);
    expect([lease?.isHeld(), lease?.signal.aborted]).toEqual([true, false]);
    await release();
    await writing;
  });

  test('hold nothing after they were frozen, also before anything else tells them, and for good', async () => {
    const { open } = await testDatabase();
    const store = await open();
    const lease = await store.lease('poller');
    expect(lease?.isHeld()).toBe(true);
    // The state right after SIGCONT: the clocks have advanced, and no timer has fired yet.
    const nowMs = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs() + 6_000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(lease?.isHeld()).toBe(false);
    // Like a heartbeat under way that succeeds: the answer no was final.
    vi.restoreAllMocks();
    expect([lease?.isHeld(), lease?.signal.aborted]).toEqual([false, true]);
  });

  test('share the parts of a whole evenly, never hold one both, and take over those of one that left', async () => {
    const { open } = await testDatabase();
    const count = 64;
    const owners = new Map<number, string>();
    const doubled: string[] = [];
    const join = async (name: string) => {
      const store = await open(SHORT);
      const parts = store.leases('checks', count, {
        taken(taken: readonly number[]) {
          for (const no of taken) {
            const owner = owners.get(no);
            if (owner !== undefined) doubled.push(`${no} of ${owner} to ${name}`);
            owners.set(no, name);
          }
        },
        giving(given) {
          for (const no of given) owners.delete(no);
        },
        lost: (no) => void owners.delete(no),
      });
      return { store, parts };
    };
    const first = await join('first');
    await eventually(() => first.parts.count() === count);
    const second = await join('second');
    const third = await join('third');
    const all = [first, second, third].map(({ parts }) => parts);
    const counts = () => all.map((parts) => parts.count());
    await eventually(() => Math.max(...counts()) <= 22 && sum(counts()) === count);
    await second.store.close();
    await eventually(() => sum([first.parts.count(), third.parts.count()]) === count);
    expect(first.parts.count()).toBe(32);
    expect(doubled).toEqual([]);
    expect(owners.size).toBe(count);
  });
});

describe.skipIf(!hasPostgres)('the schema', () => {
  const planted = (name: string): Migrations => ({
    ...migrations,
    [name]: { up: async () => {} },
  });

  test('is made once when many start at the same moment', async () => {
    const { open, query } = await testDatabase();
    await Promise.all(Array.from({ length: 6 }, () => open()));
    expect(await query('select name from #.migration')).toHaveLength(
      Object.keys(migrations).length,
    );
  });

  test('may be expanded by a newer program while an older one goes on, and starts', async () => {
    const { open } = await testDatabase();
    const older = await open();
    await open({ migrations: planted('9000-expand') });
    await older.check();
    await (await open()).check();
  });

  test('is contracted only when no older program lives; one that starts later is told so, and changes nothing', async () => {
    const { open, query } = await testDatabase();
    const names = async () => (await query('select name from #.migration')).map(({ name }) => name);
    const older = await open();
    const newer = { migrations: planted('9001-contract') };
    const waiting = await open(newer);
    expect(await names()).not.toContain('9001-contract');
    await older.check();
    await Promise.all([older.close(), waiting.close()]);
    await open(newer);
    expect(await names()).toContain('9001-contract');
    await expect(open()).rejects.toThrow(NewerSchemaError);
  });

  test('needs no right to make schemas where somebody has made it for the user', async () => {
    const { open, query, schema, url } = await testDatabase();
    const own = new URL(url);
    own.username = `${schema}_user`;
    own.password = 'a-password';
    await query(`create role ${own.username} login password '${own.password}'`);
    onTestFinished(async () => {
      await query(`drop owned by ${own.username} cascade`);
      await query(`drop role ${own.username}`);
    });
    await expect(open({ url: own.href })).rejects.toMatchObject({ code: '42501' });
    await query(`create schema # authorization ${own.username}`);
    const store = await open({ url: own.href });
    await store.check();
    await store.close();
  });

  test('makes an older program that was thought dead not ready where it was contracted meanwhile, and does not end it', async () => {
    const { open, query } = await testDatabase();
    const older = await open();
    await query(`insert into #.migration values ('9001-contract', '2026-11-20')`);
    await expect(older.check()).rejects.toThrow(NewerSchemaError);
    expect(await older.collection(counts).get('a')).toBeUndefined();
  });
});

describe.skipIf(!hasPostgres)('a database that goes away', () => {
  test('a start without a database rejects with StoreUnavailableError', async () => {
    const { open } = await testDatabase();
    const refused = open({ url: 'postgres://postgres@127.0.0.1:9/none' });
    await expect(refused).rejects.toThrow(StoreUnavailableError);
  });

  test('ends connections in the middle of everything, and nothing acknowledged is lost or done twice', async () => {
    const { open, endConnections } = await testDatabase();
    const stores = [await open({ poolSize: 4 }), await open({ poolSize: 4 })];
    const collections = stores.map((store) => store.collection(counts));
    const journals = stores.map((store) => store.journal(lines));
    let acknowledged = 0;
    let unknown = 0;
    const appended = new Set<string>();
    let isOver = false;
    const working = collections.map(async (collection, from) => {
      for (let turn = 0; !isOver; turn += 1) {
        const text = `${from}-${turn}`;
        try {
          await collection.update('a', (now) => ({ count: (now?.count ?? 0) + 1 }));
          acknowledged += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(StoreUnavailableError);
          unknown += 1;
        }
        await journals[from]?.append({ atMs: turn, from: text }).then(
          () => appended.add(text),
          (error: unknown) => expect(error).toBeInstanceOf(StoreUnavailableError),
        );
      }
    });
    let ended = 0;
    for (let kill = 0; kill < (long ? 40 : 6); kill += 1) {
      await pause(40);
      ended += await endConnections();
    }
    expect(ended).toBeGreaterThan(0);
    // Writes succeed again once no connection is ended.
    await eventually(() => acknowledged > 20);
    isOver = true;
    await Promise.all(working);
    const { count = 0 } = (await collections[0]?.get('a')) ?? {};
    expect(count).toBeGreaterThanOrEqual(acknowledged);
    expect(count).toBeLessThanOrEqual(acknowledged + unknown);
    const found: string[] = [];
    for await (const { from } of journals[0]?.read() ?? []) found.push(from);
    expect(new Set(found).size).toBe(found.length);
    expect([...appended].filter((text) => !found.includes(text))).toEqual([]);
  });
});

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

function isSame<K, V>(a: ReadonlyMap<K, V>, b: ReadonlyMap<K, V>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}
