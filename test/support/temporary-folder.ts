import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Says when something is to be ended: mostly with the running test. */
export type AtEnd = (end: () => Promise<void>) => void;

/** A fresh, empty folder; it is removed when the running test has finished, or as `atEnd` says. */
export async function temporaryFolder(atEnd: AtEnd = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'askwatch-test-'));
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}
