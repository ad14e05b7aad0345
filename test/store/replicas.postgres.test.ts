import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { keyOf } from '../../src/store/claims.ts';
import { NewerSchemaError, StoreUnavailableError } from '../../src/store/errors.ts';
import { sweepClaims } from '../../src/store/postgres/claims.ts';
import { openDatabase } from '../../src/store/postgres/database.ts';
import { keyOf as documentKeyOf } from '../../src/store/postgres/document-changes.ts';
import { type Migrations, migrations } from '../../src/store/postgres/migrations/migrations.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../helpers/eventually.ts';
import { long } from '../helpers/long.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { takenOver } from './store-contract.ts';

const Count = z.object({ count: z.int() });
const counts = { name: 'counts', schema: Count, version: 1, whenCorrupt: 'refuse' } as const;
const jobs = { name: 'jobs', schema: z.object({ no: z.int() }), keptMs: 60_000 };
const lines = { name: 'lines', schema: z.object({ atMs: z.int(), from: z.string() }) };

/** So that a process is thought dead within a test's time. */
const SHORT = { times: { ttlMs: 1_000, beatMs: 200 } };

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

  test('see what the other one has removed and made again as it is, also when both do so at once', async () => {
    const { open } = await testDatabase();
    const [one, other] = [await open(), await open()].map((store) => store.collection(counts));
    await one?.update('a', () => ({ count: 1 }));
    expect(await other?.get('a')).toEqual({ count: 1 });
    await other?.update('a', () => undefined);
    expect(await one?.get('a')).toBeUndefined();
    const made = await Promise.all(
      [one, other].map((each) => each?.update('a', (now) => now ?? { count: 7 })),
    );
    expect(made).toEqual([{ count: 7 }, { count: 7 }]);
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

  test('tell each other of all other changes when one cannot be read', async () => {
    const { open, query } = await testDatabase();
    const [a, b] = [await open(), await open()];
    const writer = a.collection(counts);
    const seen = new Map<string, number | undefined>();
    await b.collection(counts).follow((changed) => {
      for (const { id, document } of changed) seen.set(id, document?.count);
    });
    for (const id of ['a', 'b', 'c']) await writer.update(id, () => ({ count: 1 }));
    await eventually(() => seen.size === 3);
    await query(`update #.document set body = '{"count":"damaged"}', revision = gen_random_uuid(),
      changed_at = clock_timestamp() where id::text = '"b"'`);
    await Promise.all(['a', 'c'].map((id) => writer.update(id, () => undefined)));
    await eventually(() => seen.get('a') === undefined && seen.get('c') === undefined);
    expect(seen.get('b')).toBe(1);
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

  test('tell of all documents at first, however many there are', async () => {
    const { open, query } = await testDatabase();
    const [a, b] = [await open(), await open()];
    await a.collection(counts).update('n0', () => ({ count: 0 }));
    await query(
      `insert into #.document (collection, key, id, version, revision, body)
        select collection, sha256(convert_to(to_json('n' || no)::text, 'UTF8')), to_json('n' || no), version,
          gen_random_uuid(), json_build_object('count', no)
        from #.document, generate_series(1, 1200) no where collection = 'counts'`,
    );
    const memory = new Map<string, number | undefined>();
    await b.collection(counts).follow((changed) => {
      for (const { id, document } of changed) memory.set(id, document?.count);
    });
    expect(memory).toEqual(
      new Map(Array.from(memory.keys(), (id) => [id, Number(id.slice(1))] as const)),
    );
    expect(memory.size).toBe(1201);
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
    // As after a restored backup: nothing tells that it was changed, and of the removed one nothing is left.
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

  test('tell which one is gone of two whose keys begin alike', async () => {
    const { open } = await testDatabase();
    const [writer, reader] = [await open(), await open()].map((store) => store.collection(counts));
    // Found by trying: the first four bytes of their keys are the same.
    const ids = ['n71656', 'n64627'] as const;
    const starts = ids.map((id) => documentKeyOf(id).subarray(0, 4).toString('hex'));
    expect(starts[0]).toBe(starts[1]);
    const gone: string[] = [];
    const following = await reader?.follow((changed) => {
      gone.push(...changed.flatMap(({ id, document }) => (document ? [] : id)));
    });
    for (const wanted of ids) {
      for (const id of [...ids].reverse()) await writer?.update(id, () => ({ count: 1 }));
      await following?.catchUp();
      await writer?.update(wanted, () => undefined);
      await following?.catchUp();
    }
    expect(gone).toEqual(ids);
    for (const id of ids) await writer?.update(id, () => undefined);
    await following?.catchUp();
    expect(gone).toEqual([...ids, ids[0]]);
  });

  test('append to one journal, and both read all of it in order', async () => {
    const { open } = await testDatabase();
    const both = [await open(), await open()].map((store) => store.journal(lines));
    await Promise.all(
      both.flatMap((journal, from) =>
        Array.from({ length: 200 }, (_, atMs) => journal.append({ atMs, from: `${from}` })),
      ),
    );
    for (const journal of both) {
      const all: Array<{ atMs: number; from: string }> = [];
      for await (const record of journal.read()) all.push(record);
      expect(all).toHaveLength(400);
      expect(all.map(({ atMs }) => atMs)).toEqual(
        all.map(({ atMs }) => atMs).sort((a, b) => a - b),
      );
    }
  });

  describe('with registers', () => {
    /** A cache that adds to what is stored, and makes its additions again over what another process has stored. */
    async function counters(store: Store, extra?: unknown) {
      const state = new Map<string, { count: number; pending: number; extra: unknown }>();
      const told: string[] = [];
      const ownOf = (id: string) => {
        const own = state.get(id) ?? { count: 0, pending: 0, extra: undefined };
        state.set(id, own);
        return own;
      };
      const registers = await store.registers({
        name: 'newest',
        schema: Count,
        newest(id) {
          const own = state.get(id);
          if (!own) return undefined;
          const sent = own.pending;
          return {
            value: { count: own.count },
            extra,
            ended(isStored) {
              if (isStored) own.pending -= sent;
            },
          };
        },
        told(id, stored) {
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
        return registers;
      };
      return {
        state,
        told,
        registers,
        add,
        put: (id: string) => add(id).put(id),
        note: (id: string) => add(id).note(id),
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
      await Promise.all(both.map(({ registers }) => registers.idle()));
      await Promise.all(both.map(({ registers }) => registers.catchUp({ notes: true })));
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
      await writer.registers.idle();
      await reader.registers.catchUp({ notes: true });
      expect(reader.state.get('a')?.count).toBe(2);
      await writer.put('a');
      await reader.registers.catchUp();
      expect(reader.state.get('a')?.count).toBe(3);
    });

    test('write what they were told of or have written long ago as it is by now', async () => {
      const { open, query } = await testDatabase();
      const [a, b] = [await counters(await open()), await counters(await open())];
      await a.put('a');
      await b.registers.catchUp();
      await b.put('own');
      const changeLongAgo = async () =>
        await query("update #.register set changed_at = changed_at - interval '1 hour'");
      await changeLongAgo();
      const nowMs = performance.now.bind(performance);
      let laterMs = 0;
      vi.spyOn(performance, 'now').mockImplementation(() => nowMs() + laterMs);
      onTestFinished(() => void vi.restoreAllMocks());
      for (laterMs of [61_000, 122_000]) await b.registers.catchUp();
      b.told.length = 0;
      await Promise.all([b.put('a'), b.put('own'), b.put('new')]);
      // Of others' it keeps no revision, and hears of it again.
      expect(b.told).toEqual(['a']);
      // What it has not written for long it hears of again, too.
      await a.registers.catchUp();
      await changeLongAgo();
      for (laterMs of [301_000 + laterMs, 602_000 + laterMs]) await b.registers.catchUp();
      b.told.length = 0;
      await b.put('own');
      expect(b.told).toEqual(['own']);
      await a.registers.catchUp();
      for (const { state } of [a, b]) {
        expect(['a', 'own', 'new'].map((id) => state.get(id)?.count)).toEqual([2, 3, 1]);
      }
    });

    test('have what stands beside the values read apart, of some things or of all', async () => {
      const { open } = await testDatabase();
      const writer = await counters(await open(), { hours: [1, 2] });
      const store = await open();
      const bare = await counters(store);
      const ids = Array.from({ length: 1_201 }, (_, no) => `n${no}`);
      await Promise.all([...ids.map((id) => writer.put(id)), bare.put('bare')]);
      const late = await counters(await open());
      // At first only the values are told.
      expect(late.state.get('n7')).toMatchObject({ count: 1, extra: undefined });
      const extras = store.extras('newest');
      expect(await extras.of(['n7', 'bare', 'nobody'])).toEqual(
        new Map([['n7', { hours: [1, 2] }]]),
      );
      const all: Array<[string, unknown]> = [];
      for await (const some of extras.all()) all.push(...some);
      expect(all).toHaveLength(ids.length + 1);
      expect(new Map(all)).toEqual(
        new Map<string, unknown>([
          ...ids.map((id) => [id, { hours: [1, 2] }] as const),
          ['bare', undefined],
        ]),
      );
    });

    test('are idle when what was noted until then is written, however much is noted all the time', async () => {
      const { open } = await testDatabase();
      const { state, note, registers } = await counters(await open());
      const reader = await counters(await open());
      let isNoting = true;
      async function noteOn() {
        while (isNoting) {
          note('a');
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      const noting = noteOn();
      for (let turn = 0; turn < 3; turn += 1) {
        const least = state.get('a')?.count ?? 0;
        await registers.idle();
        await reader.registers.catchUp({ notes: true });
        expect(reader.state.get('a')?.count).toBeGreaterThanOrEqual(least);
      }
      isNoting = false;
      await noting;
    });

    test('note nothing in a column that an index holds, so that rows can be changed in place', async () => {
      const { open, query, schema } = await testDatabase();
      const { put, note, registers } = await counters(await open());
      const indexed = await query(
        `select distinct a.attname as name from pg_index i
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
         where i.indrelid = ($1 || '.register')::regclass`,
        [schema],
      );
      const columns = indexed.map(({ name }) => String(name)).join(', ');
      const row = async () => ({
        indexed: await query(`select ${columns} from #.register`),
        written: await query('select value::text, written_at from #.register'),
      });
      await put('a');
      const before = await row();
      note('a');
      await registers.idle();
      const after = await row();
      expect(after.indexed).toEqual(before.indexed);
      expect(after.written).not.toEqual(before.written);
      await put('a');
      expect((await row()).indexed).not.toEqual(before.indexed);
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
      // What was refused stands in memory still, and comes with the next.
      await Promise.all(both.map(({ put }) => put('a')));
      await Promise.all(both.map(({ registers }) => registers.catchUp()));
      const counts = both.map(({ state }) => state.get('a'));
      expect(counts[0]?.count).toBe(counts[1]?.count);
      expect(counts[0]?.count).toBeGreaterThanOrEqual(added + 2);
      expect(added).toBeGreaterThan(20);
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
    expect(first?.fence).toBe(1);
    expect(await other.lease('poller')).toBeUndefined();
    // As when the process stands still: its signs of life stop, and the database forgets it.
    await query(`update #.member set until = clock_timestamp() - interval '1 second'
      where id = (select holder from #.lease where kind = 'poller')`);
    const second = await other.lease('poller');
    expect(second?.fence).toBe(2);
    await eventually(() => first?.signal.aborted === true);
    expect(second?.signal.aborted).toBe(false);
    // It goes on as somebody else, and what it still gives back is not its own any more.
    await first?.release();
    expect(await one.lease('poller')).toBeUndefined();
    await second?.release();
    await eventually(async () => (await one.lease('poller')) !== undefined);
  });

  describe('with claims', () => {
    /** As when the process that does this stands still: the database forgets it. */
    const forgotten = `update #.member set until = clock_timestamp() - interval '1 second'
      where id = (select holder from #.claim limit 1)`;

    test('give each thing to one of them', async () => {
      const { open } = await testDatabase();
      const both = [await open(), await open()].map((store) => store.claims(jobs));
      const ids = Array.from({ length: 40 }, (_, no) => `job ${no}`);
      const given = await Promise.all(
        ids.map((id, no) =>
          Promise.all([...both, ...both].map((claims) => claims.once(id, { no }))),
        ),
      );
      expect(given.map((each) => each.filter(Boolean).length)).toEqual(ids.map(() => 1));
      await Promise.all(ids.map((id) => both[0]?.finish(id)));
      for (const claims of both) expect(await claims.once('job 0', { no: 0 })).toBeUndefined();
    });

    test('go on with all that one did when it left, each thing by one', async () => {
      const { open } = await testDatabase();
      const [left, ...others] = [await open(), await open(), await open()];
      const claims = left.claims(jobs);
      for (let no = 0; no < 150; no += 1) await claims.once(`job ${no}`, { no });
      const rest = others.map((store) => store.claims(jobs));
      expect((await Promise.all(rest.map((each) => each.abandoned()))).flat()).toEqual([]);
      await left.close();
      const taken: number[] = [];
      await eventually(async () => {
        const found = (await Promise.all(rest.map((each) => each.abandoned()))).flat();
        expect(found.every(({ takeovers }) => takeovers === 1)).toBe(true);
        taken.push(...found.map(({ request }) => request.no));
        return taken.length >= 150;
      });
      expect([...taken].sort((a, b) => a - b)).toEqual(Array.from({ length: 150 }, (_, no) => no));
      expect((await Promise.all(rest.map((each) => each.abandoned()))).flat()).toEqual([]);
    });

    test('that one begins while it looks for what others left are not what others left', async () => {
      const { open } = await testDatabase();
      const claims = (await open()).claims(jobs);
      for (let no = 0; no < 100; no += 1) {
        const looking = [claims.abandoned(), claims.abandoned()];
        expect(await claims.once(`job ${no}`, { no })).toBeTruthy();
        expect((await Promise.all(looking)).flat()).toEqual([]);
      }
      const begun = Array.from({ length: 100 }, (_, no) => claims.once(`other ${no}`, { no }));
      await begun[0];
      expect(await claims.abandoned()).toEqual([]);
      expect(await Promise.all(begun)).not.toContain(undefined);
      expect(await claims.abandoned()).toEqual([]);
    });

    test('that come again to one that takes them over are taken over once', async () => {
      const { open, query } = await testDatabase();
      const [dead, living] = [await open(), await open()];
      await dead.claims(jobs).once('job', { no: 1 });
      await dead.close();
      await query(`
        create function #.waits() returns trigger language plpgsql as $$
          begin perform pg_sleep(0.5); return new; end $$;
        create trigger waits before insert on #.claim for each row execute function #.waits()`);
      const claims = living.claims(jobs);
      const repeated = claims.once('job', { no: 2 });
      expect(await claims.abandoned()).toMatchObject([{ request: { no: 1 }, takeovers: 1 }]);
      expect(await repeated).toBeUndefined();
      expect(await claims.abandoned()).toEqual([]);
      expect(await claims.once('job', { no: 3 })).toBeUndefined();
    });

    test('tell one that stood still that another goes on with it, and it goes on as somebody else', async () => {
      const { open, query } = await testDatabase();
      const [one, other] = [await open(), await open()].map((store) => store.claims(jobs));
      await one?.once('a', { no: 1 });
      await one?.once('b', { no: 2 });
      await query(forgotten);
      // It is gone on with as it is, not begun anew.
      expect(await other?.once('b', { no: 3 })).toBeUndefined();
      const [taken, second, ...more] = (await other?.abandoned()) ?? [];
      expect([taken?.request, second?.request, more]).toEqual([{ no: 1 }, { no: 2 }, []]);
      expect([taken?.takeovers, second?.takeovers]).toEqual([1, 1]);
      expect(await one?.finish('a')).toBe(false);
      await one?.giveBack('b');
      expect(await one?.once('b', { no: 4 })).toBeUndefined();
      expect(await one?.once('c', { no: 5 })).toBeTruthy();
      expect(await other?.once('c', { no: 5 })).toBeUndefined();
      expect([await taken?.finish(), await second?.finish()]).toEqual([true, true]);
      // Its own again that another has not come to: nobody else does it.
      expect(await one?.finish('c')).toBe(true);
    });

    test('let one that stood still finish what nobody has taken over', async () => {
      const { open, query } = await testDatabase();
      const claims = (await open()).claims(jobs);
      await claims.once('a', { no: 1 });
      await query(forgotten);
      expect(await claims.finish('a')).toBe(true);
      expect(await claims.once('a', { no: 1 })).toBeUndefined();
    });

    test('sweep what is over: done after its time, and unfinished after a week', async () => {
      const { open, query, url, schema, log } = await testDatabase();
      await open();
      await query(`insert into #.claim (name, key, at, done, until) values
        ('a', 'done', clock_timestamp() - interval '9 days', true, clock_timestamp() + interval '1 minute'),
        ('a', 'done before', clock_timestamp(), true, clock_timestamp() - interval '1 second'),
        ('a', 'open', clock_timestamp() - interval '6 days', false, null),
        ('a', 'left', clock_timestamp() - interval '8 days', false, null)`);
      const database = openDatabase({ url, schema, log });
      onTestFinished(() => database.close());
      await sweepClaims(database);
      const left = await query('select key from #.claim order by key');
      expect(left.map(({ key }) => key)).toEqual(['done', 'open']);
    });

    test('give again what was given or taken over where the answer was lost', async () => {
      const { open, query } = await testDatabase();
      const claims = (await open()).claims(jobs);
      await claims.once('a', { no: 1 });
      // As that statement leaves it.
      await query(`insert into #.claim (name, key, holder, request, takeovers)
        select name, 'of another', holder, '{"no":2}', 1 from #.claim`);
      expect(await takenOver(claims)).toEqual([{ request: { no: 2 }, takeovers: 2 }]);
      expect(await claims.abandoned()).toEqual([]);
      await query(
        `insert into #.claim (name, key, holder, request)
        select name, $1, holder, '{"no":3}' from #.claim limit 1`,
        [keyOf('c')],
      );
      expect(await claims.once('c', { no: 3 })).toBeTruthy();
    });

    test('lose and double nothing when connections end in the middle', async () => {
      const { open, endConnections } = await testDatabase();
      const both = [await open(), await open()].map((store) => store.claims(jobs));
      const ids = Array.from({ length: long ? 600 : 120 }, (_, no) => `job ${no}`);
      let isOver = false;
      const ending = (async () => {
        while (!isOver) {
          await endConnections();
          await pause(30);
        }
      })();
      const done = new Map<string, number>();
      await Promise.all(
        both.flatMap((claims) =>
          ids.map(async (id, no) => {
            await pause(no * 3);
            const isGiven = await claims.once(id, { no }).catch(() => undefined);
            if (isGiven) {
              done.set(id, (done.get(id) ?? 0) + 1);
              await eventually(() => claims.finish(id).catch(() => false));
            }
          }),
        ),
      );
      isOver = true;
      await ending;
      expect([...done.values()].filter((count) => count > 1)).toEqual([]);
      // What both gave up on, whoever asks next does.
      for (const [no, id] of ids.entries()) {
        if (done.has(id)) continue;
        const given = await Promise.all(both.map((claims) => claims.once(id, { no })));
        expect([id, given.filter(Boolean).length]).toEqual([id, 1]);
      }
    });
  });

  describe('with turns', () => {
    const talks = { name: 'talks', maxWaiting: 200 };
    const { signal } = new AbortController();
    /** As when the process that has the first place stands still: the database forgets it. */
    const forgotten = `update #.member set until = clock_timestamp() - interval '1 second'
      where id = (select holder from #.turn order by no limit 1)`;

    test('let one through at a time, in the order in which they came, and nobody be left out', async () => {
      const { open, query } = await testDatabase();
      const all = [await open(), await open(), await open()].map((store) => store.turns(talks));
      const came: number[] = [];
      let inside = 0;
      const first = await all[0]?.take('a', 'first', signal);
      const others: Array<Promise<void>> = [];
      for (let no = 0; no < 30; no += 1) {
        others.push(
          (async () => {
            const turn = await all[no % 3]?.take('a', `n${no}`, signal);
            inside += 1;
            expect(inside).toBe(1);
            came.push(no);
            await pause(1);
            inside -= 1;
            turn?.end();
          })(),
        );
        // Until it has its place.
        await eventually(async () => {
          const [found] = await rowsOf(`n${no}`);
          return found !== undefined;
        });
      }
      first?.end();
      await Promise.all(others);
      expect(came).toEqual(Array.from({ length: 30 }, (_, no) => no));
      async function rowsOf(id: string) {
        return await query('select no from #.turn where id = $1', [id]);
      }
    });

    test('let nobody through beside one who came first and has just found nobody before', async () => {
      const { open, query } = await testDatabase();
      const turns = (await open()).turns(talks);
      await query(`create function #.waits() returns trigger language plpgsql as $$
        begin perform pg_sleep(case new.id when 'second' then 0.3 when 'third' then 0.6 else 0 end); return new; end $$`);
      await query(
        'create trigger slow before insert on #.turn for each row execute function #.waits()',
      );
      const first = await turns.take('a', 'first', signal);
      // It has seen the first, and its place is there only later; by then the first is over.
      const second = turns.take('a', 'second', signal);
      await pause(100);
      first?.end();
      await pause(100);
      let isThird = false;
      const third = turns.take('a', 'third', signal).finally(() => {
        isThird = true;
      });
      const had = await second;
      await pause(1_000);
      expect(isThird).toBe(false);
      had?.end();
      expect(await third).toBeDefined();
    });

    test('keep the place of one that died for whoever goes on with it', async () => {
      const { open, query } = await testDatabase();
      const [one, other] = [await open(), await open()].map((store) => store.turns(talks));
      await one?.take('a', 'begun', signal);
      const later = other?.take('a', 'later', signal);
      let isNext = false;
      void later?.then(() => {
        isNext = true;
      });
      await query(forgotten);
      await pause(1_500);
      expect(isNext).toBe(false);
      const again = await other?.take('a', 'begun', signal);
      again?.end();
      expect(await later).toBeDefined();
    });

    test('go on after one that died and that nobody goes on with', async () => {
      const { open, query } = await testDatabase();
      const [one, other] = [await open(), await open()].map((store) => store.turns(talks));
      const left = await one?.take('a', 'begun', signal);
      await query(forgotten);
      await expect(other?.take('a', 'soon', AbortSignal.timeout(1_500))).rejects.toThrow();
      await query("update #.turn set missed_at = missed_at - interval '1 minute'");
      expect(await other?.take('a', 'later', signal)).toBeDefined();
      // What the dead one ends is its own place alone.
      left?.end();
      await pause(100);
      expect(await other?.isTaken('a')).toBe(true);
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
    // Nobody has to wait for who it was, or counts it among those who live.
    expect(await query('select count(*)::int as count from #.member')).toEqual([{ count: 1 }]);
  });

  test('count as alive while all that they do waits for something in the database', async () => {
    const { open, hold } = await testDatabase();
    const store = await open({ times: { ttlMs: 4_000, beatMs: 300 }, poolSize: 2 });
    const documents = store.collection(counts);
    const write = (count: number) =>
      Promise.all(['a', 'b', 'c', 'd'].map((id) => documents.update(id, () => ({ count }))));
    await write(1);
    const claim = await store.claims(jobs).once('a', { no: 1 });
    const release = await hold('select from #.document for update');
    const writing = write(2);
    // Longer than a process trusts that it is alive without a sign of life.
    await pause(3_500);
    expect([claim?.isHeld(), claim?.signal.aborted]).toEqual([true, false]);
    await release();
    await writing;
  });

  test('hold nothing after they were frozen, also before anything else tells them, and for good', async () => {
    const { open } = await testDatabase();
    const store = await open();
    const lease = await store.lease('poller');
    const claim = await store.claims(jobs).once('a', { no: 1 });
    const isHeld = () => [lease?.isHeld(), claim?.isHeld()];
    expect(isHeld()).toEqual([true, true]);
    // As after SIGCONT: the clocks have gone on, and no timer has fired yet.
    const nowMs = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs() + 6_000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(isHeld()).toEqual([false, false]);
    // As when a sign of life that was under way comes through: whoever was told no has stopped.
    vi.restoreAllMocks();
    expect(isHeld()).toEqual([false, false]);
    expect([lease?.signal.aborted, claim?.signal.aborted]).toEqual([true, true]);
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

  test('count who has held a part, for whoever looks into the table', async () => {
    const { open, query } = await testDatabase();
    const fences: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const store = await open(SHORT);
      const parts = store.leases('checks', 1, { taken() {}, giving() {}, lost() {} });
      await eventually(() => parts.count() === 1);
      const [row] = await query("select fence::int from #.lease where kind = 'checks'");
      fences.push(Number(row?.fence));
      await store.close();
    }
    expect(fences).toEqual([1, 2, 3]);
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
  test('that cannot be reached at the start is told as that', async () => {
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
    // It goes on once nobody ends them any more.
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
