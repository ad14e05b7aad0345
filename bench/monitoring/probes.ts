import { type Finding, noisyOf, type PassFigures } from '../shared/finding.ts';
import type { Bed } from './bed.ts';
import { findBlackboxExporter, startBlackboxExporter } from './blackbox-exporter.ts';
import { inWords, type Loop, readReference, readService, SECONDS } from './checks.ts';
import type { Kind } from './definitions.ts';
import { startMeter } from './meter.ts';
import { runSteadily } from './steadily.ts';

/** A kind of check that blackbox_exporter does, too. */
export interface ProbeMeasure {
  name: string;
  title: string;
  kind: Kind;
  /** The bare loop, the blackbox_exporter module and the targets. */
  loop: Loop;
  module: 'connect' | 'tls';
  targets: 'http' | 'https';
  monitors: number;
}

export const TCP: ProbeMeasure = {
  ...{ name: 'tcp', title: 'TCP checks', kind: 'port', loop: 'tcp' },
  ...{ module: 'connect', targets: 'http', monitors: 2_500 },
};

export const CERTIFICATE: ProbeMeasure = {
  ...{ name: 'certificate', title: 'CERTIFICATE checks', kind: 'certificate', loop: 'tls' },
  ...{ module: 'tls', targets: 'https', monitors: 500 },
};

const PASSES = { full: 3, quick: 1 };

const TIMES = {
  full: { warmUpMs: 4_000, windowMs: 8_000 },
  quick: { warmUpMs: 1_000, windowMs: 2_000 },
};

/**
 * Checks per CPU second of the service, of a bare loop and of blackbox_exporter, one after another on the same core and at the
 * same rate, in each of the passes. What it takes to be asked over HTTP belongs to blackbox_exporter, which is asked for each
 * probe, as scheduling, judging and keeping belongs to the service.
 */
export async function measureProbes(bed: Bed, measure: ProbeMeasure): Promise<Finding[]> {
  const { name, title, kind, loop, monitors } = measure;
  const { quick, note } = bed.context;
  const program = findBlackboxExporter();
  if (program === undefined) {
    note(`${title} are not measured beside blackbox_exporter: it is not installed.`);
  }
  const perSecond = monitors / SECONDS;
  const besideLoop: PassFigures[] = [];
  const besideExporter: PassFigures[] = [];
  const foreign: number[] = [];
  for (let pass = 0; pass < PASSES[quick ? 'quick' : 'full']; pass += 1) {
    const exporter = program === undefined ? undefined : await readExporter(bed, measure, program);
    const bare = await readReference(bed, loop, perSecond);
    const { done, used } = await readService(bed, kind, monitors);
    const askwatch = done / used.cpuSeconds;
    besideLoop.push({ askwatch, reference: bare.rate });
    if (exporter) besideExporter.push({ askwatch, reference: exporter.rate });
    foreign.push(Math.max(bare.foreign, used.foreignCores, exporter?.foreign ?? 0));
  }
  const common = { unit: '/CPU s', compare: 'ratio' as const, noisyPasses: noisyOf(foreign) };
  return [
    {
      ...{ ...common, name: `${name}-to-loop`, title: `${title}, to the bare loop` },
      passes: besideLoop,
    },
    ...(besideExporter.length === 0
      ? []
      : [
          {
            ...{ ...common, name: `${name}-to-exporter`, title: `${title}, to blackbox_exporter` },
            ...{ goal: { atLeast: 1 }, passes: besideExporter },
          },
        ]),
  ];
}

/** One pass of blackbox_exporter. */
async function readExporter(
  bed: Bed,
  { module, targets, monitors }: ProbeMeasure,
  program: string,
) {
  const { quick, cores, folder, progress, detail } = bed.context;
  const { warmUpMs, windowMs } = TIMES[quick ? 'quick' : 'full'];
  progress(`  blackbox_exporter, ${module}`);
  const { upstream, authority } = bed;
  const exporter = await startBlackboxExporter({ program, folder, authority, core: cores.target });
  const hosts = upstream[targets];
  const run = async (ms: number) =>
    await runSteadily(
      (number) => exporter.probe(module, hosts[number % hosts.length] ?? ''),
      monitors / SECONDS,
      ms,
    );
  await run(warmUpMs);
  const meter = startMeter({ ...bed, target: exporter.pid, cores });
  const { done } = await run(windowMs);
  const used = meter();
  await exporter.stop();
  detail(`  blackbox_exporter ${module}: ${inWords(done, used)}`);
  return { rate: done / used.cpuSeconds, foreign: used.foreignCores };
}
