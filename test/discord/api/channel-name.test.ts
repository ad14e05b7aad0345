import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

test('a channel has its name from what Discord told of its servers; others have none', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const { platform } = await startPlatform(discord, bot);
  expect(await eventually(() => platform.channelName?.(discord.general.id))).toBe('general');
  expect(platform.channelName?.('1')).toBeUndefined();
});
