import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import { parse } from 'yaml';
import { createLog } from '../app/log.ts';
import { assertStarted, openStore } from '../app/open-store.ts';
import { plain } from '../app/plain.ts';
import { platforms } from '../app/platforms.ts';
import { type Settings, secretVariables } from '../app/settings.ts';
import { readMonitors } from '../monitoring/monitors/stored-monitor.ts';
import type { FileMonitor } from '../monitoring/provisioning/definitions.ts';
import { type ExistingMonitor, type Plan, planFor } from '../monitoring/provisioning/plan.ts';
import { planData, planLines, questionLines } from '../monitoring/provisioning/plan-lines.ts';
import { DefinitionsError, problemLine } from '../monitoring/provisioning/problem.ts';
import {
  confirmedRemovals,
  confirmRemoval,
  type ProvisioningState,
} from '../monitoring/provisioning/provisioning.ts';
import { readMonitorsFile } from '../monitoring/provisioning/read.ts';
import { exportDefinitions } from '../monitoring/provisioning/write-definitions.ts';
import {
  CommandLineError,
  type CommandRun,
  type PrintedResult,
  type PrintOptions,
} from './command.ts';
import { loadSettings, type RunningProgram, reachRunning } from './control-client.ts';
import { type ImportSource, importMonitors } from './import/import-monitors.ts';
import { isSqlite, readKumaDatabase } from './import/kuma-file.ts';
import { Progress } from './progress.ts';

/** Time that `apply` waits for the running program. */
const APPLY_LIMIT_MS = 10 * 60_000;

/** Pause between two plans during the wait, because a plan of 10,000 monitors takes 2 seconds. */
const PLAN_MS = 5_000;

/** Largest file that is imported. */
const MAX_IMPORT_BYTES = 20 * 1024 * 1024;

export async function planMonitors(
  file: string | undefined,
  _: unknown,
  run: CommandRun,
): Promise<PrintedResult> {
  return await withMonitors(run, async (reached) => {
    const { monitorsFile } = reached.settings;
    const path = file ?? monitorsFile;
    if (path === undefined) {
      throw new CommandLineError(
        'Missing file: askwatch monitors plan <file>, or set MONITORS_FILE.',
      );
    }
    const plan = await planOf(reached, path);
    return { data: planData(plan), lines: shownPlan(plan), code: isEmpty(plan) ? 0 : 2 };
  });
}

/** `MONITORS_FILE` also accepts it as JSON. */
export async function exportMonitors(_: unknown, run: CommandRun): Promise<PrintedResult> {
  return await withMonitors(run, async ({ standing }) => {
    const text = exportDefinitions(await standing());
    return fileResult(text);
  });
}

function shownPlan(plan: Plan): string[] {
  return planLines(plan).map((line) =>
    plain(line).replace(/^[-+~=](?= )/, (sign) => styleText(SIGN_COLOURS[sign] ?? 'reset', sign)),
  );
}

const SIGN_COLOURS: Record<string, 'green' | 'yellow' | 'red'> = {
  ...{ '+': 'green', '~': 'yellow', '=': 'yellow', '-': 'red' },
};

const isEmpty = ({ steps }: Plan) => steps.length === 0;

interface Reached {
  settings: Settings;
  standing(): Promise<ExistingMonitor[]>;
  answer(answer: string): Promise<void>;
  /** Progress of the running program with its file; absent if no program runs here. */
  state?(): Promise<ProvisioningState | undefined>;
}

/** Through the control socket of the running program, else in the data folder, or in the database. */
async function withMonitors<T>(
  { program: { version } }: CommandRun,
  use: (reached: Reached) => Promise<T>,
): Promise<T> {
  const settings = loadSettings();
  const running = await reachRunning(settings);
  if (running) {
    try {
      return await use({ settings, ...runningMonitors(running) });
    } finally {
      await running.close();
    }
  }
  if (!settings.database && !existsSync(settings.dataDir)) {
    // A file can be planned before the first start, and a plan creates nothing.
    return await use({
      settings,
      standing: async () => [],
      answer: async () => assertStarted(settings),
    });
  }
  const log = createLog({ level: 'warn', format: settings.logFormat, secrets: settings.secrets });
  const { store } = await openStore(settings, { version, log });
  try {
    return await use({
      settings,
      // Only the running program knows which monitors are paused, except the ones that left their file.
      standing: async () =>
        (await readMonitors(store)).map((monitor) => ({
          ...monitor,
          isPaused: monitor.managedBy?.leftAtMs !== undefined,
        })),
      answer: (answer) => confirmRemoval(store.collection(confirmedRemovals), answer, Date.now()),
    });
  } finally {
    await store.close();
  }
}

function runningMonitors(running: RunningProgram): Omit<Reached, 'settings'> {
  return {
    async standing() {
      const answer = await running.send('GET', 'monitors');
      if (!answer) throw new CommandLineError(OLDER);
      const lines = (await text(answer)).split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line) as ExistingMonitor);
    },
    async answer(answer) {
      const done = await running.ask('POST', 'monitors/file/answer', { body: { answer } });
      if (!done) throw new CommandLineError(OLDER);
    },
    async state() {
      const state = await running.ask<Partial<ProvisioningState>>('GET', 'monitors/file');
      return state?.state === undefined ? undefined : (state as ProvisioningState);
    },
  };
}

const OLDER =
  'The running Askwatch has no monitoring service, or is older than this command. Restart it with the role monitoring first.';

async function planOf({ settings, standing }: Reached, file: string): Promise<Plan> {
  const wanted = await readMonitorsFile({
    path: file,
    taboo: secretVariables,
    allowPrivate: settings.allowPrivate,
    platforms: platforms.map(({ name }) => name),
  }).catch((error) => {
    throw withProblems(error);
  });
  const there = await standing();
  const isFollowed = settings.monitorsFile !== undefined && file === settings.monitorsFile;
  return await planFor(isFollowed ? wanted : asIfFollowed(wanted, there), there, Date.now());
}

/** Another file name than the followed one is no change. */
function asIfFollowed(
  wanted: readonly FileMonitor[],
  there: readonly ExistingMonitor[],
): FileMonitor[] {
  const files = new Map(
    there.flatMap(({ managedBy }) => (managedBy ? [[managedBy.key, managedBy.file] as const] : [])),
  );
  return wanted.map((one) => ({ ...one, file: files.get(one.key) ?? one.file }));
}

interface ApplyOptions extends PrintOptions {
  yes?: boolean;
}

export async function applyMonitors(
  file: string | undefined,
  options: ApplyOptions,
  run: CommandRun,
): Promise<PrintedResult> {
  return await withMonitors(run, (reached) => apply(reached, { file, ...options }, run));
}

async function apply(
  reached: Reached,
  options: ApplyOptions & { file: string | undefined },
  run: CommandRun,
): Promise<PrintedResult> {
  const { monitorsFile, database } = reached.settings;
  const { file = monitorsFile ?? '<file>' } = options;
  if (monitorsFile === undefined || resolve(file) !== resolve(monitorsFile)) {
    throw new CommandLineError(
      `askwatch monitors apply works only with the file in MONITORS_FILE, which is ${monitorsFile ?? 'not set'}. Set it and restart Askwatch. To see what another file would change, use askwatch monitors plan ${file}.`,
    );
  }
  const plan = await planOf(reached, monitorsFile);
  const lines = shownPlan(plan);
  const withState = (state: 'unconfirmed' | 'waiting' | 'applied') => ({
    state,
    ...planData(plan),
  });
  if (plan.question && !options.yes) return { data: withState('unconfirmed'), lines, code: 2 };
  if (plan.question) await reached.answer(plan.question.answer);
  const shown = lines.slice(0, lines.length - questionLines(plan).length);
  const quietLines: string[] = [];
  if (isEmpty(plan)) return { data: withState('applied'), lines: shown, quietLines };
  if (!reached.state) {
    const when = database
      ? 'The processes that use the database apply this within seconds; monitors plan shows what is left.'
      : 'Askwatch is not running. It applies this when it starts.';
    return { data: withState('waiting'), lines: [...shown, when], quietLines };
  }
  const progress = new Progress('Applying', run, options);
  try {
    await waitUntilApplied(reached, { file: monitorsFile, count: plan.steps.length, progress });
  } finally {
    progress.clear();
  }
  return { data: withState('applied'), lines: [...shown, 'Applied.'], quietLines };
}

/** Waits until the running program has nothing left to do. Throws the problem if there is one. */
async function waitUntilApplied(
  reached: Reached,
  { file, count, progress }: { file: string; count: number; progress: Progress },
): Promise<void> {
  let plannedAtMs = performance.now();
  for (const endMs = performance.now() + APPLY_LIMIT_MS; performance.now() < endMs; ) {
    await pause(1_000);
    const state = await reached.state?.();
    if (state === undefined) {
      throw new CommandLineError(
        'The running Askwatch was started without MONITORS_FILE. Set it there and restart Askwatch.',
      );
    }
    if ('sentence' in state) throw new CommandLineError(plain(state.sentence));
    const isApplied = state.state === 'applied';
    if (!isApplied && performance.now() < plannedAtMs + PLAN_MS) continue;
    plannedAtMs = performance.now();
    // The state may be about an earlier version of the file.
    const { steps } = await planOf(reached, file);
    if (isApplied && steps.length === 0) return;
    progress.update(Math.max(0, count - steps.length), count, 'monitors');
  }
  throw new CommandLineError(
    "This is taking longer than ten minutes. Check Askwatch's log; monitors plan shows what is left.",
  );
}

export async function importFile(tool: ImportSource, file: string): Promise<PrintedResult> {
  const text = await readImport(tool, file);
  const written = await importMonitors(tool, { name: file, text }).catch((error) => {
    throw withProblems(error);
  });
  return fileResult(written);
}

/** A file with monitors. It is parsed only for JSON, because that takes seconds for 10,000. */
const fileResult = (text: string): PrintedResult => ({
  get data() {
    return parse(text);
  },
  lines: text.trimEnd().split('\n'),
});

async function readImport(tool: ImportSource, file: string): Promise<string> {
  try {
    const isDatabase = tool === 'kuma' && (await isSqlite(file));
    if (isDatabase) return await readKumaDatabase(file, MAX_IMPORT_BYTES);
    if ((await stat(file)).size <= MAX_IMPORT_BYTES) return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof CommandLineError) throw error;
    throw new CommandLineError(`Cannot read ${plain(file)} (${code}). Check the path.`);
  }
  throw new CommandLineError(`${plain(file)} is larger than 20 MB. Split it into smaller files.`);
}

/** The problems of a file, each a line. */
function withProblems(error: unknown): unknown {
  if (!(error instanceof DefinitionsError)) return error;
  const lines = error.problems.map(problemLine).map(plain);
  return new CommandLineError([...lines, 'Nothing was changed.'].join('\n'));
}
