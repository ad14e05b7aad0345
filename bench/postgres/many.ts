import { setTimeout as pause } from 'node:timers/promises';
import { query } from '../../test/helpers/postgres/server.ts';
import { type Gridded, nowMs, rhythmOf } from '../monitoring/arrivals.ts';
import { checksDone, scrape } from '../monitoring/server.ts';
import type { Area, BenchContext } from '../shared/area.ts';
import { pinSelf } from '../shared/cores.ts';
import { type Finding, findingOfOne } from '../shared/finding.ts';
import { cpuNs, residentMiB } from '../shared/proc.ts';
import { figure } from '../shared/table.ts';
import type { TargetProcess } from '../shared/target-process.ts';
import { fillDatabase, SCHEMA, startMember, untilSpread } from './fleet.ts';
import { type BenchServer, openServer } from './server.ts';
import { openSink, type Sink } from './sink.ts';
import { countSlots } from './slots.ts';

/** Size of the run: `BENCH_MANY='monitors=20000 seconds=60 processes=2 minutes=5'`. */
const SETTINGS = {
  full: { monitors: 100_000, seconds: 60, processes: 4, minutes: 10 },
  quick: { monitors: 2_000, seconds: 20, processes: 2, minutes: 1 },
};
type Settings = (typeof SETTINGS)['full'];

const START_LIMIT_MS = 300_000;
const SAMPLE_EVERY_MS = 1_000;

/** Many monitors, watched over by several processes on one database and one machine. */
export const postgresMany: Area = {
  measures: ['many'],
  isOnRequest: true,
  async run(context) {
    const settings = settingsOf(context);
    // Started processes inherit the cores, and this measure is about a whole machine.
    pinSelf(context.cores.all);
    const server = await openServer(context);
    const sink = await openSink();
    try {
      return await measure({ context, settings, server, sink });
    } finally {
      await sink.close();
      await server.close();
      pinSelf(context.cores.load);
    }
  },
};

function settingsOf({ quick }: BenchContext): Settings {
  const settings = { ...SETTINGS[quick ? 'quick' : 'full'] };
  for (const word of (process.env.BENCH_MANY ?? '').split(/[ ,]+/).filter(Boolean)) {
    const [name = '', value] = word.split('=');
    if (!(name in settings) || !(Number(value) > 0)) {
      throw new Error(`BENCH_MANY has ${word}, and takes ${Object.keys(settings).join(', ')}.`);
    }
    settings[name as keyof Settings] = Number(value);
  }
  return settings;
}

async function measure(parts: {
  context: BenchContext;
  settings: Settings;
  server: BenchServer;
  sink: Sink;
}): Promise<Finding[]> {
  const { context, settings, server, sink } = parts;
  const { monitors: count, seconds, processes, minutes } = settings;
  const { progress, note, folder, profile } = context;
  const url = await server.database('many');
  progress(`  writing ${count} monitors`);
  const { monitors } = await fillDatabase(url, {
    upstream: sink.upstream,
    count,
    seconds,
  });

  progress(`  starting ${processes} processes`);
  const startedMs = performance.now();
  // docs/several-processes.md recommends this for many monitors.
  const nodeArgs = ['--max-semi-space-size=4'];
  if (profile) nodeArgs.push('--cpu-prof', `--cpu-prof-dir=${profile}`);
  const members = await Promise.all(
    Array.from({ length: processes }, () =>
      startMember(url, { folder, nodeArgs, startLimitMs: START_LIMIT_MS }),
    ),
  );
  const readySeconds = (performance.now() - startedMs) / 1000;
  const startMiB = members.map(({ pid }) => Math.round(residentMiB(pid)));
  try {
    await untilSpread(url, members, START_LIMIT_MS);
    // All that was overdue is caught up with, and the rhythm goes on from there.
    await pause((1.5 * seconds + 30) * 1000);

    progress(`  watching for ${minutes} min`);
    const seen = await watch({ ...parts, url, members, monitors, windowMs: minutes * 60_000 });
    note(
      `${count} monitors of ${seconds} s, ${processes} processes; ready after ${figure(readySeconds)} s with ${startMiB.join(', ')} MiB.`,
    );
    return seen;
  } finally {
    await Promise.all(members.map((member) => member.stop()));
  }
}

async function watch(parts: {
  context: BenchContext;
  server: BenchServer;
  sink: Sink;
  url: string;
  members: readonly TargetProcess[];
  monitors: readonly Gridded[];
  windowMs: number;
}): Promise<Finding[]> {
  const { context, server, sink, url, members, monitors, windowMs } = parts;
  const look = async () => ({
    atNs: performance.now() * 1e6,
    membersNs: members.map(({ pid }) => cpuNs(pid)),
    sinkNs: cpuNs(sink.pid),
    serverNs: server.cpuNs(),
    checks: await totalsOf(members),
    ...(await databaseOf(url)),
  });
  const before = await look();
  const fromMs = nowMs();
  const mostMiB = members.map(() => 0);
  const endMs = performance.now() + windowMs;
  while (performance.now() < endMs) {
    for (const [at, member] of members.entries()) {
      member.checkAlive();
      mostMiB[at] = Math.max(mostMiB[at] ?? 0, residentMiB(member.pid));
    }
    await pause(SAMPLE_EVERY_MS);
  }
  const window = { fromMs, toMs: nowMs() };
  const after = await look();
  const lagMs = await ownLagsMs(members);
  const times = await sink.asks.arrivals();
  const rhythm = rhythmOf(monitors, times, window);
  const slots = countSlots(monitors, times, window);

  const wallNs = after.atNs - before.atNs;
  const cores = (to: number, from: number) => (to - from) / wallNs;
  const memberCores = members.map((_, at) =>
    cores(after.membersNs[at] ?? 0, before.membersNs[at] ?? 0),
  );
  const rows = after.rows - before.rows;
  const checks = new Map(
    [...after.checks].map(([outcome, all]) => [outcome, all - (before.checks.get(outcome) ?? 0)]),
  );
  const all = [...checks.values()].reduce((sum, each) => sum + each, 0);
  const failed = all - (checks.get('ok') ?? 0);
  context.note(
    `${all} checks, ${failed} of them not ok; ${rows} rows; ${slots.expected} times of the grid, ${slots.missed} missed, ${slots.doubled} doubled.`,
  );
  context.note(
    `Memory at most ${mostMiB.map((mib) => Math.round(mib)).join(', ')} MiB; lag p99 by themselves ${lagMs.map(figure).join(', ')} ms; cores ${memberCores.map(figure).join(', ')}, sink ${figure(cores(after.sinkNs, before.sinkNs))}.`,
  );
  const found = (
    name: string,
    title: string,
    unit: string,
    value: number,
    goal?: Finding['goal'],
  ) => findingOfOne({ name: `many-${name}`, title, unit, goal }, value);
  return [
    found('lag', 'start lag p99, seen at the target', 'ms', rhythm.lagP99Ms, { atMost: 2_000 }),
    ...(before.serverNs === undefined || after.serverNs === undefined
      ? []
      : [
          found('server', 'PostgreSQL', 'cores', cores(after.serverNs, before.serverNs), {
            atMost: 2,
          }),
          found(
            'server-each',
            'CPU of PostgreSQL for each result',
            'µs',
            (after.serverNs - before.serverNs) / 1e3 / rows,
          ),
        ]),
    found('memory', 'memory of a process, the most', 'MiB', Math.max(...mostMiB), { atMost: 250 }),
    found('missed', `missed of ${slots.expected} times of the grid`, '', slots.missed, {
      atMost: 0,
    }),
    found('doubled', 'times of the grid with more than one check', '', slots.doubled, {
      atMost: 0,
    }),
    found('rate', 'results stored', '/s', rows / (wallNs / 1e9)),
    found(
      'each',
      'CPU of the processes for each check',
      'µs',
      (memberCores.reduce((sum, each) => sum + each, 0) * wallNs) / 1e3 / all,
    ),
    found('row', 'size of a stored result, with its index', 'B', after.rowBytes),
    found('wal', 'WAL for each result', 'B', (after.walBytes - before.walBytes) / rows),
    found(
      'hot',
      'updates of states in place (HOT)',
      '%',
      ((after.hot - before.hot) / (after.updates - before.updates)) * 100,
    ),
  ];
}

/** Checks done by all processes, by how they ended. */
async function totalsOf(members: readonly TargetProcess[]): Promise<Map<string, number>> {
  const totals = new Map<string, number>();
  for (const { port } of members) {
    for (const [outcome, count] of await checksDone(port)) {
      totals.set(outcome, (totals.get(outcome) ?? 0) + count);
    }
  }
  return totals;
}

async function ownLagsMs(members: readonly TargetProcess[]): Promise<number[]> {
  const lags: number[] = [];
  for (const { port } of members) {
    const sample = (await scrape(port)).find(
      ({ name }) => name === 'askwatch_check_lag_p99_seconds',
    );
    lags.push((sample?.value ?? Number.NaN) * 1000);
  }
  return lags;
}

/** Rows of results, their size, and what PostgreSQL counts. */
async function databaseOf(url: string) {
  const [row] = await query(
    url,
    `select (select count(*)::float8 from ${SCHEMA}.check_result) as rows,
      (select sum(pg_total_relation_size(inhrelid))::float8 from pg_inherits
        where inhparent = '${SCHEMA}.check_result'::regclass) as bytes,
      (select (pg_current_wal_lsn() - '0/0')::float8) as "walBytes",
      n_tup_upd::float8 as updates, n_tup_hot_upd::float8 as hot
    from pg_stat_user_tables where schemaname = '${SCHEMA}' and relname = 'shared_value'`,
  );
  const figures = row as Record<'rows' | 'bytes' | 'walBytes' | 'updates' | 'hot', number>;
  return { ...figures, rowBytes: figures.bytes / figures.rows };
}
