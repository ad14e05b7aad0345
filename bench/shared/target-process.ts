import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { pinned } from './cores.ts';

/** A program that was started to be measured, or to answer what is measured. */
export interface TargetProcess {
  pid: number;
  port: number;
  /** Throws when it has ended by itself; says what it printed last. */
  checkAlive(): void;
  /** Asks it to stop, and kills it if it does not. Throws when it has ended by itself. */
  stop(): Promise<void>;
}

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 12_000;
const KEPT_OUTPUT_CHARACTERS = 4_000;

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts `node`, or another program, with `args` on a core and waits until it prints where it listens: `ready` finds the port in its output. */
export async function startProcess(options: {
  name: string;
  /** The program; Node when absent. */
  program?: string;
  args: string[];
  ready: RegExp;
  core: number | undefined;
  env?: Record<string, string>;
  cwd?: string;
  startLimitMs?: number;
}): Promise<TargetProcess> {
  const { name, args, ready, core, env = {}, cwd, startLimitMs = START_LIMIT_MS } = options;
  const { program = process.execPath } = options;
  const [command = '', ...rest] = pinned(core, [program, ...args]);
  const child = spawn(command, rest, {
    cwd,
    // The environment isn't inherited, because settings in it would change the measured program.
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  let ended = false;
  const end = once(child, 'close').then(() => {
    ended = true;
    running.delete(child);
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-KEPT_OUTPUT_CHARACTERS);
    });
  }

  const deadlineMs = performance.now() + startLimitMs;
  let port: string | undefined;
  while (port === undefined) {
    if (ended || performance.now() > deadlineMs) {
      child.kill('SIGKILL');
      throw new Error(`${name} ${ended ? 'ended' : 'was not ready in time'}. It said:\n${output}`);
    }
    await Promise.race([end, pause(5)]);
    port = ready.exec(output)?.[1];
  }

  function checkAlive() {
    if (ended) throw new Error(`${name} ended while it was measured. It said:\n${output}`);
  }

  return {
    pid: child.pid ?? 0,
    port: Number(port),
    checkAlive,
    async stop() {
      checkAlive();
      child.kill('SIGTERM');
      const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await end;
      clearTimeout(limit);
    },
  };
}
