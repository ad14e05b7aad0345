import { readdirSync, readlinkSync } from 'node:fs';
import { beforeEach, expect, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { liveTimers } from './live-timers.ts';

/** Resources that a test must release. A pool may keep sockets for the next test; they end with their server. */
const COUNTED = new Set([
  'TCPServerWrap',
  'PipeServerWrap',
  'UDPWRAP',
  'ProcessWrap',
  'FSEventWrap',
]);

/** Paths of open files, if the system lists them as Linux does. */
function openFiles(): string[] {
  let descriptors: string[] = [];
  try {
    descriptors = readdirSync('/proc/self/fd');
  } catch {}
  return descriptors.map(pathOf).filter((path) => /^\/(?!dev\/|proc\/)/.test(path));
}

function pathOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // The descriptor by which the list was read is closed again.
    return '';
  }
}

const openResources = () => [
  ...process.getActiveResourcesInfo().filter((kind) => COUNTED.has(kind)),
  ...openFiles(),
  ...liveTimers(),
];

// Vitest runs the hooks that a test registers before this one, since the last registered runs first.
beforeEach(() => {
  // Evaluations share a week between the tests of a file, which closes it.
  if (expect.getState().testPath?.includes('/evals/')) return;
  const before = openResources();
  const findLeaks = () => {
    const known = [...before];
    return openResources().filter((one) => {
      const at = known.indexOf(one);
      if (at !== -1) known.splice(at, 1);
      return at === -1;
    });
  };
  onTestFinished(async () => {
    if (findLeaks().length === 0) return;
    const isClean = () => {
      expect(findLeaks()).toEqual([]);
      return true;
    };
    await eventually(isClean, { withinMs: 10_000, what: 'the test to close what it opened' });
  });
});
