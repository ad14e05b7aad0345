import { execFileSync, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { onTestFinished } from 'vitest';
import { eventually } from '../../helpers/eventually.ts';

/** Below the folder of the modules that the bundled scripts import. */
const BUNDLES = fileURLToPath(new URL('../../../dist/test-children/', import.meta.url));

/** Returns true if strace may watch programs here, and says so if not. */
export function mayTrace(): boolean {
  try {
    execFileSync('strace', ['-qq', '-o', '/dev/null', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    console.log(
      'strace is not here or may not trace: tests that stop at system calls are skipped.',
    );
    return false;
  }
}

/** A script of this folder, running. */
export interface Child {
  pid: number | undefined;
  /** Printed lines so far. */
  lines: string[];
  /** The first line printed that fits. */
  line(fits: (line: string) => boolean): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  endInput(): void;
  exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Bundles a script with the program as it is in `src/` now: what is in `dist/` may be older. Gives the bundle's path. */
function bundled(script: URL): string {
  const bundle = `${BUNDLES}${basename(script.pathname, '.mjs')}-${process.pid}.mjs`;
  buildSync({
    ...{ entryPoints: [fileURLToPath(script)], outfile: bundle, bundle: true },
    ...{ packages: 'external', platform: 'node', format: 'esm', target: 'node20' },
  });
  process.once('exit', () => rmSync(bundle, { force: true }));
  return bundle;
}

const bundles = new Map<string, string>();

/**
 * Starts a script of this folder with the program, through a shell line when one is given (`"$@"` stands for
 * the script). It is killed when the test has finished.
 */
export function startChild(script: string, args: string[], shell?: string): Child {
  const url = new URL(script, import.meta.url);
  const bundle = bundles.get(url.href) ?? bundled(url);
  bundles.set(url.href, bundle);
  const command = [process.execPath, bundle, ...args];
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
