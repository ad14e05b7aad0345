import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { alerts } from './alerts/alerts.ts';
import { ALL, type BenchRequest, readArguments } from './arguments.ts';
import { statusPage } from './console/console.ts';
import { discord } from './discord/discord.ts';
import { gateway } from './gateway/gateway.ts';
import { monitoring, probes, rhythm } from './monitoring/monitoring.ts';
import { postgresMany } from './postgres/many.ts';
import { postgres } from './postgres/postgres.ts';
import { type Area, type BenchContext, UnfinishedError } from './shared/area.ts';
import {
  type AreaRun,
  type BenchRun,
  checkFindings,
  parseRun,
  readRun,
  writtenRun,
} from './shared/bench-run.ts';
import { chooseCores, pinSelf } from './shared/cores.ts';
import { checkProc } from './shared/proc.ts';
import { againstLines, reportLines } from './shared/report.ts';
import { slack } from './slack/slack.ts';
import { start } from './start/start.ts';
import { watch } from './watch/watch.ts';

const AREAS = new Map<string, Area>([
  ['gateway', gateway],
  ['monitoring', monitoring],
  ['probes', probes],
  ['rhythm', rhythm],
  ['watch', watch],
  ['alerts', alerts],
  ['slack', slack],
  ['discord', discord],
  ['console', statusPage],
  ['start', start],
  ['postgres', postgres],
  ['postgres-many', postgresMany],
]);

/** Total time for repeated measurements after disturbances. */
const PATIENCE_MS = { full: 30_000, quick: 8_000 };

let exitCode = 1;
try {
  exitCode = await main();
} catch (error) {
  tell(error instanceof Error ? error.message : String(error));
}
// Not the exit code alone: what an area started may keep this process alive.
process.exit(exitCode);

/** Runs what is asked for. Goals that are not met are no failure: this measures, and does not judge. */
async function main(): Promise<number> {
  const request = requestOf(process.argv.slice(2));
  const against = request.against === undefined ? undefined : readRun(request.against);
  checkProc();
  endOnSignals();
  const run: BenchRun = {
    format: 'askwatch-bench-1',
    date: new Date().toISOString(),
    commit: commitOf(),
    node: process.version,
    machine: { cores: cpus().length, model: cpus()[0]?.model.trim() ?? '' },
    quick: request.quick,
    areas: [],
  };
  const print = (lines: readonly string[]) => {
    if (!request.json) process.stdout.write(['', ...lines, ''].join('\n'));
  };
  for (const name of request.area === ALL ? usualAreas() : [request.area]) {
    const area = await (request.area === ALL ? runApart(name, request) : runArea(name, request));
    run.areas.push(area);
    print(reportLines(area, against));
  }
  const { machine, node, quick } = run;
  print([
    ...(against ? againstLines(run, against) : []),
    `${quick ? 'quick run, ' : ''}${machine.cores} cores of ${machine.model}, Node ${node}`,
  ]);
  if (request.json) process.stdout.write(writtenRun(run));
  return run.areas.some(({ failure }) => failure !== undefined) ? 1 : 0;
}

const usualAreas = () =>
  [...AREAS].flatMap(([name, { isOnRequest }]) => (isOnRequest ? [] : [name]));

function requestOf(words: readonly string[]): BenchRequest {
  try {
    return readArguments(words, AREAS);
  } catch (error) {
    tell((error as Error).message);
    process.exit(2);
  }
}

async function runArea(name: string, request: BenchRequest): Promise<AreaRun> {
  const { quick, only, beside, verbose } = request;
  const cores = chooseCores();
  pinSelf(cores.load);
  const profile = request.profile ? mkdtempSync(join(tmpdir(), 'askwatch-profile-')) : undefined;
  const notes = [...(cores.note ? [cores.note] : [])];
  if (profile) notes.push(`The profiles are in ${profile}; taking them is part of the figures.`);
  const context: BenchContext = {
    folder: temporaryFolder(),
    ...{ cores, quick, only, beside, profile },
    patience: { repeats: 2, leftMs: quick ? PATIENCE_MS.quick : PATIENCE_MS.full },
    note: (text) => void notes.push(text),
    progress: tell,
    detail: verbose ? tell : () => {},
  };
  const startMs = performance.now();
  const seconds = () => (performance.now() - startMs) / 1000;
  try {
    const findings = (await AREAS.get(name)?.run(context)) ?? [];
    checkFindings(findings);
    return { name, seconds: seconds(), notes, findings };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    if (request.json) tell(failure);
    const findings = error instanceof UnfinishedError ? error.found : [];
    return { name, seconds: seconds(), failure, notes, findings };
  }
}

/** Runs an area in its own process, so that it can't affect the next one. */
async function runApart(name: string, { quick, profile, verbose }: BenchRequest): Promise<AreaRun> {
  tell(`\n${name}`);
  const startMs = performance.now();
  const options = Object.entries({ quick, profile, verbose })
    .filter(([, isOn]) => isOn)
    .map(([option]) => `--${option}`);
  const args = [fileURLToPath(import.meta.url), name, '--json', ...options];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = () => child.kill();
  process.once('exit', end);
  const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  process.off('exit', end);
  try {
    const [area] = parseRun(output).areas;
    if (area) return area;
  } catch {
    // It ended before it could say why.
  }
  const failure = `Its process ended with ${code ?? signal}.`;
  return { name, seconds: (performance.now() - startMs) / 1000, failure, notes: [], findings: [] };
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** The commit of the files that were built, if git knows it. */
function commitOf(): string | null {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no');
    return git('rev-parse', 'HEAD') + (changed === '' ? '' : '+');
  } catch {
    return null;
  }
}

/** Whatever ends this process, what it started ends with it, and its folder goes. */
function endOnSignals(): void {
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'askwatch-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
