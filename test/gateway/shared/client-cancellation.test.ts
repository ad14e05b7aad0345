import { expect, test } from 'vitest';
import { Caller } from '../../../src/gateway/shared/client-cancellation.ts';

test('a caller leaves once, and everyone who listens is told', () => {
  const caller = new Caller();
  const told: string[] = [];
  const stop = caller.onLeave(() => told.push('stopped listening'));
  caller.onLeave(() => {
    told.push(`a: ${caller.reason}`);
    stopB();
  });
  const stopB = caller.onLeave(() => told.push('b'));
  stop();
  stop();
  const { signal } = caller;
  expect([caller.left, signal.aborted]).toEqual([false, false]);
  caller.leave('gone');
  caller.leave('again');
  expect(told).toEqual(['a: gone', 'b']);
  expect([caller.left, caller.reason, signal.aborted, signal.reason]).toEqual([
    true,
    'gone',
    true,
    'gone',
  ]);
});

test('a signal asked for after the caller has left is aborted', () => {
  const caller = new Caller();
  caller.leave('gone');
  expect(caller.signal.aborted).toBe(true);
  expect(caller.signal.reason).toBe('gone');
});
