import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** Discord without threads, and a program that restarts on the same data. */
async function start() {
  const discord = await startDiscord();
  const { general } = discord;
  discord.deny(general, 'CreatePublicThreads');
  const provider = await startModelProvider();
  onTestFinished(() => provider.close());
  const folder = await temporaryFolder();
  async function life() {
    const running = await startTestBot({ folder, provider });
    const { platform } = await startPlatform(discord, running.bot);
    return async () => {
      await platform.stop();
      await running.stop();
    };
  }
  let end = await life();
  return {
    discord,
    provider,
    general,
    async restart() {
      await end();
      end = await life();
    },
    /** All messages of the channel once there are so many and the last one is a whole answer. */
    answered: (count: number): Promise<FakeMessage[]> =>
      eventually(() => {
        const messages = discord.channel(general.id);
        const isWhole = messages.at(-1)?.content.includes('-# test-model');
        return messages.length === count && isWhole && messages;
      }),
    /** The last prompt without the system message. */
    told() {
      const messages: Array<{ role: string; content: string }> =
        provider.calls.at(-1)?.body.messages ?? [];
      return messages.filter(({ role }) => role !== 'system').map(({ content }) => content);
    },
  };
}

test.each(['slash', 'mention'] as const)(
  'an answer to a %s in the channel is made anew, continued and rated after restarts',
  async (how) => {
    const { discord, provider, restart, answered, told } = await start();
    provider.answerWith('First.');
    if (how === 'slash') discord.slash('ask', { question: 'Why?' });
    else discord.say('Why?', { mention: true });
    const [, first] = await answered(2);
    await restart();
    provider.answerWith('Second.');
    discord.press(first as FakeMessage, 'Regenerate');
    const [, , , second] = await answered(4);
    expect(told()).toEqual(['Why?']);
    await restart();
    const rated = discord.press(second as FakeMessage, '👍');
    const thanks = await eventually(() => rated.followUps[0]);
    expect(JSON.stringify(thanks.embeds)).toContain('Thank you, rated 👍');
    discord.say('And now?', { mention: true, replyTo: second as FakeMessage });
    await answered(6);
    expect(told()).toEqual(['Why?', 'Second.', 'And now?']);
    expect(discord.threads()).toEqual([]);
  },
);

test('a reply to any message of a long answer continues it after a restart', async () => {
  const { discord, provider, restart, answered, told } = await start();
  const long = 'word '.repeat(900).trim();
  provider.answerWith(long);
  discord.slash('ask', { question: 'Long?' });
  await eventually(() => discord.channel(discord.general.id).length > 3);
  const all = await eventually(() => {
    const messages = discord.channel(discord.general.id);
    return messages.at(-1)?.content.includes('-# test-model') && messages;
  });
  await restart();
  provider.answerWith('Short.');
  discord.say('Shorter', { mention: true, replyTo: all[1] as FakeMessage });
  await answered(all.length + 2);
  expect(told()).toEqual(['Long?', long, 'Shorter']);
});
