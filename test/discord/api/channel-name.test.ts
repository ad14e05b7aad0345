import { expect, test } from 'vitest';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';

test('a channel has its name from what Discord told of its servers; others have none', async () => {
  const { discord, platform } = await runDiscord();
  expect(await eventually(() => platform.channelName?.(discord.general.id))).toBe('general');
  expect(platform.channelName?.('1')).toBeUndefined();
});
