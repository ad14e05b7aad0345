import { expect, onTestFinished, test } from 'vitest';
import {
  openPlatformLimits,
  platformLimitsCollection,
} from '../../../src/bot/shared/platform-limits.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

/** Limits as a holder has them, and a successor that opened them before anything was stored. */
async function openBoth() {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const of = { platform: 'slack', collection: store.collection(platformLimitsCollection), log };
  return [await openPlatformLimits(of), await openPlatformLimits(of), of] as const;
}

test('a successor that connected before a limit was told knows of it once it reads again', async () => {
  const [holder, successor] = await openBoth();
  await holder.limited('chat.update', 30_000);
  expect(successor.leftMs('chat.update')).toBe(0);
  await successor.read();
  expect(successor.leftMs('chat.update')).toBeGreaterThan(25_000);
});

test('a limit that one stores leaves the limits of the other in the store', async () => {
  const [holder, successor, of] = await openBoth();
  await holder.limited('chat.update', 30_000);
  await successor.limited('chat.postMessage', 30_000);
  const next = await openPlatformLimits(of);
  expect(next.leftMs('chat.update')).toBeGreaterThan(25_000);
  expect(next.leftMs('chat.postMessage')).toBeGreaterThan(25_000);
});
