import { MessageFlags } from 'discord.js';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import {
  type BedOptions,
  testEveryButton,
  testOrder,
  testSnoozeOfSeveral,
} from '../../helpers/every-button.ts';

const isAlone = ({ flags }: FakeMessage) => (flags & MessageFlags.Ephemeral) !== 0;
const textOf = ({ content, embeds }: FakeMessage) => `${content}${JSON.stringify(embeds)}`;

const open = async ({ folderFor, ...options }: BedOptions) => {
  const discord = await startDiscord();
  const place = { platform: 'discord' as const, channel: discord.general.id };
  const folder = await folderFor?.(place);
  const settings = { ...options.settings, alertPlaces: [place] };
  const bot = await startTestBot({ ...options, settings, ...(folder && { folder }) });
  const { platform } = await startPlatform(discord, bot.bot);
  await bot.bot.start([platform]);
  const people = [discord.alice, discord.addUser('bob')] as const;
  return {
    ...{ provider: bot.provider, service: bot.service },
    type: (command: string, values: Record<string, unknown>) => void discord.slash(command, values),
    showing: (label: string) =>
      discord
        .messages()
        .findLast(({ components }) =>
          components.some((row) => row.components.some((button) => button.label === label)),
        ),
    press: (message: FakeMessage, label: string, by: 0 | 1) =>
      void discord.press(message, label, { user: people[by] }),
    texts() {
      const all = discord.messages();
      return {
        everybody: all.filter((one) => !isAlone(one)).map(textOf),
        alone: all.filter(isAlone).map(textOf),
      };
    },
    stop: () => platform.stop(),
    askBelow(question: string) {
      const [channel] = discord.threads();
      discord.say(question, { mention: true, channel });
    },
  };
};

testEveryButton(open);
testOrder(open);
testSnoozeOfSeveral(open);
