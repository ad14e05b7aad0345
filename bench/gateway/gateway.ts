import type { Area, BenchContext } from '../shared/area.ts';
import { type Finding, NOISY_CORES } from '../shared/finding.ts';
import { inTurn, quietest } from '../shared/passes.ts';
import { inWords, type Reading, read } from '../shared/reading.ts';
import type { TargetProcess } from '../shared/target-process.ts';
import { problemOfPlain, problemOfStream } from './answers.ts';
import { besidePortkey, findingOf, type PassReadings, SUBJECTS, type Subject } from './findings.ts';
import { type Cell, GROUPS, MEASURES } from './measures.ts';
import { chatRequest } from './requests.ts';
import { type GatewayTargets, prepareTargets } from './targets.ts';

const FULL = { passes: 5, firstWarmUpMs: 1_500, warmUpMs: 400, windowShare: 1 };
const QUICK = { passes: 2, firstWarmUpMs: 700, warmUpMs: 200, windowShare: 0.35 };

/** The model gateway beside a bare pass-through of Node, its upstream alone, and Portkey's gateway where it is asked for. */
export const gateway: Area = {
  measures: MEASURES.map(({ name }) => name),
  peers: ['portkey'],
  run,
};

const WARM_UP_CONNECTIONS = 32;

const sizeOf = ({ quick }: BenchContext) => (quick ? QUICK : FULL);

/** A pass that would end later is not begun: of one more target, or beside others, each takes longer. */
const LIMIT_MS = 270_000;

type NamedCell = [name: string, cell: Cell];

interface Run {
  /** Group and pass. */
  label: string;
  warmUpAnswers: number;
  pass: number;
  targets: GatewayTargets;
  context: BenchContext;
}

async function run(context: BenchContext): Promise<Finding[]> {
  const { only, progress, note } = context;
  const { passes } = sizeOf(context);
  const measures = MEASURES.filter(({ name }) => only === undefined || name === only);
  const readings = new Map<string, PassReadings[]>(measures.map(({ cell }) => [cell, []]));
  const startMs = performance.now();
  const targets = await prepareTargets(context);
  for (let pass = 0; pass < passes; pass += 1) {
    const soFarMs = performance.now() - startMs;
    if (pass > 0 && (soFarMs * (pass + 1)) / pass > LIMIT_MS) {
      note(`There are ${pass} passes of ${passes}: one more would have taken too long.`);
      break;
    }
    for (const [name, group] of Object.entries(GROUPS)) {
      const wanted = Object.entries(group.cells).filter(([cell]) => readings.has(cell));
      if (wanted.length === 0) continue;
      progress(`pass ${pass + 1} of ${passes}: ${name}`);
      const { warmUpAnswers } = group;
      const label = `${name}-${pass + 1}`;
      const found = await measureGroup(wanted, { label, warmUpAnswers, pass, targets, context });
      for (const [cell] of wanted) readings.get(cell)?.push(found.get(cell) ?? {});
    }
  }
  await targets.upstream.stop();
  return measures.flatMap((measure) => {
    const found = readings.get(measure.cell) ?? [];
    const beside = targets.portkey ? [besidePortkey(measure, found)] : [];
    return [findingOf(measure, found, note), ...beside];
  });
}

/** One pass over the cells of a group. */
async function measureGroup(cells: NamedCell[], run: Run): Promise<Map<string, PassReadings>> {
  const found = new Map<string, PassReadings>(cells.map(([name]) => [name, {}]));
  const { portkey } = run.targets;
  const subjects = SUBJECTS.filter((subject) => subject !== 'portkey' || portkey);
  for (const subject of inTurn(run.pass, subjects)) {
    const loads = cells.filter(([, cell]) => subject !== 'alone' || cell.alone);
    if (loads.length === 0) continue;
    for (const [name, reading] of await measureSubject(subject, loads, run)) {
      Object.assign(found.get(name) ?? {}, { [subject]: reading });
    }
  }
  return found;
}

/** Starts a target, warms it up, loads it with every cell, and stops it. */
async function measureSubject(
  subject: Subject,
  loads: NamedCell[],
  { label, warmUpAnswers, targets, context }: Run,
): Promise<Map<string, Reading>> {
  const { firstWarmUpMs, warmUpMs, windowShare } = sizeOf(context);
  const target = await start(subject, targets, label);
  const helpers = [process.pid, targets.upstream.pid];
  const measure = async (
    [name, cell]: NamedCell,
    times: { warmUpMs: number; windowMs: number; leastAnswers?: number },
  ) => {
    const window = {
      ...cell,
      ...times,
      port: target.port,
      request: chatRequest({
        ...{ port: target.port, key: targets.key, body: cell.body },
        ...(subject === 'portkey' && targets.portkey && { headers: targets.portkey.headers }),
      }),
      problemOf: cell.stream ? problemOfStream : problemOfPlain,
    };
    try {
      return await read(window, { target: target.pid, helpers, cores: context.cores });
    } catch (cause) {
      target.checkAlive();
      targets.upstream.checkAlive();
      throw new Error(`${subject}, ${name}: ${(cause as Error).message}`, { cause });
    }
  };

  const [[name, cell] = []] = loads;
  if (name && cell && subject !== 'alone') {
    const warmUp = { ...cell, connections: WARM_UP_CONNECTIONS };
    const times = { warmUpMs: 0, windowMs: firstWarmUpMs, leastAnswers: warmUpAnswers };
    await measure([name, warmUp], times);
  }
  const readings = new Map<string, Reading>();
  for (const [name, cell] of loads) {
    const times = { warmUpMs, windowMs: cell.windowMs * windowShare };
    const reading = await quietest(
      () => measure([name, cell], times),
      ({ foreignCores }) => foreignCores,
      { bearable: NOISY_CORES, patience: context.patience },
    );
    context.detail(`  ${subject} ${name}: ${inWords(reading)}`);
    readings.set(name, reading);
  }
  await target.stop();
  return readings;
}

async function start(
  subject: Subject,
  targets: GatewayTargets,
  label: string,
): Promise<TargetProcess> {
  if (subject === 'reference') return await targets.startReference(label);
  if (subject === 'askwatch') return await targets.startAskwatch(label);
  if (subject === 'portkey' && targets.portkey) return await targets.portkey.start();
  // It runs all the time, and answers the others.
  return { ...targets.upstream, stop: async () => {} };
}
