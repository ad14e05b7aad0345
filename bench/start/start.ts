import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Area, BenchContext } from '../shared/area.ts';
import { askwatchReady } from '../shared/askwatch-process.ts';
import type { Finding } from '../shared/finding.ts';
import { inTurn } from '../shared/passes.ts';
import { cpuNs, residentMiB } from '../shared/proc.ts';
import { figure } from '../shared/table.ts';
import { startProcess } from '../shared/target-process.ts';

// This runs from dist/bench/, beside the program that it measures.
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));
const BARE = fileURLToPath(new URL('start-bare.js', import.meta.url));

const PASSES = { full: 5, quick: 1 };
/** From being ready to the reading of the memory. */
const IDLE_MS = { full: 10_000, quick: 2_000 };

/** One thing that is started. */
interface Subject {
  name: string;
  title: string;
  program: string;
  ready: RegExp;
  roles?: string;
  /** The folder of each start; undefined where none is used. */
  folder(): Promise<string> | string;
  goals?: { ready: number; idle: number };
}

interface Reading {
  /** CPU time from the start of the process until it printed that it is ready, in all threads. */
  cpuMs: number;
  residentMiB: number;
}

/** The cost of a start of the whole program, and its memory when idle. */
export const start: Area = {
  measures: ['ready', 'idle'],
  async run(context) {
    const { quick, only, note, progress, detail } = context;
    const subjects = await subjectsIn(context);
    const readings = new Map<Subject, Reading[]>(subjects.map((one) => [one, []]));
    for (let pass = 0; pass < PASSES[quick ? 'quick' : 'full']; pass += 1) {
      progress(`pass ${pass + 1}`);
      const taken = await readAll(context, inTurn(pass, subjects));
      for (const [subject, reading] of taken) {
        detail(`${subject.title}: ${figure(reading.cpuMs)} ms, ${figure(reading.residentMiB)} MiB`);
        readings.get(subject)?.push(reading);
      }
    }
    note('The reference is a bare Node process with a server of node:http and pino.');
    const measures: Measure[] = [
      { name: 'ready', title: 'CPU until ready', unit: 'ms', key: 'cpuMs' },
      { name: 'idle', title: 'memory at idle', unit: 'MiB', key: 'residentMiB' },
    ];
    return measures
      .filter(({ name }) => only === undefined || only === name)
      .flatMap((measure) => findingsOf(measure, readings));
  },
};

interface Measure {
  name: 'ready' | 'idle';
  title: string;
  unit: string;
  key: keyof Reading;
}

/** A finding for each subject, with the bare service as the reference. */
function findingsOf(
  { name, title, unit, key }: Measure,
  readings: ReadonlyMap<Subject, readonly Reading[]>,
): Finding[] {
  const [bare = [], ...others] = readings.values();
  const [, ...subjects] = readings.keys();
  return subjects.map((subject, at) => ({
    ...{ name: `${name}-${subject.name}`, title: `${title}, ${subject.title}`, unit },
    compare: 'itself',
    ...(subject.goals && { goal: { atMost: subject.goals[name] } }),
    passes: (others[at] ?? []).map((reading, pass) => ({
      askwatch: reading[key],
      ...(bare[pass] && { reference: bare[pass][key] }),
    })),
  }));
}

async function subjectsIn({ folder }: BenchContext): Promise<Subject[]> {
  const empty = () => mkdtemp(join(folder, 'start-'));
  const askwatch = { program: PROGRAM, ready: new RegExp(askwatchReady) };
  const goals = { ready: 700, idle: 85 };
  const [all, gateway] = [await empty(), await empty()];
  return [
    {
      name: 'bare',
      title: 'a bare Node process',
      program: BARE,
      ready: /port (\d+)/,
      folder: () => folder,
    },
    { ...askwatch, name: 'new', title: 'all roles, new data', folder: empty, goals },
    {
      ...askwatch,
      name: 'existing',
      title: 'all roles, data of an earlier start',
      folder: () => all,
      goals,
    },
    {
      ...askwatch,
      name: 'gateway',
      title: 'gateway alone',
      roles: 'gateway',
      folder: () => gateway,
    },
  ];
}

/** Starts them one after another, and lets them idle together. */
async function readAll(
  { cores, quick }: BenchContext,
  subjects: readonly Subject[],
): Promise<Array<[Subject, Reading]>> {
  const started: Array<{ subject: Subject; cpuMs: number; readyMs: number; pid: number }> = [];
  const stops: Array<() => Promise<void>> = [];
  for (const subject of subjects) {
    const { title: name, program, ready, roles } = subject;
    const data = await subject.folder();
    const env = { DATA_DIR: data, PORT: '0', LOG_LEVEL: 'warn' };
    const target = await startProcess({
      ...{ name, ready, args: [program], core: cores.target, cwd: data },
      env: { ...env, ...(roles && { ASKWATCH_ROLES: roles }) },
    });
    const { pid } = target;
    started.push({ subject, cpuMs: cpuNs(pid) / 1e6, readyMs: performance.now(), pid });
    stops.push(target.stop);
  }
  const taken: Array<[Subject, Reading]> = [];
  for (const { subject, cpuMs, readyMs, pid } of started) {
    await pause(Math.max(0, readyMs + IDLE_MS[quick ? 'quick' : 'full'] - performance.now()));
    taken.push([subject, { cpuMs, residentMiB: residentMiB(pid) }]);
  }
  await Promise.all(stops.map((stop) => stop()));
  return taken;
}
