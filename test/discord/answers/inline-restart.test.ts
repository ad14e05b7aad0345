import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
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
  const life = () => runDiscord({ discord, bot: { folder, provider } });
  let running = await life();
  return {
    ...{ discord, provider },
    async restart() {
      await running.platform.stop();
      await running.stop();
      running = await life();
    },
    answered: (count?: number) => running.answered(general.id, count),
    prompted: () => running.prompted(),
  };
}

test.each(['slash', 'mention'] as const)(
  'an answer to a %s in the channel is made anew, continued and rated after restarts',
  async (how) => {
    const { discord, provider, restart, answered, prompted } = await start();
    provider.answerWith('First.');
    if (how === 'slash') discord.slash('ask', { question: 'Why?' });
    else discord.say('Why?', { mention: true });
    const [, first] = await answered(2);
    await restart();
    provider.answerWith('Second.');
    discord.press(first as FakeMessage, 'Regenerate');
    const [, , , second] = await answered(4);
    expect(prompted()).toEqual(['Why?']);
    await restart();
    const rated = discord.press(second as FakeMessage, '👍');
    const thanks = await eventually(() => rated.followUps[0]);
    expect(JSON.stringify(thanks.embeds)).toContain('Thank you, rated 👍');
    discord.say('And now?', { mention: true, replyTo: second as FakeMessage });
    await answered(6);
    expect(prompted()).toEqual(['Why?', 'Second.', 'And now?']);
    expect(discord.threads()).toEqual([]);
  },
);

test('a reply to any message of a long answer continues it after a restart', async () => {
  const { discord, provider, restart, answered, prompted } = await start();
  const long = 'word '.repeat(900).trim();
  provider.answerWith(long);
  discord.slash('ask', { question: 'Long?' });
  await eventually(() => discord.channel(discord.general.id).length > 3);
  const all = await answered();
  await restart();
  provider.answerWith('Short.');
  discord.say('Shorter', { mention: true, replyTo: all[1] as FakeMessage });
  await answered(all.length + 2);
  expect(prompted()).toEqual(['Long?', long, 'Shorter']);
});
