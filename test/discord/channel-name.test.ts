import { expect, test } from 'vitest';
import { startDiscord } from '../fakes/discord.ts';
import { startTestBot } from '../support/bot.ts';
import { eventually } from '../support/eventually.ts';
import { startPlatform } from './start-platform.ts';

test('a channel has its name from what Discord told of its servers; others have none', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const { platform } = await startPlatform(discord, bot);
  expect(await eventually(() => platform.channelName?.(discord.general.id))).toBe('general');
  expect(platform.channelName?.('1')).toBeUndefined();
});
