import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Incident, Watching } from '../../src/bot/incidents/watch-state.ts';
import { placeKey } from '../../src/bot/shared/place.ts';
import { WATCHING } from '../../src/bot/watch/watch-store.ts';
import { openDatabase } from '../../src/store/postgres/database.ts';
import { createPendingWork } from '../../src/store/postgres/pending-work.ts';
import { openStateInRows, sweepStates } from '../../src/store/postgres/state.ts';
import type { State } from '../../src/store/state.ts';
import {
  change,
  group,
  incident,
  known,
  member,
  NOTHING_WATCHED,
} from '../helpers/bot/watch-changes.ts';
import { eventually } from '../helpers/eventually.ts';
import { long } from '../helpers/long.ts';
import { startProxy } from '../helpers/postgres/proxy.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { createRandom } from '../helpers/random.ts';
import { seed } from '../helpers/seed.ts';

/** Adds a text to the notes of the only incident: done twice, it is there twice. */
const noting = (text: string) => (now: Watching | undefined) => {
  const [alert = incident('a')] = (now?.alerts ?? []) as Incident[];
  const notes = [...(alert.notes ?? []), { by: 'x', text, atMs: 0 }];
  return { ...(now ?? NOTHING_WATCHED), alerts: [{ ...alert, notes }] };
};

const notesIn = (state: State<Watching>) =>
  ((state.current()?.alerts ?? []) as Incident[]).flatMap(({ notes = [] }) =>
    notes.map(({ text }) => text),
  );

/** Changes nothing, of the newest there is. */
const catchUp = (state: State<Watching>) => state.update((now) => now);

async function databaseOf({ url, schema, log, open }: Awaited<ReturnType<typeof testDatabase>>) {
  // Makes the tables.
  await open();
  const database = openDatabase({ url, schema, log });
  onTestFinished(() => database.close());
  return {
    database,
    /** A state that hears nothing of others until it is changed. */
    deaf: () =>
      openStateInRows(WATCHING, {
        database,
        news: { follow: () => ({ stop() {} }), announce() {}, wake() {}, async close() {} },
        pending: createPendingWork(),
        assertOpen() {},
        log,
      }),
  };
}

describe.skipIf(!hasPostgres)('a state that several processes change', () => {
  test.each(['updated', 'updated and erased'])(
    'has every update of each once, and is the same for all of them in the end, when it is %s',
    async (how) => {
      const { open } = await testDatabase();
      const all = await Promise.all(
        [1, 2, 3].map(async () => await (await open()).state(WATCHING)),
      );
      const each = long ? 300 : 40;
      await Promise.all(
        all.map(async (state, no) => {
          for (const [at, make] of fc
            .sample(change, { numRuns: each, seed: seed() + no })
            .entries()) {
            const write = how !== 'updated' && at % 10 === 9 ? state.erase : state.update;
            await write((now = NOTHING_WATCHED) => ({
              ...make(now),
              shortLooks: now.shortLooks + 1,
            }));
          }
        }),
      );
      const fresh = await (await open()).state(WATCHING);
      expect(fresh.current()?.shortLooks).toBe(3 * each);
      for (const state of all) {
        await catchUp(state);
        expect(state.current()).toEqual(fresh.current());
      }
    },
  );

  test('is heard of by the others without asking, who keep what did not change as the same objects', async () => {
    const { open } = await testDatabase();
    const [writer, reader] = [
      await (await open()).state(WATCHING),
      await (await open()).state(WATCHING),
    ];
    let heard = 0;
    const following = reader.follow(() => {
      heard += 1;
    });
    await writer.update(() => ({
      ...NOTHING_WATCHED,
      alerts: [incident('a'), group('g', [member('m'), member('n')]), incident('b')],
    }));
    await eventually(() => reader.current()?.alerts.length === 3);
    const before = reader.current()?.alerts ?? [];
    await writer.update(
      (now) =>
        now && {
          ...now,
          alerts: now.alerts.map((one) => (one.id === 'b' ? { ...one, version: 2 } : one)),
        },
    );
    await eventually(() => reader.current()?.alerts[2]?.version === 2);
    expect(heard).toBe(2);
    expect(
      reader
        .current()
        ?.alerts.slice(0, 2)
        .map((one, at) => one === before[at]),
    ).toEqual([true, true]);
    expect(Object.isFrozen(reader.current()?.alerts[2]?.deliveries)).toBe(true);
    following.stop();
    await reader.update((now) => now && { ...now, shortLooks: 1 });
    await catchUp(writer);
    expect(writer.current()?.shortLooks).toBe(1);
    expect(heard).toBe(2);
  });

  test('refuses what the newest state does not allow, whatever was known before', async () => {
    const opened = await testDatabase();
    const { deaf } = await databaseOf(opened);
    const [one, other] = [await deaf(), await deaf()];
    await one.update(noting('first'));
    const press = (state: State<Watching>) =>
      state.update((now) => {
        if (now === undefined) throw new Error('there is none');
        return now;
      });
    await press(other);
    await one.update((now) => now && { ...now, alerts: [] });
    let seen: unknown;
    await other.update((now) => {
      seen = now?.alerts;
      return now;
    });
    expect(seen).toEqual([]);
  });

  test('has an update once of which the answer was lost, also when another process writes before it is asked again', async () => {
    const opened = await testDatabase();
    const losing = { text: '' };
    const url = await startProxy(opened.url, { passesNotifications: true, losing });
    const [a, b] = [
      await (await opened.open({ url, directUrl: opened.url })).state(WATCHING),
      await (await opened.open()).state(WATCHING),
    ];
    const texts = Array.from({ length: long ? 60 : 12 }, (_, no) => `note ${no}`);
    for (const [at, text] of texts.entries()) {
      losing.text = at === 0 ? 'into "' : '"state_head" set version';
      const written = a.update(noting(text));
      await eventually(() => losing.text === '');
      // The first try waits some moments before the second.
      if (at % 2 === 1) await b.update(noting(`${text} of another`));
      await written;
      await Promise.all([catchUp(a), catchUp(b)]);
      expect(notesIn(b).filter((one) => one === text)).toEqual([text]);
      expect(a.current()).toEqual(b.current());
    }
  });

  test('is whole or as it was when connections end in the middle of updates with many items', async () => {
    const opened = await testDatabase();
    const { open, endConnections } = opened;
    const random = createRandom(seed());
    const state = await (await open()).state(WATCHING);
    const other = await (await open()).state(WATCHING);
    const many = (at: number) => Array.from({ length: 2_500 }, (_, no) => known(`${at} ${no}`));
    let ended = 0;
    for (let turn = 0; turn < (long ? 40 : 5); turn += 1) {
      const before = other.current()?.shortLooks ?? 0;
      const written = state
        .update((now) => ({
          ...(now ?? NOTHING_WATCHED),
          shortLooks: turn + 1,
          known: many(turn + 1),
        }))
        .catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, random() * 300));
      ended += await endConnections('%state_%');
      await written;
      await eventually(() =>
        catchUp(other).then(
          () => true,
          () => false,
        ),
      );
      const { shortLooks = 0, known: found = [] } = other.current() ?? {};
      expect([before, turn + 1]).toContain(shortLooks);
      expect(found).toEqual(shortLooks === 0 ? [] : many(shortLooks));
    }
    expect(ended).toBeGreaterThan(0);
  });

  test('leaves nothing of what is erased, also of what was removed shortly before, and all hear of it', async () => {
    const opened = await testDatabase();
    const { open, query } = opened;
    const { deaf } = await databaseOf(opened);
    const [writer, reader, behind] = [
      await (await open()).state(WATCHING),
      await (await open()).state(WATCHING),
      await deaf(),
    ];
    const place = placeKey({ platform: 'slack', channel: 'SECRET' });
    const closed = { place, sinceMs: 0, refused: [], tries: 1, triedAtMs: 0, nextTryAtMs: 0 };
    const secret = { ...group('SECRET', [member('SECRET')]), place };
    await writer.update(() => ({ ...NOTHING_WATCHED, alerts: [secret], closed: [closed] }));
    await eventually(() => reader.current()?.alerts.length === 1);
    await catchUp(behind);
    await writer.update((now) => {
      const { closed: _, ...others } = now ?? NOTHING_WATCHED;
      return others;
    });
    await writer.erase((now) => now && { ...now, alerts: [incident('left')] });
    for (const table of ['state_head', 'state_item']) {
      const rows = await query(`select t::text as row from #.${table} t`);
      expect(JSON.stringify(rows)).not.toContain('SECRET');
    }
    await eventually(() => reader.current()?.alerts[0]?.id === 'left');
    await catchUp(behind);
    for (const state of [reader, behind]) expect(state.current()).toEqual(writer.current());
  });

  test('is read whole by one that is further behind than removals are kept, and after a restored backup', async () => {
    const opened = await testDatabase();
    const { query } = opened;
    const { database, deaf } = await databaseOf(opened);
    const [writer, behind] = [await deaf(), await deaf()];
    await writer.update(() => ({ ...NOTHING_WATCHED, known: [known('a'), known('b')] }));
    await catchUp(behind);
    await writer.update((now) => now && { ...now, known: [known('b')] });
    await sweepStates(database);
    expect(await query('select 1 from #.state_item where gone_at is not null')).toHaveLength(1);
    await query("update #.state_item set gone_at = gone_at - interval '1 hour'");
    await sweepStates(database);
    expect(await query('select 1 from #.state_item where gone_at is not null')).toEqual([]);
    await catchUp(behind);
    expect(behind.current()?.known).toEqual([known('b')]);

    await query(`update #.state_head set version = 1, revision = gen_random_uuid()`);
    await query('delete from #.state_item');
    await catchUp(behind);
    expect(behind.current()?.known).toEqual([]);
    await writer.update((now) => now && { ...now, known: [...now.known, known('c')] });
    expect(writer.current()?.known).toEqual([known('c')]);
  });

  test('is refused with what to do when something of it is damaged', async () => {
    const { open, query } = await testDatabase();
    await (await (await open()).state(WATCHING)).update(noting('a'));
    await query(`update #.state_item set step = '{"step":"topic","topic":{}}'`);
    await expect((await open()).state(WATCHING)).rejects.toThrow(/damaged.*backup, or remove/s);
  });
});
