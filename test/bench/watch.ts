import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Area, BenchContext } from './area.ts';
import { pinned } from './cores.ts';
import { median } from './passes.ts';
import { figure } from './table.ts';
import { startProcess } from './target-process.ts';
import { type WatchReading, WatchReadings } from './watch-readings.ts';

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

/** How many of so many monitors go down. */
const CASES: Record<string, (monitors: number) => number> = {
  none: () => 0,
  ten: () => 10,
  all: (monitors) => monitors,
};

/** The bot's look at a long list, and the telling of what came of it. */
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
    for (const [name, downOf] of Object.entries(CASES)) {
      if (only !== undefined && name !== only) continue;
      progress(name);
      const changed = downOf(MONITORS[size]);
      const readings = await measure(context, {
        port: service.port,
        changed,
        passes: PASSES[size],
        name,
      });
      rows.push(rowOf(`${MONITORS[size]} monitors, ${changed} go down`, readings));
    }
    await service.stop();
    note(
      `Blocks are milliseconds, and the goal is ${BLOCK_GOAL_MS}. Own is CPU time of the main thread alone.`,
    );
    return { header: HEADER, rows };
  },
};

async function measure(
  { cores, folder, profile, detail }: BenchContext,
  { port, changed, passes, name }: { port: number; changed: number; passes: number; name: string },
): Promise<WatchReading[]> {
  const data = await mkdtemp(join(folder, 'watch-'));
  const profiling = profile
    ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`]
    : [];
  const args = [...profiling, own('watch-bot.js'), ...[port, data, changed, passes].map(String)];
  const [command = '', ...rest] = pinned(cores.target, [process.execPath, ...args]);
  const { stdout, stderr } = await run(command, rest, { timeout: LIMIT_MS });
  if (stderr !== '') throw new Error(`${name}: the bot complained:\n${stderr}`);
  const readings = WatchReadings.parse(JSON.parse(stdout));
  for (const reading of readings) detail(`${name} ${JSON.stringify(reading)}`);
  return readings;
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
