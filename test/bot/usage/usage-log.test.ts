import { expect, test } from 'vitest';
import type { UsageEntry } from '../../../src/bot/usage/usage-log.ts';
import { readAnswer, startTestBot } from '../../helpers/bot.ts';

test('usage by person is read over all channels of all platforms, from a given time on', async () => {
  const { say, usageLog } = await startTestBot();
  await readAnswer(await say('/ask one', { place: { platform: 'slack', channel: 'C1' } }), 'T1');
  await readAnswer(await say('/ask two', { place: { platform: 'discord', channel: 'D1' } }), 'T2');
  const all: UsageEntry[] = [];
  for await (const asked of usageLog.everywhere(0)) all.push(asked);
  expect(all.map(({ place, person, name }) => [place, person, name])).toEqual([
    ['slack:C1', 'U1', 'Ada'],
    ['discord:D1', 'U1', 'Ada'],
  ]);
  const last = all.at(-1)?.atMs ?? 0;
  for await (const asked of usageLog.everywhere(last + 1)) throw new Error(asked.place);
});
