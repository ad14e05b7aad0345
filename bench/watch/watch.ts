import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Area, BenchContext } from '../shared/area.ts';
import { pinned } from '../shared/cores.ts';
import { median } from '../shared/passes.ts';
import { figure } from '../shared/table.ts';
import { startProcess } from '../shared/target-process.ts';
import { type WatchReading, WatchReadings } from './readings.ts';

const run = promisify(execFile);

// This runs from dist/bench/.
const own = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const LISTENING = /listening on (\d+)\./;
const LIMIT_MS = 600_000;

/** The loop also serves people: nothing that watching does may hold it longer. */
const BLOCK_GOAL_MS = 50;

const MONITORS = { full: 10_000, quick: 2_000 };
const PASSES = { full: 5, quick: 3 };

const HEADER = ['look and tell', 'own block', 'block', 'least', 'CPU ms', 'least', 'KiB', 'ms'];

interface Case {
  /** Monitors go down, come back, or are seen for the first time ever. */
  what: 'down' | 'back' | 'first';
  /** How many of so many do, or are down when they are first seen. */
  of: (monitors: number) => number;
  title: (monitors: number, changed: number) => string;
}

const none = () => 0;
const ten = () => 10;
const all = (monitors: number) => monitors;

const goDown = (monitors: number, changed: number) => `${monitors} monitors, ${changed} go down`;
const comeBack = (monitors: number) => `${monitors} monitors come back`;
const firstSeen = (monitors: number, down: number) => `${monitors} seen first, ${down} are down`;

const CASES: Record<string, Case> = {
  none: { what: 'down', of: none, title: goDown },
  ten: { what: 'down', of: ten, title: goDown },
  all: { what: 'down', of: all, title: goDown },
  back: { what: 'back', of: all, title: comeBack },
  'first-none': { what: 'first', of: none, title: firstSeen },
  'first-ten': { what: 'first', of: ten, title: firstSeen },
  'first-all': { what: 'first', of: all, title: firstSeen },
};

/** The bot's poll of a long list, and the telling of what came of it. */
export const watch: Area = {
  measures: Object.keys(CASES),
  async run(context) {
    const { only, quick, cores, progress, note } = context;
    const size = quick ? 'quick' : 'full';
    const service = await startProcess({
      name: 'The service',
      args: [own('watch-service.js'), String(MONITORS[size])],
      ready: LISTENING,
      core: cores.load,
    });
    const rows: string[][] = [];
    for (const [name, { what, of, title }] of Object.entries(CASES)) {
      if (only !== undefined && name !== only) continue;
      progress(name);
      const changed = of(MONITORS[size]);
      const given = { port: service.port, what, changed, passes: PASSES[size], name };
      rows.push(rowOf(title(MONITORS[size], changed), await measure(context, given)));
    }
    await service.stop();
    note(
      `Blocks are milliseconds, and the goal is ${BLOCK_GOAL_MS}. Own is CPU time of the main thread alone. Every first check is in a new process.`,
    );
    return { header: HEADER, rows };
  },
};

interface Given {
  port: number;
  what: Case['what'];
  changed: number;
  passes: number;
  name: string;
}

/** A first poll is one a process; the others are as many as there are passes. */
async function measure(context: BenchContext, given: Given): Promise<WatchReading[]> {
  const processes = given.what === 'first' ? given.passes : 1;
  const readings: WatchReading[] = [];
  for (let at = 0; at < processes; at += 1) readings.push(...(await runBot(context, given)));
  for (const reading of readings) context.detail(`${given.name} ${JSON.stringify(reading)}`);
  return readings;
}

async function runBot(
  { cores, folder, profile }: BenchContext,
  { port, what, changed, passes, name }: Given,
): Promise<WatchReading[]> {
  const data = await mkdtemp(join(folder, 'watch-'));
  // Of several processes, the profile of the last one is kept.
  const profiling = profile
    ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`]
    : [];
  const asked = [port, data, what, changed, passes].map(String);
  const args = [...profiling, own('watch-bot.js'), ...asked];
  const [command = '', ...rest] = pinned(cores.target, [process.execPath, ...args]);
  const { stdout, stderr } = await run(command, rest, { timeout: LIMIT_MS });
  if (stderr !== '') throw new Error(`${name}: the bot complained:\n${stderr}`);
  return WatchReadings.parse(JSON.parse(stdout));
}

/** Medians over the passes; beside them the least, since whatever else runs only adds to these. */
function rowOf(title: string, readings: readonly WatchReading[]): string[] {
  const of = (key: keyof WatchReading) => readings.map((reading) => reading[key]);
  const least = (key: keyof WatchReading) => figure(Math.min(...of(key)));
  return [
    title,
    figure(median(of('ownBlockMs'))),
    figure(median(of('blockMs'))),
    least('blockMs'),
    figure(median(of('cpuMs'))),
    least('cpuMs'),
    figure(median(of('writtenBytes')) / 1024),
    figure(median(of('wallMs'))),
  ];
}
