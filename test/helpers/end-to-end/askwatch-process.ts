import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { type AtEnd, temporaryFolder } from '../temporary-folder.ts';

export const PROGRAM = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** The built program running as a child, as an operator runs it. */
export interface AskwatchProcess {
  /** The address from the banner. */
  url: string;
  /** Creates an API key on the command line; one of the monitoring service may change monitors. */
  createKey(service: 'gateway' | 'monitoring'): Promise<string>;
  /** Standard output and standard error so far. */
  output(): string;
  pid: number;
  /** Resolves to its exit code when it has ended. */
  exit: Promise<number | null>;
  /** Kills it with -9 and waits until it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop; resolves to its exit code. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<number | null>;
}

interface StartOptions {
  dataDir: string;
  /** Command to run in `dataDir`; the built program by default. */
  command?: readonly string[];
  env?: Record<string, string>;
  /** When it is ended at the latest: with the running test, unless this says otherwise. */
  atEnd?: AtEnd;
}

/** A program that a `describe` shares. */
export interface SharedAskwatch extends AskwatchProcess {
  dataDir: string;
  /** Kills it with -9 and starts it again on the same folder. */
  restart(): Promise<void>;
}

/**
 * One program for those tests of a `describe` that leave it running. `prepare` gives its variables, and starts before it
 * what they name.
 */
export function sharedAskwatch(
  prepare: (atEnd: AtEnd, dataDir: string) => Promise<Record<string, string>> = async () => ({}),
): () => SharedAskwatch {
  let shared: SharedAskwatch | undefined;
  const ends: Array<() => Promise<void>> = [];
  const atEnd: AtEnd = (end) => void ends.unshift(end);
  beforeAll(async () => {
    const dataDir = await temporaryFolder(atEnd);
    const options = { dataDir, env: await prepare(atEnd, dataDir), atEnd };
    const current: SharedAskwatch = {
      ...(await startAskwatch(options)),
      dataDir: options.dataDir,
      async restart() {
        await current.kill();
        Object.assign(current, await startAskwatch(options));
      },
    };
    shared = current;
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  return () => {
    if (!shared) throw new Error('the shared program is there only inside a test');
    return shared;
  };
}

/**
 * Starts the built program and waits until it says that it is ready. No variable of the surrounding environment but
 * PATH reaches it. It listens on a free port unless `env.PORT` is given.
 */
export async function startAskwatch(options: StartOptions): Promise<AskwatchProcess> {
  const child = spawnAskwatch(options);
  const { output } = child;
  await eventually(() => output().includes('is ready after') || child.exited(), {
    withinMs: 60_000,
    what: 'Askwatch to be ready',
  });
  if (child.exited()) throw new Error(`Askwatch ended instead of starting:\n${output()}`);
  const url = /(?:Listens at|Services) +(http:\S+?)(?:\/v1)?\s/.exec(output())?.[1];
  if (!url) throw new Error(`the banner names no address:\n${output()}`);
  return {
    url,
    async createKey(service) {
      const rights = service === 'monitoring' ? ['--write'] : [];
      const args = ['keys', 'create', '--service', service, '--name', 'test key', ...rights];
      const { stdout } = await promisify(execFile)(CLI, args, {
        cwd: options.dataDir,
        env: environmentOf(options),
      });
      return stdout.trim().split('\n').at(-1) ?? '';
    },
    output,
    pid: child.pid,
    exit: child.exit,
    async kill() {
      child.signal('SIGKILL');
      await child.exit;
    },
    async stop(signal = 'SIGTERM') {
      child.signal(signal);
      return await child.exit;
    },
  };
}

const environmentOf = ({ dataDir, env }: StartOptions) => ({
  PATH: process.env.PATH ?? '',
  PORT: '0',
  DATA_DIR: `${dataDir}/data`,
  ...env,
});

/** Starts the built program without waiting; for starts that are meant to fail. */
export function spawnAskwatch(options: StartOptions) {
  const { atEnd = onTestFinished, command = [process.execPath, PROGRAM] } = options;
  const [program = '', ...args] = command;
  const child: ChildProcess = spawn(program, args, {
    // A working folder without an .env file.
    cwd: options.dataDir,
    env: environmentOf(options),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout?.on('data', (data: Buffer) => {
    text += data.toString();
  });
  child.stderr?.on('data', (data: Buffer) => {
    text += data.toString();
  });
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  const exited = () => child.exitCode !== null || child.signalCode !== null;
  atEnd(async () => {
    if (!exited()) child.kill('SIGKILL');
    await exit;
  });
  return {
    pid: child.pid ?? 0,
    output: () => text,
    exit,
    exited,
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
  };
}
