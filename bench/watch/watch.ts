import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Area, type BenchContext, runMeasures } from '../shared/area.ts';
import { pinned } from '../shared/cores.ts';
import type { Finding, Goal } from '../shared/finding.ts';
import { startProcess } from '../shared/target-process.ts';
import { type WatchReading, WatchReadings } from './readings.ts';

const run = promisify(execFile);

// This runs from dist/bench/.
const own = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const LISTENING = /listening on (\d+)\./;
const LIMIT_MS = 600_000;

/** The loop also serves people: nothing that watching does may hold it longer. */
const BLOCK_GOAL = { atMost: 50 };

const MONITORS = { full: 10_000, quick: 2_000 };
/** Monitors of a service with a changes route. */
const MANY = { full: 100_000, quick: 20_000 };
const PASSES = { full: 5, quick: 3 };

interface Case {
  /** Monitors go down, come back, or are seen for the first time ever. */
  what: 'down' | 'back' | 'first';
  /** The number of monitors that go down, or are down at first. */
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

const hundredth = (monitors: number) => monitors / 100;

const changes = (monitors: number, changed: number) =>
  `${monitors} monitors by changes, ${changed} go down`;

const BY_CHANGES: Record<string, Case> = {
  'changes-none': { what: 'down', of: none, title: changes },
  'changes-hundredth': { what: 'down', of: hundredth, title: changes },
};

/** The bot's poll of a long list, or of the changes of a longer one, and the delivery of the alerts. */
export const watch: Area = {
  measures: [...Object.keys(CASES), ...Object.keys(BY_CHANGES)],
  async run(context) {
    const { quick, cores, note } = context;
    const size = quick ? 'quick' : 'full';
    const start = async (count: number, by: By) =>
      await startProcess({
        name: 'The service',
        args: [own('watch-service.js'), String(count), by],
        ready: LISTENING,
        core: cores.load,
      });
    const measureCase = async (count: number, by: By, [name, one]: [string, Case]) => {
      const service = await start(count, by);
      const changed = one.of(count);
      const given = { port: service.port, what: one.what, changed, passes: PASSES[size], name, by };
      const readings = await measure(context, given);
      await service.stop();
      return findingsOf({ name, title: one.title(count, changed) }, readings);
    };
    const measuresOf = (cases: Record<string, Case>, count: number, by: By) =>
      Object.entries(cases).map((one) => [one[0], () => measureCase(count, by, one)] as const);
    const measures = [
      ...measuresOf(CASES, MONITORS[size], 'list'),
      ...measuresOf(BY_CHANGES, MANY[size], 'changes'),
    ];
    const findings = await runMeasures(context, Object.fromEntries(measures), undefined);
    note(
      'The own block is CPU time of the main thread alone. Every first poll is in a new process.',
    );
    return findings;
  },
};

/** Routes that the service offers. */
type By = 'list' | 'changes';

interface Given {
  port: number;
  what: Case['what'];
  changed: number;
  passes: number;
  name: string;
  by: By;
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
  { port, what, changed, passes, name, by }: Given,
): Promise<WatchReading[]> {
  const data = await mkdtemp(join(folder, 'watch-'));
  // Only the last process's profile is kept.
  const profiling = profile
    ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`]
    : [];
  const asked = [port, data, what, changed, passes, by].map(String);
  const args = [...profiling, own('watch-bot.js'), ...asked];
  const [command = '', ...rest] = pinned(cores.target, [process.execPath, ...args]);
  const { stdout, stderr } = await run(command, rest, { timeout: LIMIT_MS });
  if (stderr !== '') throw new Error(`${name}: the bot complained:\n${stderr}`);
  return WatchReadings.parse(JSON.parse(stdout));
}

function findingsOf(
  { name, title }: { name: string; title: string },
  readings: readonly WatchReading[],
): Finding[] {
  const found = (
    what: string,
    { of, unit, goal }: { of: (reading: WatchReading) => number; unit: string; goal?: Goal },
  ): Finding => ({
    ...{ name: `${name}-${what.replaceAll(' ', '-')}`, title: `${title}: ${what}` },
    ...{ unit, compare: 'itself', goal },
    passes: readings.map((reading) => ({ askwatch: of(reading) })),
  });
  return [
    found('own block', { of: ({ ownBlockMs }) => ownBlockMs, unit: 'ms', goal: BLOCK_GOAL }),
    found('block', { of: ({ blockMs }) => blockMs, unit: 'ms' }),
    found('CPU', { of: ({ cpuMs }) => cpuMs, unit: 'ms' }),
    found('written', { of: ({ writtenBytes }) => writtenBytes / 1024, unit: 'KiB' }),
  ];
}
