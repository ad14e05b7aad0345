import type { Area, BenchContext } from '../shared/area.ts';
import { type Bed, makeBed } from './bed.ts';
import { createOneByOne, keysFor, pingFor } from './calls.ts';
import { type CheckMeasure, measureChecks } from './checks.ts';
import { definitionsOf } from './definitions.ts';
import { startMeter, type Used } from './meter.ts';
import { measureRestart } from './restart.ts';
import { measureLag, measureMany } from './rhythm.ts';
import { type Finding, HEADER, rowOf } from './table.ts';

const HTTP: CheckMeasure = {
  title: 'HTTP checks, new connection each',
  kind: 'page',
  atLeast: 2_500,
  beside: { scheme: 'http', atLeast: 0.5 },
  monitors: { full: 10_000, quick: 2_000 },
};

const HTTPS: CheckMeasure = {
  title: 'HTTPS checks, full handshake',
  kind: 'securePage',
  atLeast: 500,
  beside: { scheme: 'https', atLeast: 0.7 },
  monitors: { full: 2_000, quick: 750 },
};

const DNS: CheckMeasure = {
  title: 'DNS checks',
  kind: 'name',
  atLeast: 10_000,
  monitors: { full: 10_000, quick: 2_500 },
};

const PINGS = {
  full: { heartbeats: 1_000, warmUpMs: 3_000, windowMs: 8_000 },
  quick: { heartbeats: 500, warmUpMs: 1_500, windowMs: 2_500 },
};
const CREATES = {
  full: { present: 1_000, warmUp: 100, count: 1_000 },
  quick: { present: 200, warmUp: 40, count: 200 },
};

const MEASURES: Record<string, (bed: Bed) => Promise<Finding[]>> = {
  http: async (bed) => [await measureChecks(bed, HTTP)],
  https: async (bed) => [await measureChecks(bed, HTTPS)],
  dns: async (bed) => [await measureChecks(bed, DNS)],
  lag: measureLag,
  many: measureMany,
  restart: measureRestart,
  heartbeats: measureHeartbeats,
  create: measureCreate,
};

/** The monitoring service beside a bare loop of the same requests, against targets on the same machine. */
export const monitoring: Area = { measures: Object.keys(MEASURES), run };

async function run(context: BenchContext) {
  const { only, quick, progress, note } = context;
  if (quick) {
    note('The quick run has fewer monitors and shorter intervals, so its figures are no verdict.');
  }
  const bed = await makeBed(context);
  const findings: Finding[] = [];
  for (const [name, measure] of Object.entries(MEASURES)) {
    if (only !== undefined && name !== only) continue;
    progress(name);
    try {
      findings.push(...(await measure(bed)));
    } catch (cause) {
      throw new Error(`${name}: ${(cause as Error).message}`, { cause });
    }
  }
  await bed.close();
  if (findings.some(({ foreignCores }) => foreignCores > 0.2)) {
    note('* Others used the cores at the same time.');
  }
  return { header: HEADER, rows: findings.map(rowOf) };
}

async function measureHeartbeats(bed: Bed): Promise<Finding[]> {
  const { quick, cores } = bed.context;
  const { heartbeats, ...times } = PINGS[quick ? 'quick' : 'full'];
  const started = await bed.start({ kind: 'heartbeat', count: heartbeats, seconds: 60 });
  const { server, data } = started;
  let used: Used | undefined;
  const acknowledged = await pingFor({
    port: server.port,
    tokens: data.tokens,
    ...times,
    meter() {
      const meter = startMeter({ ...bed, target: server.pid, cores });
      return () => {
        used = meter();
      };
    },
  });
  await bed.end(started);
  return [
    {
      title: 'durable heartbeats, 64 connections',
      value: acknowledged / (used?.wallSeconds ?? Number.NaN),
      unit: '/s',
      goal: { atLeast: 5_000 },
      foreignCores: used?.foreignCores ?? 0,
    },
  ];
}

async function measureCreate(bed: Bed): Promise<Finding[]> {
  const { quick, cores } = bed.context;
  const { present, warmUp, count } = CREATES[quick ? 'quick' : 'full'];
  const keys = keysFor(warmUp + count);
  const started = await bed.start({ kind: 'page', count: present, seconds: 60, keys });
  const { server, data } = started;
  const made = definitionsOf('page', {
    upstream: bed.upstream,
    count: warmUp + count,
    seconds: 60,
  });
  const meter = startMeter({ ...bed, target: server.pid, cores });
  const p99Ms = await createOneByOne({
    port: server.port,
    keys: data.keys,
    warmUp,
    count,
    body: (number) => made[number],
  });
  const { foreignCores } = meter();
  await bed.end(started);
  return [
    {
      title: `create over REST with ${present} present, p99`,
      value: p99Ms,
      unit: 'ms',
      goal: { atMost: 10 },
      foreignCores,
    },
  ];
}
