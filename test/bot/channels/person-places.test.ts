import { expect, test } from 'vitest';
import { createPersonPlaces } from '../../../src/bot/channels/person-places.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const DAY_MS = 86_400_000;

async function start() {
  const { log, lines } = recordingLog();
  const store = await openTestStore({ log });
  const clock = { nowMs: Date.now() };
  const hasHomes = (platform: string) => platform === 'slack';
  const open = () => createPersonPlaces(store, { hasHomes, log, nowMs: () => clock.nowMs });
  const places = open();
  const note = (channel: string, { id = 'U1', platform = 'slack' } = {}) =>
    places.note({ place: { platform, channel }, person: { id, name: 'Ada' } });
  const channels = async (id = 'U1') =>
    (await places.of('slack', id)).map(({ channel }) => channel);
  return { store, lines, clock, places, note, channels };
}

test('a person has the places where they spoke, the last first, and nobody else’s', async () => {
  const { store, clock, note, channels } = await start();
  await note('C1');
  await note('C2');
  await note('C3', { id: 'U2' });
  expect(await channels()).toEqual(['C2', 'C1']);
  expect(await channels('U2')).toEqual(['C3']);
  expect(await channels('U3')).toEqual([]);
  // Once a day is often enough.
  await note('C1');
  expect(await channels()).toEqual(['C2', 'C1']);
  clock.nowMs += DAY_MS;
  await note('C1');
  expect(await channels()).toEqual(['C1', 'C2']);
  await store.close();
});

test('places are forgotten after 90 days, and people with none left are too', async () => {
  const { store, clock, places, note, channels } = await start();
  await note('C1');
  clock.nowMs += 60 * DAY_MS;
  await note('C2');
  await note('C9', { id: 'U2' });
  clock.nowMs += 31 * DAY_MS;
  expect(await channels()).toEqual(['C2']);
  await places.forgetOld();
  clock.nowMs -= 31 * DAY_MS;
  expect(await channels()).toEqual(['C2']);
  clock.nowMs += 91 * DAY_MS;
  await places.forgetOld();
  clock.nowMs -= 91 * DAY_MS;
  expect([await channels(), await channels('U2')]).toEqual([[], []]);
  await store.close();
});

test('the places do not grow without bound, and only those of platforms with a home are kept', async () => {
  const { store, note, channels, places } = await start();
  for (let count = 0; count < 60; count += 1) await note(`C${count}`);
  expect(await channels()).toHaveLength(50);
  expect((await channels())[0]).toBe('C59');
  await note('1', { platform: 'discord' });
  await note('general', { platform: 'console' });
  expect([await places.of('discord', 'U1'), await places.of('console', 'U1')]).toEqual([[], []]);
  const id = 'U'.repeat(5_000);
  await note('C1', { id });
  expect(await channels(id.slice(0, 200))).toEqual([]);
  await store.close();
});

test('a place that cannot be stored is logged and stored the next time', async () => {
  const { store, lines, note } = await start();
  await store.close();
  await note('C1');
  await note('C1');
  expect(lines.filter(({ level }) => level === 40)).toHaveLength(2);
});
