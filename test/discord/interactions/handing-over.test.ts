import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import { textCard } from '../../../src/bot/shared/card.ts';
import { toAsker } from '../../../src/bot/shared/invocation.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

/** A bot that two clients are connected for; what the second hears waits until it is given the hold. */
async function start() {
  const discord = await startDiscord();
  const { bot, provider } = await startTestBot();
  provider.answerWith('Because.');
  let holder = 'first';
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  const waiting: Bot = {
    ...bot,
    async dispatch(...of) {
      await given;
      return await bot.dispatch(...of);
    },
    async isConversation(...of) {
      await given;
      return await bot.isConversation(...of);
    },
  };
  const first = await startPlatform(discord, bot, { isHeld: () => holder === 'first' });
  const second = await startPlatform(discord, waiting, { isHeld: () => holder === 'second' });
  return {
    discord,
    provider,
    lines: [first.lines, second.lines],
    pauseFirst: () => first.platform.pause?.(),
    async handOver() {
      await first.platform.pause?.();
      holder = 'second';
      give();
      await first.platform.stop();
    },
    /** Until both have done with what they heard. */
    stop: () => Promise.all([first, second].map(({ platform }) => platform.stop())),
  };
}

const GESTURES: Record<string, (discord: DiscordFake) => unknown> = {
  'a question': (discord) => discord.slash('ask', { question: 'Why?' }),
  'a private question': (discord) => discord.slash('ask', { question: 'Why?', private: true }),
  'a mention': (discord) => discord.say('Why?', { mention: true }),
};

test.each(Object.entries(GESTURES))(
  '%s that came to two clients is answered once',
  async (_, ask) => {
    const { discord, provider, lines, handOver, stop } = await start();
    ask(discord);
    const answers = () =>
      discord.messages().filter(({ content }) => content.startsWith('Because.'));
    await eventually(() => answers()[0]?.content.includes('-# test-model'));
    const shown = JSON.stringify(discord.messages());
    await handOver();
    await stop();
    expect(JSON.stringify(discord.messages())).toBe(shown);
    expect(provider.calls).toHaveLength(1);
    const levels = lines.flat().map(({ level }) => Number(level));
    expect(Math.max(...levels)).toBeLessThan(40);
  },
);

test('a command that comes to the second client alone waits, is acknowledged in time and done', async () => {
  const { discord, pauseFirst, handOver } = await start();
  await pauseFirst();
  const asked = discord.slash('ask', { question: 'Why?' });
  const help = discord.press(discord.leaveButton('askwatch help?'), 'Do');
  await eventually(() => asked.acknowledged && help.acknowledged);
  expect([asked.late, asked.reply?.content]).toEqual([false, '']);
  await handOver();
  const { id } = await eventually(() => asked.reply?.content && asked.reply);
  await eventually(() => discord.channel(id)[0]?.content.includes('-# test-model'));
  await eventually(() => help.followUps.length === 1);
});

test('a question that one client could not store, and another then answers, ends with one note', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const failed = toAsker(textCard('bad', 'Something went wrong', 'Try again.'));
  await startPlatform(discord, { ...bot, dispatch: async () => failed });
  const asked = discord.slash('ask', { question: 'Why?' });
  await eventually(() => asked.followUps.length === 1);
  const late = await startPlatform(discord, bot);
  discord.repeat(asked);
  await eventually(() => late.lines.some(({ msg }) => msg === 'could not show a question'));
  await late.platform.stop();
  expect(asked.followUps).toHaveLength(1);
});
