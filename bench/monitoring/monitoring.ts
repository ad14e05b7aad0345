import { type Area, runMeasures } from '../shared/area.ts';
import { type Finding, findingOfOne, findingsOfTimes, noisyOf } from '../shared/finding.ts';
import { type Bed, makeBed } from './bed.ts';
import { bareWriter, createOneByOne, keysFor, pingFor } from './calls.ts';
import { type CheckMeasure, measureChecks } from './checks.ts';
import { definitionsOf } from './definitions.ts';
import { measureMcp } from './mcp.ts';
import { startMeter, type Used } from './meter.ts';
import { CERTIFICATE, measureProbes, TCP } from './probes.ts';
import { measureRestart } from './restart.ts';
import { measureLag, measureMany } from './rhythm.ts';

const HTTP: CheckMeasure = {
  name: 'http',
  title: 'HTTP checks, new connection each',
  kind: 'page',
  beside: { loop: 'http', atLeast: 1.6 },
  monitors: { full: 2_500, quick: 2_000 },
};

const HTTPS: CheckMeasure = {
  name: 'https',
  title: 'HTTPS checks, full handshake',
  kind: 'securePage',
  beside: { loop: 'https', atLeast: 1.5 },
  monitors: { full: 500, quick: 500 },
};

const DNS: CheckMeasure = {
  name: 'dns',
  title: 'DNS checks',
  kind: 'name',
  atLeast: 6_000,
  beside: { loop: 'dns', atLeast: 3 },
  monitors: { full: 10_000, quick: 2_500 },
};

const PINGS = {
  full: { heartbeats: 2_000, warmUpMs: 3_000, windowMs: 8_000 },
  quick: { heartbeats: 500, warmUpMs: 1_500, windowMs: 2_500 },
};
const CREATES = {
  // The last is the 10,000th, the most the service takes.
  full: { present: 8_900, warmUp: 100, count: 1_000 },
  quick: { present: 200, warmUp: 40, count: 200 },
};

const MEASURES: Record<string, (bed: Bed) => Promise<Finding[]>> = {
  http: (bed) => measureChecks(bed, HTTP),
  https: (bed) => measureChecks(bed, HTTPS),
  dns: (bed) => measureChecks(bed, DNS),
  restart: measureRestart,
  heartbeats: measureHeartbeats,
  create: measureCreate,
  mcp: measureMcp,
};

/** How its checks keep to their times. They take minutes, which no machine makes shorter: so they are an area of their own. */
const RHYTHM_MEASURES: Record<string, (bed: Bed) => Promise<Finding[]>> = {
  lag: measureLag,
  many: measureMany,
};

/** Beside another program of the same kind, pass by pass: which takes minutes as well. */
const PROBE_MEASURES: Record<string, (bed: Bed) => Promise<Finding[]>> = {
  tcp: (bed) => measureProbes(bed, TCP),
  certificate: (bed) => measureProbes(bed, CERTIFICATE),
};

/** The cost of checks and API calls, beside bare loops of the same requests at the same rate, against local targets. */
export const monitoring = areaOf(MEASURES);

/** The cost of port and certificate checks, beside bare loops and blackbox_exporter. */
export const probes = areaOf(PROBE_MEASURES);

/** The rhythm of the monitoring service's checks, seen at their targets on the same machine. */
export const rhythm = areaOf(RHYTHM_MEASURES);

function areaOf(measures: Record<string, (bed: Bed) => Promise<Finding[]>>): Area {
  return {
    measures: Object.keys(measures),
    async run(context) {
      if (context.quick) {
        context.note(
          'The quick run has fewer monitors and shorter intervals, so its figures are no verdict.',
        );
      }
      const bed = await makeBed(context);
      const findings = await runMeasures(context, measures, bed);
      await bed.close();
      return findings;
    },
  };
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
    findingOfOne(
      {
        ...{ name: 'heartbeats', title: 'durable heartbeats, 64 connections' },
        ...{ unit: '/s', goal: { atLeast: 5_000 } },
      },
      acknowledged / (used?.wallSeconds ?? Number.NaN),
      used?.foreignCores,
    ),
    findingOfOne(
      {
        ...{ name: 'heartbeats-cpu', title: 'the same by CPU time' },
        ...{ unit: '/CPU s', goal: { atLeast: 8_000 } },
      },
      acknowledged / (used?.cpuSeconds ?? Number.NaN),
      used?.foreignCores,
    ),
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
  const bare = await bareWriter(data.folder, `${data.folder}-bare`);
  const meter = startMeter({ ...bed, target: server.pid, cores });
  const { createdMs, besideMs } = await createOneByOne({
    port: server.port,
    keys: data.keys,
    warmUp,
    count,
    body: (number) => made[number],
    beside: bare,
  });
  const { foreignCores } = meter();
  await bed.end(started);
  const title = `create over REST, up to ${present + warmUp + count} present; reference: a bare durable write of as much`;
  const [p50, p99] = findingsOfTimes({
    ...{ name: 'create', title, timesMs: [createdMs], referenceMs: [besideMs] },
    shares: { p50: { atMost: 2 }, p99: { atMost: 2 } },
  });
  return [p50, p99].flatMap((finding) =>
    finding
      ? [{ ...finding, compare: 'ratio' as const, noisyPasses: noisyOf([foreignCores]) }]
      : [],
  );
}
