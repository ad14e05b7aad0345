import pg from 'pg';
import { query } from '../../test/helpers/postgres/server.ts';
import { type Finding, findingsOfTimes } from '../shared/finding.ts';
import { inTurn } from '../shared/passes.ts';
import { alternate, type Bed, figuresOf, inLanes, timesOf } from './bed.ts';

const SIZES = {
  full: { takes: 3_000, alone: 300, passes: 5 },
  quick: { takes: 500, alone: 50, passes: 2 },
};

/** Connections of the pool of a process. */
const LANES = 10;

/** Callers, none of which reaches its limit, because a refused caller doesn't query the database. */
const CALLERS = 100;
const LIMIT = 600;
const WINDOW_MS = 60_000;

/** One more that counts, beside a bare statement that counts within a limit in windows that do not slide. */
export async function measureLimit(bed: Bed): Promise<Finding[]> {
  const { takes, alone, passes } = SIZES[bed.context.quick ? 'quick' : 'full'];
  const url = await bed.server.database('limit');
  const windows = (await bed.open(url)).windows({ name: 'bench', windowMs: WINDOW_MS });
  await query(
    url,
    'create table counter (who text primary key, used int not null) with (fillfactor = 50)',
  );
  const pool = new pg.Pool({ connectionString: url, max: LANES });
  // Each pass has callers of its own, so that no window fills.
  const takeOne = (pass: string) => async (number: number) => {
    const { place } = await windows.take(`${pass} ${number % CALLERS}`, LIMIT);
    if (place === undefined) throw new Error('One was refused below its limit.');
  };
  const upsertOne = (pass: string) => async (number: number) => {
    const { rowCount } = await pool.query(
      `insert into counter as c values ($1, 1) on conflict (who)
        do update set used = c.used + 1 where c.used < $2 returning used`,
      [`${pass} ${number % CALLERS}`, LIMIT],
    );
    if (rowCount !== 1) throw new Error('One was refused below its limit.');
  };
  const took = await alternate(bed, passes, {
    askwatch: (pass) => inLanes(takes, LANES, takeOne(`many ${pass}`)),
    reference: (pass) => inLanes(takes, LANES, upsertOne(`many ${pass}`)),
  });
  const times = { askwatch: [] as number[][], reference: [] as number[][] };
  for (let pass = 0; pass < passes; pass += 1) {
    for (const name of inTurn(pass, ['askwatch', 'reference'] as const)) {
      const one = name === 'askwatch' ? takeOne : upsertOne;
      times[name].push(await timesOf(alone, one(`alone ${pass}`)));
    }
  }
  await pool.end();
  return [
    {
      ...{ name: 'limit', title: `limit checks, ${LANES} at a time, ${CALLERS} keys` },
      ...{ unit: '/s', compare: 'ratio' },
      passes: figuresOf(took, ({ wallMs }) => (takes * 1000) / wallMs),
    },
    {
      ...{ name: 'limit-cpu', title: 'CPU of the process for each limit check' },
      ...{ unit: 'µs', compare: 'ratio' },
      passes: figuresOf(took, ({ ownMs }) => (ownMs * 1000) / takes),
    },
    ...findingsOfTimes({
      ...{ name: 'limit-alone', title: 'one limit check after another' },
      ...{ timesMs: times.askwatch, referenceMs: times.reference },
      shares: { p50: undefined, p99: undefined },
    }).map((finding) => ({ ...finding, compare: 'ratio' as const })),
  ];
}
