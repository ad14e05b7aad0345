import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot, type TestBotOptions } from '../bot.ts';
import { eventually } from '../eventually.ts';
import { prompted } from '../platform-contract/world.ts';
import { type StartOptions, startPlatform } from './start-platform.ts';

/** Labels of a message's buttons, in order. */
export const labelsOf = ({ components }: FakeMessage) =>
  components.flatMap((row) => row.components.map(({ label }) => label));

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
  return {
    ...{ discord, ...test, botLines: test.lines, ...started },
    /** The messages of a channel or thread, once there are so many and the last one is a whole answer. */
    answered: (id: string, count?: number) =>
      eventually(() => {
        const all = discord.channel(id);
        const isWhole = all.at(-1)?.content.includes('-# test-model');
        return isWhole && (count === undefined || all.length === count) && all;
      }),
    /** The last prompt without the system message. */
    prompted: () => prompted(test),
  };
}
