import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot, type TestBotOptions } from '../bot.ts';
import { type StartOptions, startPlatform } from './start-platform.ts';

/** The platform and a bot on a new Discord (or on `discord`); `lines` are the platform's, `botLines` the bot's. */
export async function runDiscord(
  options: StartOptions & {
    discord?: DiscordFake;
    fake?: Parameters<typeof startDiscord>[0];
    bot?: TestBotOptions;
  } = {},
) {
  const { discord = await startDiscord(options.fake), fake: _fake, bot, ...platform } = options;
  const test = await startTestBot(bot);
  const started = await startPlatform(discord, test.bot, platform);
  return { discord, ...test, botLines: test.lines, ...started };
}
