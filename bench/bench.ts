import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { alerts } from './alerts/alerts.ts';
import { statusPage } from './console/console.ts';
import { discord } from './discord/discord.ts';
import { gateway } from './gateway/gateway.ts';
import { monitoring } from './monitoring/monitoring.ts';
import type { Area } from './shared/area.ts';
import { chooseCores, pinSelf } from './shared/cores.ts';
import { checkProc } from './shared/proc.ts';
import { reportLines } from './shared/report.ts';
import { slack } from './slack/slack.ts';
import { watch } from './watch/watch.ts';

const AREAS = new Map<string, Area>([
  ['gateway', gateway],
  ['monitoring', monitoring],
  ['watch', watch],
  ['alerts', alerts],
  ['slack', slack],
  ['discord', discord],
  ['console', statusPage],
]);

const USAGE = `Usage: npm run bench -- <area> [--quick] [--only <measure>] [--profile] [--verbose]

  --quick    fewer and shorter passes
  --only     one measure alone
  --profile  with CPU profiles of what is measured, in a folder that is kept
  --verbose  with every reading

${[...AREAS].map(([name, { measures }]) => `Area ${name}: ${measures.join(', ')}`).join('\n')}
`;

/** What measuring again may take, in all, when others disturb. */
const PATIENCE_MS = { full: 30_000, quick: 8_000 };

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  // Not the exit code alone: what was started may keep this process alive.
  process.exit(1);
}

/** Runs one area. Goals that are not met are no failure: this measures, and does not judge. */
async function main(): Promise<number> {
  const { values, positionals } = readArguments();
  const { quick = false, only } = values;
  const area = AREAS.get(positionals[0] ?? '');
  if (!area || positionals.length > 1 || (only !== undefined && !area.measures.includes(only))) {
    process.stderr.write(USAGE);
    return 2;
  }
  checkProc();
  endOnSignals();
  const cores = chooseCores();
  pinSelf(cores.load);
  const profile = values.profile ? mkdtempSync(join(tmpdir(), 'askwatch-profile-')) : undefined;
  const notes = [...(cores.note ? [cores.note] : [])];
  if (profile) notes.push(`The profiles are in ${profile}; taking them is part of the figures.`);
  const startMs = performance.now();
  const findings = await area.run({
    folder: temporaryFolder(),
    cores,
    quick,
    only,
    profile,
    patience: { repeats: 2, leftMs: quick ? PATIENCE_MS.quick : PATIENCE_MS.full },
    note: (text) => void notes.push(text),
    progress: tell,
    detail: values.verbose ? tell : () => {},
  });
  const seconds = Math.round((performance.now() - startMs) / 1000);
  const machine = `${quick ? 'quick run, ' : ''}${cpus().length} cores of ${cpus()[0]?.model.trim()}, Node ${process.version}, ${seconds} s`;
  process.stdout.write(['', ...reportLines(findings), ...notes, machine, ''].join('\n'));
  return 0;
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean' },
        only: { type: 'string' },
        profile: { type: 'boolean' },
        verbose: { type: 'boolean' },
      },
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
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
