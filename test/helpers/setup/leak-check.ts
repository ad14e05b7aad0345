import { readdirSync, readlinkSync } from 'node:fs';
import { beforeEach, expect, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';

/** Resources that a test must release. Sockets may stay: a pool keeps them for the next test of the file, and they end with their server. */
const COUNTED = new Set([
  'Timeout',
  'TCPServerWrap',
  'PipeServerWrap',
  'UDPWRAP',
  'ProcessWrap',
  'FSEventWrap',
]);

/** Names of open files, if the system lists them as Linux does. */
function openFiles(): string[] {
  try {
    return readdirSync('/proc/self/fd')
      .map((fd) => readlinkSync(`/proc/self/fd/${fd}`))
      .filter((path) => /^\/(?!dev\/|proc\/)/.test(path));
  } catch {
    return [];
  }
}

const openResources = () =>
  [...process.getActiveResourcesInfo().filter((kind) => COUNTED.has(kind)), ...openFiles()].sort();

// Hooks that a test registers run before this one, since the last registered runs first.
beforeEach(() => {
  const before = openResources();
  const left = () => {
    const known = [...before];
    return openResources().filter((one) => {
      const at = known.indexOf(one);
      if (at !== -1) known.splice(at, 1);
      return at === -1;
    });
  };
  onTestFinished(async () => {
    if (left().length === 0) return;
    await eventually(
      () => {
        expect(left()).toEqual([]);
        return true;
      },
      { what: 'the test to release what it opened', withinMs: 10_000 },
    );
  });
});
