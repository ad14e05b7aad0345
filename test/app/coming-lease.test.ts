import { expect, test } from 'vitest';
import { ComingLease } from '../../src/app/coming-lease.ts';
import type { Lease } from '../../src/store/store.ts';

function createLease(fence: number) {
  const lost = new AbortController();
  let releases = 0;
  const lease: Lease = {
    fence,
    signal: lost.signal,
    isHeld: () => !lost.signal.aborted,
    async release() {
      releases += 1;
    },
  };
  return { lease, lose: () => lost.abort(), releases: () => releases };
}

test('a coming lease is held from when it is taken until it is lost, and not again', () => {
  const coming = new ComingLease();
  expect(coming.isHeld()).toBe(false);
  const { lease, lose } = createLease(7);
  coming.take(lease);
  expect([coming.isHeld(), coming.fence]).toEqual([true, 7]);
  lose();
  expect([coming.isHeld(), coming.signal.aborted]).toEqual([false, true]);
  coming.take(createLease(8).lease);
  expect(coming.isHeld()).toBe(false);
});

test('a coming lease that was lost before it is taken is never held', () => {
  const coming = new ComingLease();
  const { lease, lose } = createLease(1);
  lose();
  coming.take(lease);
  expect([coming.isHeld(), coming.signal.aborted]).toEqual([false, true]);
});

test('a coming lease knows at once, before any signal, that the lease taken is not held', () => {
  const coming = new ComingLease();
  const { lease } = createLease(1);
  coming.take({ ...lease, isHeld: () => false });
  expect([coming.isHeld(), coming.signal.aborted]).toEqual([false, false]);
});

test('releasing a coming lease ends it and releases the lease taken', async () => {
  const coming = new ComingLease();
  const { lease, releases } = createLease(1);
  coming.take(lease);
  await coming.release();
  expect([coming.isHeld(), coming.signal.aborted, releases()]).toEqual([false, true, 1]);
});

test('a coming lease that is released before one was taken is never held', async () => {
  const coming = new ComingLease();
  await coming.release();
  coming.take(createLease(1).lease);
  expect(coming.isHeld()).toBe(false);
});
