import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openJournalBooks } from '../../src/gateway/usage/journal-books.ts';
import { openResultsJournal } from '../../src/monitoring/history/results-journal.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { long } from '../helpers/long.ts';
import { ownServer } from '../helpers/postgres/own-server.ts';
import { query } from '../helpers/postgres/server.ts';
import { createRandom } from '../helpers/random.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { seed } from '../helpers/seed.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const KILLS = long ? 80 : 4;
const COLLECTIONS = ['cards', 'notes', 'words'];
const JOURNALS = ['lines', 'results'];
const COUNT = 400;
const NOON = Date.UTC(2026, 10, 20, 12);
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const IDS = Array.from({ length: 50 }, (_, no) => `mon_${no}`);

type FolderOrTables = Store | PostgresStore;

const server = await ownServer();
const random = createRandom(seed());
const { log } = recordingLog();

const collectionsOf = (store: Store) =>
  COLLECTIONS.map((name) =>
    store.collection({
      name,
      schema: z.object({ text: z.string() }),
      version: 1,
      whenCorrupt: 'refuse',
    }),
  );
const journalsOf = (store: Store) =>
  JOURNALS.map((name) => store.journal({ name, schema: z.object({ atMs: z.int(), no: z.int() }) }));

async function fill(store: FolderOrTables): Promise<void> {
  for (const [index, collection] of collectionsOf(store).entries()) {
    await Promise.all(
      Array.from({ length: COUNT }, (_, no) =>
        collection.update(`id ${no}`, () => ({ text: `${index} ${no} `.repeat(20) })),
      ),
    );
  }
  for (const journal of journalsOf(store)) {
    await Promise.all(
      Array.from({ length: 10 * COUNT }, (_, no) =>
        // Ten records a millisecond, over two days.
        journal.append({ atMs: NOON + Math.floor(no / 10) + (no % 2) * DAY_MS, no }),
      ),
    );
  }
  await fillTables(store);
  await store.key.make();
  await store.close();
}

/** Fills everything that has tables of its own on PostgreSQL and journals in the folder. */
async function fillTables(store: FolderOrTables): Promise<void> {
  const states = await statesOf(store);
  for (const id of IDS) {
    states.values.set(id, { state: { no: IDS.indexOf(id) } });
    await states.shared.save(id);
  }
  await states.shared.idle();
  const entries = IDS.flatMap((monitor, no) =>
    Array.from({ length: 40 }, (_, check) => ({
      ...{ monitor, atMs: NOON + check * 10 * MINUTE_MS + no, kind: 17, took: check },
      ...{ everyMs: MINUTE_MS, reason: check % 2 ? undefined : 'slow' },
    })),
  );
  if ('series' in store) {
    await store.series.append(entries.map((entry) => ({ ...entry, slotMs: entry.atMs })));
  } else await openResultsJournal(store, 'run').append(entries);
  let nowMs = 0;
  const books = await booksOf(store, () => nowMs);
  for (const days of [2, 1, 0]) {
    nowMs = NOON - days * DAY_MS;
    for (let no = 0; no < 500; no += 1) {
      books.addRequest(
        {
          ...{ atMs: nowMs + no, keyId: `key ${no % 5}`, model: 'one', provider: 'openai' },
          ...{ promptTokens: no, completionTokens: 1, estimated: false },
          ...{ latencyMs: 1, end: 'complete' },
        },
        undefined,
      );
    }
  }
  await books.close();
}

async function statesOf(store: Store) {
  const values = new Map<string, { state: { no: number } }>();
  const shared = await store.sharedValues({
    name: 'monitor-states',
    schema: z.object({ state: z.object({ no: z.int() }) }),
    current(id) {
      const value = values.get(id);
      return value && { value, onEnd() {} };
    },
    onStored: (id, { value }) => void values.set(id, value),
  });
  return { shared, values };
}

const booksOf = async (store: Store, unixMs: () => number) => {
  const clocks = { unixMs, steadyMs: () => performance.now() };
  return store.usage?.(clocks) ?? (await openJournalBooks({ store, clocks, log }));
};

async function tablesOf(store: FolderOrTables) {
  const { values } = await statesOf(store);
  const results = [];
  if ('series' in store) {
    const ranges = IDS.map((monitor) => ({ monitor, fromMs: 0, toMs: Number.POSITIVE_INFINITY }));
    for (const { slotMs: _, ...row } of await store.series.between(ranges)) results.push(row);
  } else {
    const range = { fromMs: NOON - DAY_MS, toMs: NOON + DAY_MS, ownToo: true };
    for await (const entries of openResultsJournal(store, 'other').read(range)) {
      results.push(...entries);
    }
  }
  const books = await booksOf(store, Date.now);
  const usage = await books.summary({ fromDay: '2026-11-01', toDay: '2026-11-30' });
  await books.close();
  const inOrder = (all: object[]) => all.map((one) => JSON.stringify(one)).sort();
  return { states: inOrder([...values]), results: inOrder(results), usage };
}

async function contentOf(store: FolderOrTables) {
  const documents = [];
  for (const collection of collectionsOf(store)) {
    documents.push((await collection.list()).sort((a, b) => (a.id < b.id ? -1 : 1)));
  }
  const records: unknown[] = [];
  for (const journal of journalsOf(store))
    for await (const one of journal.read()) records.push(one);
  const key = await store.key.read();
  const tables = await tablesOf(store);
  await store.close();
  return { documents, records, key, tables };
}

/** Runs the command as a person does, until it ends or is killed. */
function run(env: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, [CLI, 'move-state', ...args], {
    cwd: env.HOME_FOLDER,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let endBegin = () => {};
  /** It has opened both sides, or has ended. */
  const begun = new Promise<void>((resolve) => {
    endBegin = resolve;
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
      if (/^To /m.test(output)) endBegin();
    });
  }
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.on('close', (code) => {
      endBegin();
      resolve({ code, output });
    });
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { begun, ended, kill: () => child.kill('SIGKILL') };
}

/** Time from the opening of both sides to the end of the last run that wasn't killed. */
let copyMs = 300;

/** Runs the command until it ends well, or with `isKilled` kills it at a random moment of the copy at the latest. */
async function runOrKill(env: Record<string, string>, isKilled: boolean, ...args: string[]) {
  const mover = run(env, ...args);
  await mover.begun;
  const begunAtMs = performance.now();
  const limitMs = isKilled ? 1.3 * copyMs * random() : 600_000;
  const ended = await Promise.race([mover.ended, pause(limitMs, undefined, { ref: false })]);
  if (ended) {
    expect(ended.code, ended.output).toBe(0);
    copyMs = performance.now() - begunAtMs;
  } else mover.kill();
  return { wasKilled: !ended, code: (await mover.ended).code };
}

let schemas = 0;

async function place() {
  const home = await temporaryFolder();
  const url = server?.url ?? '';
  schemas += 1;
  const schema = `kill_${schemas}`;
  const env = {
    HOME_FOLDER: home,
    DATA_DIR: join(home, 'data'),
    DATABASE_URL: url,
    DATABASE_SCHEMA: schema,
  };
  return {
    home,
    env,
    openFolder: () => openLowdbStore({ folder: env.DATA_DIR, log }),
    openTables: () => openPostgresStore({ url, schema, version: '0', log }),
    /** Marks of both sides, and the number of documents in the database. */
    async marks() {
      const [there] = await query(url, 'select to_regclass($1) is not null as there', [
        `${schema}.document`,
      ]);
      const rows = there?.there
        ? await query(url, `select body from ${schema}.document where collection = 'state-mark'`)
        : [];
      const body = rows[0]?.body as { state: string } | undefined;
      const count = there?.there
        ? (await query(url, `select 1 from ${schema}.document limit 1`)).length
        : 0;
      return { folder: existsSync(join(env.DATA_DIR, 'moved.json')), tables: body?.state, count };
    },
    /** Skips the seconds for which a killed process counts as alive. */
    async forgetTheDead() {
      await query(url, `update ${schema}.member set until = '-infinity'`).catch(() => {});
    },
  };
}

describe.skipIf(!server)('npx askwatch move-state, killed again and again', () => {
  test('goes on where it was, to PostgreSQL, and at no moment may a program use both sides or half of one', async () => {
    const original = await place();
    await fill(await original.openFolder());
    const content = await contentOf(await original.openFolder());
    expect(content.tables.states).toHaveLength(IDS.length);
    expect(content.tables.results).toHaveLength(40 * IDS.length);
    expect(content.tables.usage).toHaveLength(3 * 5);
    let inTheMiddle = 0;

    for (let kills = 0; kills < KILLS || inTheMiddle === 0; ) {
      const one = await place();
      await cp(original.env.DATA_DIR, one.env.DATA_DIR, { recursive: true });
      for (let code: number | null = null; code !== 0; ) {
        const end = await runOrKill(one.env, kills < KILLS || inTheMiddle === 0);
        if (end.wasKilled) kills += 1;
        code = end.code;
        const { folder, tables, count } = await one.marks();
        // While the folder is usable, the database isn't, or holds nothing yet.
        if (!folder) expect(tables ?? (count === 0 && 'empty')).toMatch(/copying|empty/);
        if (tables === 'copying') inTheMiddle += 1;
        await one.forgetTheDead();
      }
      expect(await one.marks()).toMatchObject({ folder: true, tables: undefined });
      expect(await contentOf(await one.openTables())).toEqual(content);
      await expect(one.openFolder()).rejects.toThrow('was moved to PostgreSQL');
      expect(await run(one.env, '--check').ended).toMatchObject({ code: 0 });
    }
  });

  test('goes on where it was, back to a data folder', async () => {
    const original = await place();
    await fill(await original.openTables());
    const content = await contentOf(await original.openTables());
    for (let kills = 0; kills < KILLS; ) {
      // Moved away from by each round, and as it was for the next.
      await query(
        original.env.DATABASE_URL,
        `delete from ${original.env.DATABASE_SCHEMA}.document where collection = 'state-mark'`,
      );
      const one = { ...original.env, DATA_DIR: join(await temporaryFolder(), 'data') };
      for (let code: number | null = null; code !== 0; ) {
        const end = await runOrKill(one, kills < KILLS, '--back');
        if (end.wasKilled) kills += 1;
        code = end.code;
        const { tables } = await original.marks();
        const copying = existsSync(join(one.DATA_DIR, 'moved.json'));
        const begun = existsSync(join(one.DATA_DIR, 'notes'));
        if (tables !== 'moved' && begun) expect(copying).toBe(true);
        await original.forgetTheDead();
      }
      await expect(original.openTables()).rejects.toThrow('was moved to the data folder');
      const store = await openLowdbStore({ folder: one.DATA_DIR, log });
      expect(await contentOf(store)).toEqual(content);
      expect(await run(one, '--check').ended).toMatchObject({ code: 0 });
    }
  });
});
