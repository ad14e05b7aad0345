import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { z } from 'zod';
import { createInitialState } from '../../src/monitoring/state/state.ts';
import type { SeriesRow } from '../../src/store/series.ts';
import { query } from '../../test/helpers/postgres/server.ts';
import type { Finding } from '../shared/finding.ts';
import { alternate, type Bed, figuresOf, type Took } from './bed.ts';
import { SCHEMA } from './fleet.ts';

/** The service's batch size. */
const BATCH_COUNT = 500;

const SIZES = {
  full: { monitors: 10_000, rounds: 5, passes: 5 },
  quick: { monitors: 2_000, rounds: 2, passes: 2 },
};

const DAY_MS = 86_400_000;

/** Similar to the open hour that is stored with a state. */
const EXTRA =
  '1|1795694400000|1795694523456,60000,1|498804,2,0,123456,0,20.1,40.3,20.2|498803,60,0,3600000,0,19.8,1210.4,33.1';

/** Rows of results, each of another slot, beside the same rows with a bare statement. */
export async function measureResults(bed: Bed): Promise<Finding[]> {
  const { monitors, rounds, passes } = SIZES[bed.context.quick ? 'quick' : 'full'];
  const url = await bed.server.database('results');
  const { series } = await bed.open(url);
  await query(url, `create schema bare`);
  await query(
    url,
    `create table bare.result (monitor text collate "C", slot timestamptz, at timestamptz(3),
      kind int, took bigint, every_ms bigint, reason text, primary key (monitor, slot))`,
  );
  const client = new pg.Client(url);
  await client.connect();
  const dayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const ids = idsOf(monitors);
  const batchesOf = (pass: number) =>
    Array.from({ length: rounds }, (_, round) => {
      const slotMs = dayMs + (pass * rounds + round) * 60_000;
      const rows = ids.map((monitor, at): SeriesRow => {
        const ownMs = slotMs + ((at * 7919) % 60_000);
        return {
          ...{ monitor, slotMs: ownMs, atMs: ownMs + 21, kind: 1, took: 203, everyMs: 60_000 },
          reason: undefined,
        };
      });
      return inBatches(rows);
    }).flat();
  const time = (ms: number) => new Date(ms).toISOString();
  const took = await alternate(bed, passes, {
    async askwatch(pass) {
      for (const batch of batchesOf(pass)) {
        const replaced = await series.append(batch);
        if (replaced.length > 0) throw new Error('Rows stood in the place of others.');
      }
    },
    async reference(pass) {
      for (const batch of batchesOf(pass)) {
        const { rowCount } = await client.query(
          `insert into bare.result select * from unnest($1::text[], $2::timestamptz[],
            $3::timestamptz[], $4::int[], $5::bigint[], $6::bigint[], $7::text[])`,
          [
            batch.map(({ monitor }) => monitor),
            batch.map(({ slotMs }) => time(slotMs)),
            batch.map(({ atMs }) => time(atMs)),
            batch.map(({ kind }) => kind),
            batch.map(({ took }) => took),
            batch.map(({ everyMs }) => everyMs),
            batch.map(() => null),
          ],
        );
        if (rowCount !== batch.length) throw new Error('Not all rows were stored.');
      }
    },
  });
  await client.end();
  return writeFindings('results', 'results', took, monitors * rounds);
}

/** Writes of monitor states, a hundredth of them changed, beside the same rows with a bare statement. */
export async function measureStates(bed: Bed): Promise<Finding[]> {
  const { monitors, rounds, passes } = SIZES[bed.context.quick ? 'quick' : 'full'];
  const url = await bed.server.database('states');
  const store = await bed.open(url);
  const ids = idsOf(monitors);
  let nowMs = Date.now();
  const stateNow = () => ({
    state: {
      ...createInitialState(nowMs),
      status: 'UP',
      lastCheckedMs: nowMs,
      responseTimeMs: 20.3,
    },
  });
  const values = await store.sharedValues({
    name: 'monitor-states',
    schema: z.object({ state: z.unknown() }),
    current: () => ({ value: stateNow(), extra: EXTRA, onEnd() {} }),
    onStored() {},
  });
  await query(url, `create schema bare`);
  await query(
    url,
    `create table bare.state (id text primary key, revision uuid not null, changed_at timestamptz(3)
      not null, written_at timestamptz(3) not null, value json not null, extra json)
      with (fillfactor = 50)`,
  );
  await query(url, `create index on bare.state (changed_at)`);
  await Promise.all(ids.map((id) => values.save(id)));
  await query(
    url,
    `insert into bare.state select id, gen_random_uuid(), clock_timestamp(), clock_timestamp(),
      value, extra from ${SCHEMA}.shared_value`,
  );
  const client = new pg.Client(url);
  await client.connect();
  const revisions = new Map<string, string>();
  const stored = await query(url, `select id, revision from bare.state`);
  for (const { id, revision } of stored) revisions.set(String(id), String(revision));

  const took = await alternate(bed, passes, {
    async askwatch() {
      for (let round = 0; round < rounds; round += 1) {
        nowMs += 60_000;
        const news = ids.flatMap((id, at) => (at % 100 === round ? values.save(id) : []));
        for (const id of ids) values.saveLater(id);
        await Promise.all(news);
        await values.idle();
      }
    },
    async reference() {
      for (let round = 0; round < rounds; round += 1) {
        nowMs += 60_000;
        for (const batch of inBatches(ids)) {
          const fresh = batch.map(() => randomUUID());
          const { rowCount } = await client.query(
            `update bare.state s set revision = sent.revision, value = sent.value::json,
              extra = sent.extra::json, written_at = clock_timestamp(),
              changed_at = case when sent.is_news then clock_timestamp() else s.changed_at end
            from unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bool[])
              as sent (id, before, revision, value, extra, is_news)
            where s.id = sent.id and s.revision = sent.before`,
            [
              batch,
              batch.map((id) => revisions.get(id)),
              fresh,
              batch.map(() => JSON.stringify(stateNow())),
              batch.map(() => JSON.stringify(EXTRA)),
              batch.map((_, at) => at % 100 === round),
            ],
          );
          if (rowCount !== batch.length) throw new Error('Not all states were stored.');
          for (const [at, id] of batch.entries()) revisions.set(id, fresh[at] ?? '');
        }
      }
    },
  });
  await client.end();
  // The server counts what a connection has done when that ends, at the latest.
  await store.close();
  const { updates, hot } = await updatesOf(url);
  const expected = (passes + 1) * rounds * monitors;
  if (updates !== expected) {
    throw new Error(`${updates} states were updated, and not ${expected}.`);
  }
  return [
    ...writeFindings('states', 'states', took, monitors * rounds),
    {
      ...{ name: 'states-hot', title: 'states updated in place (HOT), a hundredth with news' },
      ...{ unit: '%', compare: 'itself', goal: { atLeast: 95 } },
      passes: [{ askwatch: (hot / updates) * 100 }],
    },
  ];
}

function writeFindings(
  name: string,
  title: string,
  took: ReadonlyArray<Record<'askwatch' | 'reference', Took>>,
  count: number,
): Finding[] {
  const each = (ms: number) => (ms * 1000) / count;
  const isHere = took.every(({ askwatch }) => askwatch.serverMs !== undefined);
  return [
    {
      ...{ name, title: `${title} written in batches of ${BATCH_COUNT}, one connection` },
      ...{ unit: '/s', compare: 'ratio' },
      passes: figuresOf(took, ({ wallMs }) => (count * 1000) / wallMs),
    },
    {
      ...{ name: `${name}-cpu`, title: `CPU of the process for each of the ${title}` },
      ...{ unit: 'µs', compare: 'ratio' },
      passes: figuresOf(took, ({ ownMs }) => each(ownMs)),
    },
    ...(isHere
      ? [
          {
            ...{ name: `${name}-server`, title: `CPU of PostgreSQL for each of the ${title}` },
            ...{ unit: 'µs', compare: 'ratio' as const },
            passes: figuresOf(took, ({ serverMs = Number.NaN }) => each(serverMs)),
          },
        ]
      : []),
  ];
}

async function updatesOf(url: string): Promise<{ updates: number; hot: number }> {
  const [row] = await query(
    url,
    `select n_tup_upd::float8 as updates, n_tup_hot_upd::float8 as hot
      from pg_stat_user_tables where schemaname = '${SCHEMA}' and relname = 'shared_value'`,
  );
  return row as { updates: number; hot: number };
}

const idsOf = (count: number) =>
  Array.from(
    { length: count },
    (_, at) => `mon_${((at * 2_654_435_761) % 2 ** 32).toString(16).padStart(16, '0')}`,
  );

function inBatches<T>(all: readonly T[]): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < all.length; at += BATCH_COUNT)
    batches.push(all.slice(at, at + BATCH_COUNT));
  return batches;
}
