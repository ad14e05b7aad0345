import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type Finding, noisyOf } from '../shared/finding.ts';
import { WrongAnswerError } from '../shared/load.ts';
import { figure } from '../shared/table.ts';
import type { Bed } from './bed.ts';
import type { Kind } from './definitions.ts';
import { startMeter, type Used } from './meter.ts';
import { checksDone, get } from './server.ts';

/** The shortest interval that a monitor can have. */
export const SECONDS = 5;

/** More failures than this among the checks, and the figure is none. */
const BEARABLE_FAILURES = 0.01;

/** The bare loops there are. */
export type Loop = 'http' | 'https' | 'dns' | 'tcp' | 'tls';

/** A kind of check whose cost is measured. */
export interface CheckMeasure {
  name: string;
  title: string;
  kind: Kind;
  /** A CPU second, where that is a goal by itself. */
  atLeast?: number;
  /** The reference loop at the same rate, and the goal for the ratio to it. */
  beside: { loop: Loop; atLeast: number };
  /** Few enough that no core is always busy, so that both are measured at the requested rate. */
  monitors: { full: number; quick: number };
}

const TIMES = {
  full: { warmUpMs: 12_000, windowMs: 12_000, referenceMs: 4_000 },
  quick: { warmUpMs: 5_000, windowMs: 3_000, referenceMs: 2_000 },
};

/** Checks per CPU second of the service, and of the bare loop at the same rate before and after it. */
export async function measureChecks(bed: Bed, measure: CheckMeasure): Promise<Finding[]> {
  const { name, kind, title, atLeast, beside, monitors } = measure;
  const { quick } = bed.context;
  const count = monitors[quick ? 'quick' : 'full'];
  const perSecond = count / SECONDS;
  const before = await readReference(bed, beside.loop, perSecond);
  const { done, used } = await readService(bed, kind, count);
  const after = quick ? [] : [await readReference(bed, beside.loop, perSecond)];
  const references = [before, ...after];
  bed.context.note(
    `${title}: the bare loop beside it ran at ${figure(perSecond)} checks a second, the service reached ${figure(done / used.wallSeconds)}.`,
  );
  const foreignCores = Math.max(used.foreignCores, ...references.map(({ foreign }) => foreign));
  const reference = references.reduce((sum, { rate }) => sum + rate, 0) / references.length;
  const common = {
    unit: '/CPU s',
    passes: [{ askwatch: done / used.cpuSeconds, reference }],
    noisyPasses: noisyOf([foreignCores]),
  };
  const byItself: Finding[] =
    atLeast === undefined ? [] : [{ ...common, name, title, compare: 'itself', goal: { atLeast } }];
  return [...byItself, { ...common, ...besideLoop(measure) }];
}

/** One pass of the service with so many monitors of a kind: the checks that it did, and what they took. */
export async function readService(
  bed: Bed,
  kind: Kind,
  count: number,
): Promise<{ done: number; used: Used }> {
  const { quick, progress, detail } = bed.context;
  const { warmUpMs, windowMs } = TIMES[quick ? 'quick' : 'full'];
  const started = await bed.start({ kind, count, seconds: SECONDS });
  const { server } = started;
  progress(`  checking ${count} monitors every ${SECONDS} s`);
  await pause(warmUpMs);
  const from = await checksDone(server.port);
  const meter = startMeter({ ...bed, target: server.pid, cores: bed.context.cores });
  await pause(windowMs);
  const used = meter();
  const to = await checksDone(server.port);
  await bed.end(started);
  const done = countSince(from, to);
  detail(`  askwatch ${kind}: ${inWords(done, used)}`);
  return { done, used };
}

const besideLoop = ({ name, title, beside }: CheckMeasure) => ({
  name: `${name}-to-loop`,
  title: `${title}, to the bare loop`,
  compare: 'ratio' as const,
  goal: { atLeast: beside.atLeast },
});

function countSince(from: Map<string, number>, to: Map<string, number>): number {
  const since = [...to].map(
    ([outcome, count]) => [outcome, count - (from.get(outcome) ?? 0)] as const,
  );
  const all = since.reduce((sum, [, count]) => sum + count, 0);
  const passed = since.find(([outcome]) => outcome === 'ok')?.[1] ?? 0;
  if (all === 0) throw new Error('Not one check was done.');
  if (passed < all * (1 - BEARABLE_FAILURES)) {
    const found = since.filter(([, count]) => count > 0).map((entry) => entry.join(' '));
    throw new WrongAnswerError(`Checks failed that should pass: ${found.join(', ')}.`);
  }
  return all;
}

/** One pass of a bare loop. */
export async function readReference(bed: Bed, loop: Loop, perSecond: number) {
  const { quick, cores, progress, detail } = bed.context;
  const { referenceMs } = TIMES[quick ? 'quick' : 'full'];
  progress(`  the bare loop of ${loop}`);
  const reference = await bed.startReference();
  const run = async (ms: number) =>
    z
      .object({ done: z.number() })
      .parse(
        JSON.parse(await get(reference.port, `/run?loop=${loop}&perSecond=${perSecond}&ms=${ms}`)),
      );
  await run(referenceMs / 2);
  const meter = startMeter({ ...bed, target: reference.pid, cores });
  const { done } = await run(referenceMs);
  const used = meter();
  await reference.stop();
  detail(`  reference ${loop}: ${inWords(done, used)}`);
  return { rate: done / used.cpuSeconds, foreign: used.foreignCores };
}

export function inWords(done: number, used: Used): string {
  const { wallSeconds, cpuSeconds, targetCores, foreignCores } = used;
  return [
    `${done} in ${figure(wallSeconds)} s`,
    `${figure((cpuSeconds / done) * 1e6)} µs each`,
    `${figure(targetCores)} cores, others ${figure(foreignCores)}`,
  ].join(', ');
}
