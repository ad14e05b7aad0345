import { expect, test } from 'vitest';
import {
  createToken,
  deadlineMs,
  hashToken,
  pinged,
  pingMissed,
} from '../../src/monitoring/heartbeat.ts';
import { presumedUp } from '../../src/monitoring/state.ts';

const config = { period_seconds: 100, grace_seconds: 10 };

test('has no deadline before the first ping', () => {
  expect(deadlineMs(presumedUp(0), config, 0)).toBeUndefined();
});

test('expects the next ping within period and grace', () => {
  const { state } = pinged(presumedUp(0), 5_000);
  expect(deadlineMs(state, config, 0)).toBe(5_000 + 110_000);
});

test('gives a ping that was due while the service was off one grace period from its start', () => {
  const { state } = pinged(presumedUp(0), 5_000);
  expect(deadlineMs(state, config, 900_000)).toBe(910_000);
  expect(deadlineMs(state, config, 50_000)).toBe(115_000);
});

test('is DOWN at once when a ping is missed, and UP with the next ping', () => {
  const waiting = pinged(presumedUp(0), 5_000).state;
  const missed = pingMissed(waiting, { period_seconds: 86_400, grace_seconds: 5_400 }, 115_000);
  expect(missed.change).toMatchObject({ from: 'UP', to: 'DOWN', sinceMs: 115_000, number: 1 });
  expect(missed.change?.reason).toBe('no ping within 1 day and 90 minutes of grace');
  expect(deadlineMs(missed.state, config, 0)).toBeUndefined();
  expect(pingMissed(missed.state, config, 116_000).change).toBeUndefined();

  const back = pinged(missed.state, 120_000);
  expect(back.change).toMatchObject({ from: 'DOWN', to: 'UP', number: 2 });
  expect(back.state.lastCheckedMs).toBe(120_000);
});

test('makes tokens of at least 128 random bits and keeps only their hash', () => {
  const { token, tokenHash } = createToken();
  expect(Buffer.from(token, 'base64url').length * 8).toBeGreaterThanOrEqual(128);
  expect(tokenHash).toBe(hashToken(token));
  expect(tokenHash).not.toContain(token);
  expect(createToken().token).not.toBe(token);
});
