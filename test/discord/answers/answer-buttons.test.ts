import { ChannelType } from 'discord.js';
import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeChannel, FakeMessage } from '../../fakes/discord/state.ts';
import type { TestBotOptions } from '../../helpers/bot.ts';
import { labelsOf, runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';

const WHOLE = ['Regenerate', '👍', '👎'];

const isWhole = ({ content }: FakeMessage) => content.includes('-# test-model');

async function start(options: TestBotOptions = {}) {
  const running = await runDiscord({ bot: options });
  const { discord, answered } = running;
  return {
    ...running,
    /** Asks in the channel; gives the id of the thread under the question, and the answer there. */
    async askInThread(question: string) {
      const asked = discord.slash('ask', { question });
      const thread = await eventually(() => asked.reply?.content && asked.reply.id);
      const [answer] = await answered(thread, 1);
      return { thread, answer: answer as FakeMessage };
    },
    /** Asks in private; gives the last message once it is a whole answer. */
    async askPrivately(question: string, where: { channel?: FakeChannel } = {}) {
      const asked = discord.slash('ask', { question, private: true }, where);
      return await eventually(() => {
        const last = asked.followUps.at(-1) ?? asked.reply;
        return last && isWhole(last) && last;
      });
    },
  };
}

test('the button that stops comes and goes with the text, never by an edit of its own', async () => {
  const { discord, provider, askInThread } = await start();
  provider.answerWith(['One ', 'two.']);
  const { thread, answer } = await askInThread('Count');
  expect(labelsOf(answer)).toEqual(WHOLE);
  const texts = discord.requests
    .filter(({ method, path }) => method !== 'GET' && path.startsWith(`/channels/${thread}/mess`))
    .map(({ body }) => body?.content);
  expect(new Set(texts).size).toBe(texts.length);
});
test('a private answer is shared in the thread or the direct conversation where it was asked', async () => {
  const { discord, provider, answered, askInThread, askPrivately, prompted } = await start();
  const { thread } = await askInThread('First');
  const direct = discord.directChannel(discord.alice);
  for (const [channel, shown, before] of [
    [discord.channelOf(thread), 1, ['First', 'Hello from the fake provider.']],
    [direct, 0, []],
  ] as const) {
    provider.answerWith('Quietly.');
    const answer = await askPrivately('Psst?', { channel });
    discord.press(answer, 'Share');
    const all = await answered(channel.id, shown + 2);
    expect(all[shown]?.content).toBe('**Alice** asked: Psst?');
    discord.say('And now?', { channel, mention: true });
    await answered(channel.id, shown + 4);
    expect(prompted()).toEqual([...before, 'Psst?', 'Quietly.', 'And now?']);
  }
  expect(discord.threads()).toHaveLength(1);
});
test('an answer about an alert that is posted into a thread is made anew there', async () => {
  const discord = await startDiscord();
  const parent_id = discord.general.id;
  const channel = discord.addChannel({ type: ChannelType.PublicThread, parent_id, name: 'ops' });
  const alertPlaces = [{ platform: 'discord' as const, channel: channel.id }];
  const { bot, service, provider, platform, answered } = await runDiscord({
    discord,
    bot: { settings: { alertPlaces } },
  });
  await bot.start([platform]);
  const shop = service.add({ name: 'Shop' });
  const asked = service.requests.length;
  await eventually(() => service.requests.length > asked + 1);
  service.setStatus(shop.id, 'DOWN');
  const alert = await eventually(() => discord.channel(channel.id)[0]);
  // That it was posted is noted a moment after it is seen.
  await eventually(() => bot.isConversation(alertPlaces[0] as never, alert.id));
  discord.press(alert, 'Ask why');
  const [, , answer] = await answered(channel.id, 3);
  discord.press(answer as FakeMessage, 'Regenerate');
  await answered(channel.id, 5);
  const messages: Array<{ role: string; content: string }> =
    provider.calls.at(-1)?.body.messages ?? [];
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(messages[0]?.content).toContain('Monitor: Shop');
});
