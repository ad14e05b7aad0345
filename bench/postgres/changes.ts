import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { query } from '../../test/helpers/postgres/server.ts';
import { type Finding, findingsOfTimes } from '../shared/finding.ts';
import { inTurn } from '../shared/passes.ts';
import { alternate, type Bed, figuresOf, inLanes, timesOf } from './bed.ts';

const SIZES = {
  full: { documents: 500, changes: 2_000, alone: 300, heard: 100, passes: 5 },
  quick: { documents: 100, changes: 300, alone: 50, heard: 20, passes: 2 },
};

const LANES = 10;
const HEARD_LIMIT_MS = 5_000;
/** Pause between changes, so that each is sent separately. */
const BETWEEN_MS = 100;

const Document = z.object({ number: z.number(), text: z.string() });
const TEXT = 'a'.repeat(500);

/** A document changed by compare-and-set, beside a bare transaction that locks the row, reads it and writes it. */
export async function measureChanges(bed: Bed): Promise<Finding[]> {
  const { documents, changes, alone, passes } = SIZES[bed.context.quick ? 'quick' : 'full'];
  const url = await bed.server.database('changes');
  const collection = (await bed.open(url)).collection({
    ...{ name: 'bench', schema: Document, version: 1, whenCorrupt: 'refuse' as const },
  });
  await query(
    url,
    'create table bare (id int primary key, body json not null) with (fillfactor = 80)',
  );
  const pool = new pg.Pool({ connectionString: url, max: LANES });
  for (let number = 0; number < documents; number += 1) {
    await collection.update(`${number}`, () => ({ number: 0, text: TEXT }));
    await pool.query('insert into bare values ($1, $2)', [
      number,
      JSON.stringify({ number: 0, text: TEXT }),
    ]);
  }
  const changeOne = async (number: number) => {
    await collection.update(`${number % documents}`, (now) => ({
      number: (now?.number ?? 0) + 1,
      text: TEXT,
    }));
  };
  const lockOne = async (number: number) => {
    const client = await pool.connect();
    const id = number % documents;
    await client.query('begin');
    const { rows } = await client.query('select body from bare where id = $1 for update', [id]);
    const { number: before, text } = rows[0].body as z.infer<typeof Document>;
    const body = JSON.stringify({ number: before + 1, text });
    await client.query('update bare set body = $2 where id = $1', [id, body]);
    await client.query('commit');
    client.release();
  };
  const took = await alternate(bed, passes, {
    askwatch: () => inLanes(changes, LANES, changeOne),
    reference: () => inLanes(changes, LANES, lockOne),
  });
  const times = { askwatch: [] as number[][], reference: [] as number[][] };
  for (let pass = 0; pass < passes; pass += 1) {
    for (const name of inTurn(pass, ['askwatch', 'reference'] as const)) {
      times[name].push(await timesOf(alone, name === 'askwatch' ? changeOne : lockOne));
    }
  }
  await pool.end();
  return [
    {
      ...{ name: 'changes', title: `documents changed, ${LANES} at a time` },
      ...{ unit: '/s', compare: 'ratio' },
      passes: figuresOf(took, ({ wallMs }) => (changes * 1000) / wallMs),
    },
    {
      ...{ name: 'changes-cpu', title: 'CPU of the process for each change' },
      ...{ unit: 'µs', compare: 'ratio' },
      passes: figuresOf(took, ({ ownMs }) => (ownMs * 1000) / changes),
    },
    ...findingsOfTimes({
      ...{ name: 'changes-alone', title: 'one change after another' },
      ...{ timesMs: times.askwatch, referenceMs: times.reference },
      shares: { p50: undefined, p99: undefined },
    }).map((finding) => ({ ...finding, compare: 'ratio' as const })),
  ];
}

/** Time from a change in one store until another sees it, beside bare NOTIFY and LISTEN. */
export async function measureHeard(bed: Bed): Promise<Finding[]> {
  const { heard } = SIZES[bed.context.quick ? 'quick' : 'full'];
  const url = await bed.server.database('heard');
  const declaration = {
    ...{ name: 'bench', schema: Document, version: 1, whenCorrupt: 'refuse' as const },
  };
  const one = (await bed.open(url)).collection(declaration);
  const other = (await bed.open(url)).collection(declaration);
  let told = 0;
  let wake = () => {};
  const following = await other.follow((changed) => {
    told = Math.max(told, ...changed.map(({ document }) => document?.number ?? 0));
    wake();
  });
  const [sender, listener] = [new pg.Client(url), new pg.Client(url)];
  await sender.connect();
  await listener.connect();
  let notified = 0;
  listener.on('notification', ({ payload }) => {
    notified = Number(payload);
    wake();
  });
  await listener.query('listen bench');

  async function until(startMs: number, number: number, current: () => number) {
    while (current() < number) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([woken, pause(HEARD_LIMIT_MS, undefined, { ref: false })]);
      if (performance.now() - startMs > HEARD_LIMIT_MS) throw new Error('A change was not heard.');
    }
    return performance.now() - startMs;
  }

  const times = { askwatch: [] as number[], reference: [] as number[] };
  for (let number = 1; number <= heard; number += 1) {
    const changedMs = performance.now();
    await one.update('one', () => ({ number, text: TEXT }));
    times.askwatch.push(await until(changedMs, number, () => told));
    await pause(BETWEEN_MS);
    const sentMs = performance.now();
    await sender.query('select pg_notify($1, $2)', ['bench', String(number)]);
    times.reference.push(await until(sentMs, number, () => notified));
    await pause(BETWEEN_MS);
  }
  following.stop();
  await Promise.all([sender.end(), listener.end()]);
  return findingsOfTimes({
    ...{ name: 'heard', title: 'from a change until another store has it' },
    ...{ timesMs: [times.askwatch], referenceMs: [times.reference] },
    shares: { p50: undefined, p99: undefined },
  });
}
