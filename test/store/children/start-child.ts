import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { eventually } from '../../support/eventually.ts';

const built = fileURLToPath(new URL('../../../dist/store/lowdb/lowdb-store.js', import.meta.url));

/** A script of this folder, running. */
export interface Child {
  pid: number | undefined;
  /** What it has printed so far, line by line. */
  lines: string[];
  /** The first line printed that fits. */
  line(fits: (line: string) => boolean): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  endInput(): void;
  exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/**
 * Starts a script of this folder with the compiled program, through a shell line when one is given (`"$@"` stands for
 * the script). It is killed when the test has finished.
 */
export function startChild(script: string, args: string[], shell?: string): Child {
  if (!existsSync(built)) {
    throw new Error(`The compiled program is missing (${built}). Run: npm run build`);
  }
  const command = [process.execPath, fileURLToPath(new URL(script, import.meta.url)), ...args];
  const [program = '', ...rest] =
    shell === undefined ? command : ['sh', '-c', shell, 'sh', ...command];
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  let partial = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (partial + text).split('\n');
    partial = parts.pop() ?? '';
    lines.push(...parts);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdin.on('error', () => {});
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  return {
    pid: child.pid,
    lines,
    exit,
    kill: (signal) => void child.kill(signal),
    endInput: () => void child.stdin.end(),
    line: (fits) =>
      eventually(
        () => {
          if (child.exitCode !== null && errors !== '') throw new Error(errors);
          return lines.find(fits);
        },
        { what: `a line from ${script}` },
      ),
  };
}
