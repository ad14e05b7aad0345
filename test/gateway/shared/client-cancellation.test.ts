import { expect, test } from 'vitest';
import { ClientCancellation } from '../../../src/gateway/shared/client-cancellation.ts';

test('a client leaves once, and every listener is called', () => {
  const cancellation = new ClientCancellation();
  const told: string[] = [];
  const stop = cancellation.onCancel(() => told.push('stopped listening'));
  cancellation.onCancel(() => {
    told.push(`a: ${cancellation.reason}`);
    stopB();
  });
  const stopB = cancellation.onCancel(() => told.push('b'));
  stop();
  stop();
  const { signal } = cancellation;
  expect([cancellation.cancelled, signal.aborted]).toEqual([false, false]);
  cancellation.cancel('gone');
  cancellation.cancel('again');
  expect(told).toEqual(['a: gone', 'b']);
  expect([cancellation.cancelled, cancellation.reason, signal.aborted, signal.reason]).toEqual([
    true,
    'gone',
    true,
    'gone',
  ]);
});

test('a signal asked for after the client has left is aborted', () => {
  const cancellation = new ClientCancellation();
  cancellation.cancel('gone');
  expect(cancellation.signal.aborted).toBe(true);
  expect(cancellation.signal.reason).toBe('gone');
});
