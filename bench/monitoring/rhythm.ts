import { setTimeout as pause } from 'node:timers/promises';
import { type Finding, findingOfOne } from '../shared/finding.ts';
import { residentMiB } from '../shared/proc.ts';
import { figure } from '../shared/table.ts';
import { nowMs, rhythmOf } from './arrivals.ts';
import type { Bed } from './bed.ts';
import { isSilent } from './definitions.ts';
import { startMeter } from './meter.ts';
import { ownLag } from './server.ts';

/** Two checks that should be a whole number of intervals apart may differ by what clocks and sockets differ. */
const NO_DRIFT_MS = 1;

/** After a start all are checked within this time, or within their interval if that is shorter. */
const CATCH_UP_SECONDS = 30;
/** The longest that a check waits for its answer when nothing else is set. */
const TIMEOUT_SECONDS = 10;

const SEEN_STEP_MS = 200;
const SEEN_LIMIT_MS = 120_000;
const EMPTY_SETTLE_MS = 2_000;

const FEW = {
  full: { count: 1_000, seconds: 20, windowMs: 45_000 },
  quick: { count: 300, seconds: 5, windowMs: 15_000 },
};
const MANY = {
  // Long enough for two checks of many in their rhythm, however soon they were first checked.
  full: { count: 10_000, seconds: 60, windowMs: 150_000 },
  quick: { count: 1_000, seconds: 5, windowMs: 15_000 },
};

/** How late checks start with few monitors that all answer. */
export async function measureLag(bed: Bed): Promise<Finding[]> {
  const { count, seconds, windowMs } = FEW[bed.context.quick ? 'quick' : 'full'];
  const started = await bed.start({ kind: 'page', count, seconds });
  await untilAllSeen(bed, count);
  const { rhythm, foreignCores } = await watch(bed, started, { windowMs, name: 'lag' });
  await bed.end(started);
  return [
    findingOfOne(
      {
        ...{ name: 'lag', title: `start lag p99, ${count} monitors at ${seconds} s` },
        ...{ unit: 'ms', goal: { atMost: 10 } },
      },
      rhythm.lagP99Ms,
      foreignCores,
    ),
  ];
}

/** Lag, drift, memory and the time of a full round, with many monitors, a tenth of which never respond. */
export async function measureMany(bed: Bed): Promise<Finding[]> {
  const { context } = bed;
  const { count, seconds, windowMs } = MANY[context.quick ? 'quick' : 'full'];
  const emptyMiB = await readEmpty(bed);
  const started = await bed.start({ kind: 'mixed', count, seconds });
  const { server, startedMs } = started;
  const lastFirstMs = await untilAllSeen(bed, count);
  const { rhythm, foreignCores } = await watch(bed, started, { windowMs, name: 'many' });
  const allMiB = residentMiB(server.pid);
  await bed.end(started);
  context.note(
    `many: with no monitor at all the service takes ${figure(emptyMiB)} MiB; no garbage collection is forced.`,
  );
  const timeoutSeconds = Math.min(TIMEOUT_SECONDS, 0.8 * seconds);
  const found = (
    name: string,
    title: string,
    of: { unit: string; atMost: number },
    value: number,
  ) =>
    findingOfOne(
      { ...{ name: `many-${name}`, title }, unit: of.unit, goal: { atMost: of.atMost } },
      value,
      foreignCores,
    );
  return [
    found(
      'lag',
      `start lag p99, ${count} at ${seconds} s mixed, a tenth timing out`,
      { unit: 'ms', atMost: 50 },
      rhythm.lagP99Ms,
    ),
    found(
      'drift',
      `drift over ${windowMs / 1000} s`,
      { unit: 'ms', atMost: NO_DRIFT_MS },
      Math.abs(rhythm.driftMs),
    ),
    found(
      'memory-each',
      'memory per 1,000 monitors',
      { unit: 'MiB', atMost: 8 },
      ((allMiB - emptyMiB) / count) * 1000,
    ),
    found('memory', `memory with ${count} monitors`, { unit: 'MiB', atMost: 200 }, allMiB),
    found(
      'all-checked',
      `from a start until all ${count} are checked`,
      { unit: 's', atMost: Math.min(seconds, CATCH_UP_SECONDS) + timeoutSeconds },
      (lastFirstMs - startedMs) / 1000,
    ),
  ];
}

/** Resolves when every monitor has come, to the time at which the last did. */
async function untilAllSeen(bed: Bed, count: number): Promise<number> {
  bed.context.progress(`  until all ${count} have been checked`);
  const endMs = nowMs() + SEEN_LIMIT_MS;
  for (;;) {
    const { monitors, lastFirstMs } = await bed.asks.seen();
    if (monitors >= count) return lastFirstMs;
    if (nowMs() > endMs) {
      throw new Error(
        `Only ${monitors} of ${count} monitors were checked in ${SEEN_LIMIT_MS / 1000} s.`,
      );
    }
    await pause(SEEN_STEP_MS);
  }
}

/** Collects arrivals in a window that begins after the first round. */
async function watch(
  bed: Bed,
  { server, data }: Awaited<ReturnType<Bed['start']>>,
  { windowMs, name }: { windowMs: number; name: string },
) {
  const { context, asks } = bed;
  context.progress(`  watching for ${Math.round(windowMs / 1000)} s`);
  const meter = startMeter({ ...bed, target: server.pid, cores: context.cores });
  const fromMs = nowMs();
  await pause(windowMs);
  const window = { fromMs, toMs: nowMs() };
  const { foreignCores, targetCores } = meter();
  // Only monitors that respond: a failed check is repeated immediately, outside the rhythm.
  const steady = data.gridded.filter(({ number }) => name !== 'many' || !isSilent(number));
  const rhythm = rhythmOf(steady, await asks.arrivals(), window);
  context.note(
    `${name}: seen at the target, ${rhythm.looks} looks, ${rhythm.missing} missing; the service itself says ${await ownLag(server.port)}.`,
  );
  context.detail(`  ${name}: ${figure(targetCores)} cores, others ${figure(foreignCores)}`);
  return { rhythm, foreignCores };
}

async function readEmpty(bed: Bed): Promise<number> {
  const started = await bed.start({ kind: 'page', count: 0, seconds: 60 });
  await pause(EMPTY_SETTLE_MS);
  const mebibytes = residentMiB(started.server.pid);
  await bed.end(started);
  return mebibytes;
}
