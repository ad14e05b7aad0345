import { MessageFlags } from 'discord.js';
import { startDiscord } from '../fakes/discord.ts';
import type { FakeMessage } from '../fakes/discord-state.ts';
import { startTestBot } from '../support/bot.ts';
import { testEveryButton } from '../support/every-button.ts';
import { startPlatform } from './start-platform.ts';

const isAlone = ({ flags }: FakeMessage) => (flags & MessageFlags.Ephemeral) !== 0;
const textOf = ({ content, embeds }: FakeMessage) => `${content}${JSON.stringify(embeds)}`;

testEveryButton(async (options) => {
  const discord = await startDiscord();
  const alertPlaces = [{ platform: 'discord' as const, channel: discord.general.id }];
  const bot = await startTestBot({ ...options, settings: { ...options.settings, alertPlaces } });
  const { platform } = await startPlatform(discord, bot.bot);
  await bot.bot.start([platform]);
  const people = [discord.alice, discord.addUser('bob')] as const;
  return {
    ...{ provider: bot.provider, service: bot.service },
    type: (command, values) => void discord.slash(command, values),
    showing: (label) =>
      discord
        .messages()
        .findLast(({ components }) =>
          components.some((row) => row.components.some((button) => button.label === label)),
        ),
    press: (message, label, by) => void discord.press(message, label, { user: people[by] }),
    texts() {
      const all = discord.messages();
      return {
        everybody: all.filter((one) => !isAlone(one)).map(textOf),
        alone: all.filter(isAlone).map(textOf),
      };
    },
    stop: () => platform.stop(),
  };
});
