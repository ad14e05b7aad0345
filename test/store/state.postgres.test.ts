import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Incident, Watching } from '../../src/bot/incidents/watch-state.ts';
import { placeKey } from '../../src/bot/shared/place.ts';
import { WATCHING } from '../../src/bot/watch/watch-store.ts';
import { StoreUnavailableError } from '../../src/store/errors.ts';
import { openDatabase } from '../../src/store/postgres/database.ts';
import { createPendingWork } from '../../src/store/postgres/pending-work.ts';
import { openStateInRows } from '../../src/store/postgres/state.ts';
import type { State } from '../../src/store/state.ts';
import {
  change,
  group,
  incident,
  known,
  member,
  NOTHING_WATCHED,
} from '../helpers/bot/watch-changes.ts';
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

async function databaseOf({ url, schema, log, open }: Awaited<ReturnType<typeof testDatabase>>) {
  // Makes the tables.
  await open();
  const database = openDatabase({ url, schema, log });
  onTestFinished(() => database.close());
  return {
    database,
    /** The state as another process would open it now. */
    openState: (on = database) =>
      openStateInRows(WATCHING, {
        database: on,
        pending: createPendingWork(),
        assertOpen() {},
      }),
  };
}

describe.skipIf(!hasPostgres)('a state in PostgreSQL', () => {
  test.each(['updated', 'updated and erased'])(
    'has every update of several processes once when it is %s',
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
      const fresh = async () => (await (await open()).state(WATCHING)).current();
      expect((await fresh())?.shortLooks).toBe(3 * each);
      for (const state of all) {
        await state.update((now) => now && { ...now, shortLooks: now.shortLooks + 1 });
        expect(state.current()).toEqual(await fresh());
      }
    },
  );

  test('has an update once whose answer was lost', async () => {
    const opened = await testDatabase();
    const losing = { text: '' };
    const url = await startProxy(opened.url, { passesNotifications: true, losing });
    const state = await (await opened.open({ url, directUrl: opened.url })).state(WATCHING);
    const { openState } = await databaseOf(opened);
    const texts = Array.from({ length: long ? 60 : 12 }, (_, no) => `note ${no}`);
    for (const [at, text] of texts.entries()) {
      losing.text = at === 0 ? 'into "' : '"state_head" set version';
      await state.update(noting(text));
      expect(losing.text).toBe('');
    }
    const stored = await openState();
    expect(notesIn(stored)).toEqual(texts);
    expect(state.current()).toEqual(stored.current());
  });

  test('is changed as it is stored after an update that failed and was stored all the same', async () => {
    const opened = await testDatabase();
    const { database, openState } = await databaseOf(opened);
    let isLosing = false;
    const state = await openState({
      ...database,
      async again(task) {
        const done = await database.again(task);
        if (isLosing) throw new StoreUnavailableError('the answer is lost');
        return done;
      },
    });
    isLosing = true;
    await expect(state.update(noting('a'))).rejects.toThrow('the answer is lost');
    isLosing = false;
    await state.update((now) => now);
    expect(notesIn(state)).toEqual(['a']);
    await state.update(noting('b'));
    expect(notesIn(await openState())).toEqual(['a', 'b']);
  });

  test('is whole or as it was when connections end in the middle of updates with many items', async () => {
    const opened = await testDatabase();
    const { open, endConnections } = opened;
    const random = createRandom(seed());
    const state = await (await open()).state(WATCHING);
    const { openState } = await databaseOf(opened);
    const many = (at: number) => Array.from({ length: 2_500 }, (_, no) => known(`${at} ${no}`));
    let ended = 0;
    let before = 0;
    for (let turn = 0; turn < (long ? 40 : 5); turn += 1) {
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
      const { shortLooks = 0, known: found = [] } = (await openState()).current() ?? {};
      expect([before, turn + 1]).toContain(shortLooks);
      expect(found).toEqual(shortLooks === 0 ? [] : many(shortLooks));
      before = shortLooks;
    }
    expect(ended).toBeGreaterThan(0);
  });

  test('leaves nothing of what is erased, also of what was removed shortly before', async () => {
    const { open, query } = await testDatabase();
    const state = await (await open()).state(WATCHING);
    const place = placeKey({ platform: 'slack', channel: 'SECRET' });
    const closed = { place, sinceMs: 0, refused: [], tries: 1, triedAtMs: 0, nextTryAtMs: 0 };
    const secret = { ...group('SECRET', [member('SECRET')]), place };
    await state.update(() => ({ ...NOTHING_WATCHED, alerts: [secret], closed: [closed] }));
    await state.update((now) => {
      const { closed: _, ...others } = now ?? NOTHING_WATCHED;
      return others;
    });
    await state.erase((now) => now && { ...now, alerts: [incident('left')] });
    for (const table of ['state_head', 'state_item']) {
      const rows = await query(`select t::text as row from #.${table} t`);
      expect(JSON.stringify(rows)).not.toContain('SECRET');
    }
  });

  test('is read anew by the next update after a restored backup', async () => {
    const { open, query } = await testDatabase();
    const state = await (await open()).state(WATCHING);
    await state.update(() => ({ ...NOTHING_WATCHED, known: [known('a'), known('b')] }));
    await query('update #.state_head set version = 1, revision = gen_random_uuid()');
    await query('delete from #.state_item');
    await state.update((now) => now && { ...now, known: [...now.known, known('c')] });
    expect(state.current()?.known).toEqual([known('c')]);
  });

  test('is refused with what to do when something of it is damaged', async () => {
    const { open, query } = await testDatabase();
    await (await (await open()).state(WATCHING)).update(noting('a'));
    await query(`update #.state_item set step = '{"step":"topic","topic":{}}'`);
    await expect((await open()).state(WATCHING)).rejects.toThrow(/damaged.*backup, or remove/s);
  });
});
