import { expect, test } from 'vitest';
import type { Platform } from '../../../src/bot/platform.ts';
import type { UsageEntry } from '../../../src/bot/usage/usage-log.ts';
import { readAnswer, startTestBot } from '../../helpers/bot.ts';

test('usage by person is read over all channels of all platforms, from a given time on', async () => {
  const { say, bot } = await startTestBot();
  await readAnswer(await say('/ask one', { place: { platform: 'slack', channel: 'C1' } }), 'T1');
  await readAnswer(await say('/ask two', { place: { platform: 'discord', channel: 'D1' } }), 'T2');
  const all: UsageEntry[] = [];
  for await (const asked of bot.usageLog.everywhere(0)) all.push(asked);
  expect(all.map(({ place, person, name }) => [place, person, name])).toEqual([
    ['slack:C1', 'U1', 'Ada'],
    ['discord:D1', 'U1', 'Ada'],
  ]);
  const last = all.at(-1)?.atMs ?? 0;
  for await (const asked of bot.usageLog.everywhere(last + 1)) throw new Error(asked.place);
});

test('a channel has the name that its platform gives it, once that has started', async () => {
  const { bot } = await startTestBot();
  const never = async () => {
    throw new Error('nothing is posted');
  };
  const platform: Platform = {
    ...{ name: 'discord', post: never, update: never, announce: never },
    start: async () => {},
    stop: async () => {},
    channelName: (channel) => (channel === 'D1' ? 'ops' : undefined),
  };
  expect(bot.channelName({ platform: 'discord', channel: 'D1' })).toBeUndefined();
  await bot.start([platform]);
  expect(bot.channelName({ platform: 'discord', channel: 'D1' })).toBe('ops');
  expect(bot.channelName({ platform: 'discord', channel: 'D2' })).toBeUndefined();
  expect(bot.channelName({ platform: 'slack', channel: 'D1' })).toBeUndefined();
});
