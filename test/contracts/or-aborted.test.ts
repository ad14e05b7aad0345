import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { orAborted, orLate } from '../../src/contracts/or-aborted.ts';

/** Fails when nobody waits for it any more: heard by nobody, that would end the program, and this test. */
async function failing(): Promise<never> {
  await pause(20);
  throw new Error('too late to matter');
}

test('what is waited for ends with the abort, and its own failure later is nobody’s matter', async () => {
  await expect(orAborted(failing(), AbortSignal.abort('before'))).rejects.toBe('before');
  const during = new AbortController();
  const waiting = orAborted(failing(), during.signal);
  during.abort('during');
  await expect(waiting).rejects.toBe('during');
  await pause(100);
});

test('what comes too late is nothing, and a failure in time is one', async () => {
  expect(await orLate(Promise.resolve('here'), 60_000)).toBe('here');
  expect(await orLate(new Promise(() => {}), 10)).toBeUndefined();
  await expect(orLate(failing(), 60_000)).rejects.toThrow('too late to matter');
});
