import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';

/**
 * Returns true if a program of a Debian package is installed. Tests without it are skipped with a message; in CI they fail.
 */
export function isInstalled(program: string): boolean {
  const isHere = existsSync(program);
  if (!isHere) {
    process.stderr.write(`\nSKIPPED: the tests with ${program}, which is not installed.\n\n`);
  }
  return isHere || Boolean(process.env.CI);
}

/** Starts such a program, until `url` answers with 200; it is killed with the running test. */
export async function startProgram(program: string, args: readonly string[], url: string) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (text: Buffer) => {
    said = (said + text).slice(-10_000);
  });
  let failed: Error | undefined;
  child.once('error', (error) => {
    failed = error;
  });
  onTestFinished(() => end(child));
  const isReady = async () => (await fetch(url).catch(() => undefined))?.ok;
  await eventually(async () => failed || hasEnded(child) || (await isReady()), {
    withinMs: 60_000,
    what: `${program} to be ready`,
  });
  if (failed) throw failed;
  if (hasEnded(child)) throw new Error(`${program} ended instead of starting:\n${said}`);
  return { said: () => said };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) =>
  exitCode !== null || signalCode !== null;

async function end(child: ChildProcess) {
  if (hasEnded(child) || child.pid === undefined) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
