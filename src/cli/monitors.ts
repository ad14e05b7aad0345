import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { createLog } from '../app/log.ts';
import { assertStarted, openStore } from '../app/open-store.ts';
import { platforms } from '../app/platforms.ts';
import { type Settings, secretVariables } from '../app/settings.ts';
import { readMonitors } from '../monitoring/monitors/stored-monitor.ts';
import type { FileMonitor } from '../monitoring/provisioning/definitions.ts';
import { type ExistingMonitor, type Plan, planFor } from '../monitoring/provisioning/plan.ts';
import { planLines, questionLines } from '../monitoring/provisioning/plan-lines.ts';
import { DefinitionsError, problemLine } from '../monitoring/provisioning/problem.ts';
import {
  confirmedRemovals,
  confirmRemoval,
  type ProvisioningState,
} from '../monitoring/provisioning/provisioning.ts';
import { readMonitorsFile } from '../monitoring/provisioning/read.ts';
import { exportDefinitions } from '../monitoring/provisioning/write-definitions.ts';
import { loadSettings, type RunningProgram, reachRunning } from './control-client.ts';
import { importMonitors, isImportSource } from './import-monitors.ts';
import { CommandLineError, type MonitorsOptions } from './options.ts';
import { plain } from './table.ts';

/** Time that `apply` waits for the running program. */
const APPLY_LIMIT_MS = 10 * 60_000;

/** Largest file that is imported. */
const MAX_IMPORT_BYTES = 20 * 1024 * 1024;

/** The printed lines, and the exit code: 0 nothing to do, 1 failed, 2 something to do or to confirm. */
interface MonitorsResult {
  lines: string[];
  code: 0 | 1 | 2;
}

export async function runMonitors(
  [action, file, ...more]: string[],
  options: MonitorsOptions,
  version: string,
): Promise<MonitorsResult> {
  if (more.length > 0) throw new CommandLineError(`monitors ${action} doesn't accept ${more[0]}.`);
  if (options.from !== undefined && action !== 'import') {
    throw new CommandLineError('--from works only with monitors import.');
  }
  if (options.yes && action !== 'apply')
    throw new CommandLineError('--yes works only with monitors apply.');
  try {
    return await act(action, file, options, version);
  } catch (error) {
    if (!(error instanceof DefinitionsError)) throw error;
    return {
      lines: [...error.problems.map(problemLine).map(plain), 'Nothing was changed.'],
      code: 1,
    };
  }
}

async function act(
  action: string | undefined,
  file: string | undefined,
  options: MonitorsOptions,
  version: string,
): Promise<MonitorsResult> {
  switch (action) {
    case 'plan':
      return await withMonitors(version, async (reached) => {
        const plan = await planOf(reached, fileIn(reached.settings, file));
        return { lines: planLines(plan).map(plain), code: isEmpty(plan) ? 0 : 2 };
      });
    case 'apply':
      return await withMonitors(version, (reached) => apply(reached, file, options.yes ?? false));
    case 'export':
      if (file !== undefined) throw new CommandLineError(`monitors export doesn't accept ${file}.`);
      return await withMonitors(version, async ({ standing }) => ({
        lines: exportDefinitions(await standing())
          .trimEnd()
          .split('\n'),
        code: 0,
      }));
    case 'import':
      return await importFile(file, options.from);
    default:
      throw new CommandLineError('monitors needs a subcommand: plan, apply, export or import.');
  }
}

const isEmpty = ({ steps }: Plan) => steps.length === 0;

interface Reached {
  settings: Settings;
  standing(): Promise<ExistingMonitor[]>;
  answer(answer: string): Promise<void>;
  /** Progress of the running program with its file; absent if no program runs here. */
  state?(): Promise<ProvisioningState | undefined>;
}

/** Through the control socket of the running program, else in the data folder, or in the database. */
async function withMonitors<T>(version: string, use: (reached: Reached) => Promise<T>): Promise<T> {
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
  const log = createLog({ level: 'warn', secrets: settings.secrets });
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
      if (!answer) throw new Error(OLDER);
      const lines = (await text(answer)).split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line) as ExistingMonitor);
    },
    async answer(answer) {
      const done = await running.ask('POST', 'monitors/file/answer', { body: { answer } });
      if (!done) throw new Error(OLDER);
    },
    async state() {
      const state = await running.ask<Partial<ProvisioningState>>('GET', 'monitors/file');
      return state?.state === undefined ? undefined : (state as ProvisioningState);
    },
  };
}

const OLDER =
  'The running Askwatch has no monitoring service, or is older than this command. Restart it with the role monitoring first.';

function fileIn({ monitorsFile }: Settings, given: string | undefined): string {
  const file = given ?? monitorsFile;
  if (file !== undefined) return file;
  throw new CommandLineError('Missing file: monitors plan <file>, or set MONITORS_FILE.');
}

async function planOf({ settings, standing }: Reached, file: string): Promise<Plan> {
  const wanted = await readMonitorsFile({
    path: file,
    taboo: secretVariables,
    allowPrivate: settings.allowPrivate,
    platforms: platforms.map(({ name }) => name),
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

async function apply(
  reached: Reached,
  given: string | undefined,
  yes: boolean,
): Promise<MonitorsResult> {
  const { monitorsFile } = reached.settings;
  const file = given ?? monitorsFile;
  if (file === undefined) {
    throw new CommandLineError('Set MONITORS_FILE. monitors apply works only with that file.');
  }
  if (monitorsFile === undefined || resolve(file) !== resolve(monitorsFile)) {
    throw new CommandLineError(
      `monitors apply works only with the file in MONITORS_FILE${monitorsFile === undefined ? ', which is not set. Set it and restart Askwatch' : `: ${monitorsFile}`}. To see what another file would change, use monitors plan ${file}.`,
    );
  }
  const plan = await planOf(reached, monitorsFile);
  const lines = planLines(plan).map(plain);
  if (plan.question && !yes) return { lines, code: 2 };
  if (plan.question) await reached.answer(plan.question.answer);
  const said = lines.slice(0, lines.length - questionLines(plan).length);
  if (isEmpty(plan)) return { lines: said, code: 0 };
  if (!reached.state) {
    const when = reached.settings.database
      ? 'The processes that use the database apply this within seconds; monitors plan shows what is left.'
      : 'Askwatch is not running. It applies this when it starts.';
    return { lines: [...said, when], code: 0 };
  }
  const failure = await waitUntilApplied(reached, monitorsFile);
  return failure === undefined
    ? { lines: [...said, 'Applied.'], code: 0 }
    : { lines: [...said, plain(failure)], code: 1 };
}

/** Waits until the running program has nothing left to do; returns the problem if there is one. */
async function waitUntilApplied(reached: Reached, file: string): Promise<string | undefined> {
  for (const endMs = performance.now() + APPLY_LIMIT_MS; performance.now() < endMs; ) {
    await pause(1_000);
    const state = await reached.state?.();
    if (state === undefined) {
      return 'The running Askwatch was started without MONITORS_FILE. Set it there and restart Askwatch.';
    }
    // The state may be about an earlier version of the file.
    if (state.state === 'applied' && isEmpty(await planOf(reached, file))) return undefined;
    if (state.state === 'broken' || state.state === 'failing') return state.sentence;
  }
  return "This is taking longer than ten minutes. Check Askwatch's log; monitors plan shows what is left.";
}

async function importFile(
  file: string | undefined,
  from: string | undefined,
): Promise<MonitorsResult> {
  if (!isImportSource(from)) {
    throw new CommandLineError('--from must be gatus or file_sd.');
  }
  if (file === undefined)
    throw new CommandLineError(`Missing file: monitors import --from ${from} <file>.`);
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      lines: [`Cannot read ${plain(file)} (${code}). Check the path.`],
      code: 1,
    };
  }
  if (bytes.length > MAX_IMPORT_BYTES) {
    return {
      lines: [`${plain(file)} is larger than 20 MB. Split it into smaller files.`],
      code: 1,
    };
  }
  const imported = importMonitors(from, { name: file, text: bytes.toString('utf8') });
  return { lines: imported.trimEnd().split('\n'), code: 0 };
}
