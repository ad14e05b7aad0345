import { ChannelType, MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeChannel, FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot, type TestBotOptions } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const WHOLE = ['Regenerate', '👍', '👎'];

const labelsOf = ({ components }: FakeMessage) =>
  components.flatMap((row) => row.components.map(({ label }) => label));
const isEphemeral = ({ flags }: FakeMessage) => (flags & MessageFlags.Ephemeral) !== 0;
const isWhole = ({ content }: FakeMessage) => content.includes('-# test-model');

async function start(options: TestBotOptions = {}) {
  const discord = await startDiscord();
  const running = await startTestBot(options);
  const started = await startPlatform(discord, running.bot);
  /** The messages of a channel or thread once it has so many and the last one is a whole answer. */
  const answered = (channel: string, count: number) =>
    eventually(() => {
      const messages = discord.channel(channel);
      const last = messages.at(-1);
      return messages.length === count && last && isWhole(last) && { all: messages, last };
    });
  return {
    discord,
    ...running,
    ...started,
    answered,
    /** What the model was given last, without the system prompt. */
    told() {
      const messages: Array<{ role: string; content: string }> =
        running.provider.calls.at(-1)?.body.messages ?? [];
      return messages.filter(({ role }) => role !== 'system').map(({ content }) => content);
    },
    /** Asks in the channel; gives the id of the thread under the question, and the answer there. */
    async askInThread(question: string) {
      const asked = discord.slash('ask', { question });
      const thread = await eventually(() => asked.reply?.content && asked.reply.id);
      const { last } = await answered(thread, 1);
      return { thread, answer: last };
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

type Started = Awaited<ReturnType<typeof start>>;

/** Presses a button, and gives what only who pressed is told. */
async function toldBy({ discord }: Started, message: FakeMessage, label: string) {
  const pressed = discord.press(message, label);
  const told = await eventually(() => pressed.followUps[0]);
  expect(isEphemeral(told)).toBe(true);
  return JSON.stringify(told.embeds);
}

test('anybody can stop an answer, which then says who did, and can be tried again', async () => {
  const { discord, provider, answered, told } = await start();
  provider.answerWith(['One ', 'two ', 'three.']);
  provider.failWith({ kind: 'stall', afterChunks: 2 });
  const asked = discord.slash('ask', { question: 'Count' });
  const thread = await eventually(() => asked.reply?.content && asked.reply.id);
  const growing = await eventually(() => discord.channel(thread)[0]);
  expect(labelsOf(growing)).toEqual(['Stop']);
  const pressed = discord.press(growing, 'Stop', { user: discord.addUser('bob') });
  const { last: stopped } = await answered(thread, 1);
  expect(stopped.content).toMatch(/^One two\n\*Stopped by Bob\.\*\n-# test-model/);
  expect(labelsOf(stopped)).toEqual(['Try again']);
  expect(pressed.followUps).toEqual([]);
  provider.recover();
  discord.press(stopped, 'Try again');
  const { all, last } = await answered(thread, 3);
  expect(all[1]?.content).toBe('**Alice** asked: Count');
  expect(last.content).toMatch(/^One two three\./);
  expect(labelsOf(last)).toEqual(WHOLE);
  expect(told()).toEqual(['Count']);
});

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

test('an answer in a thread is made anew below, in place of the first, which loses its buttons and says so', async () => {
  const running = await start();
  const { discord, provider, answered, askInThread, told } = running;
  provider.answerWith('First.');
  const { thread, answer } = await askInThread('Why?');
  provider.answerWith('Second.');
  discord.press(answer, 'Regenerate', { user: discord.addUser('bob') });
  const { all, last } = await answered(thread, 3);
  expect(all[1]?.content).toBe('**Bob** asked: Why?');
  expect(labelsOf(all[1] as FakeMessage)).toEqual([]);
  expect(last.content).toMatch(/^Second\./);
  expect(told()).toEqual(['Why?']);
  await eventually(() => labelsOf(all[0] as FakeMessage).length === 0);
  expect(all[0]?.content).toMatch(/^First\.\n-# test-model.*\n\*Answered again below\.\*$/);
  discord.say('And now?', { channel: discord.channelOf(thread), mention: true });
  await answered(thread, 5);
  expect(told()).toEqual(['Why?', 'Second.', 'And now?']);
  expect(discord.threads()).toHaveLength(1);
  expect(discord.channel(discord.general.id)).toHaveLength(1);
});

test('an answer that reached the longest its model gives goes on below', async () => {
  const { discord, provider, answered, askInThread, told } = await start();
  provider.answerWith('Half', { finishReason: 'length' });
  const { thread, answer } = await askInThread('Tell all');
  expect(labelsOf(answer)).toEqual(['Continue', ...WHOLE]);
  provider.answerWith(' and half.');
  discord.press(answer, 'Continue');
  const { all } = await answered(thread, 3);
  expect(all[1]?.content).toBe('**Alice** asked: Continue exactly where you stopped.');
  const half = all[0] as FakeMessage;
  await eventually(() => labelsOf(half).length === 2);
  expect(labelsOf(half)).toEqual(['👍', '👎']);
  expect(half.content).toMatch(/^Half[\s\S]*\*Continued below\.\*$/);
  expect(told()).toEqual(['Tell all', 'Half', 'Continue exactly where you stopped.']);
});

test('alone with the bot an answer is made anew, rated, and stays one with the conversation', async () => {
  const running = await start();
  const { discord, provider, answered, told } = running;
  const channel = discord.directChannel(discord.alice);
  provider.answerWith('First.');
  discord.say('Why?', { channel });
  const { last: first } = await answered(channel.id, 2);
  provider.answerWith('Second.');
  discord.press(first, 'Regenerate');
  const { all, last } = await answered(channel.id, 4);
  expect(all[2]?.content).toBe('**Alice** asked: Why?');
  expect(await toldBy(running, last, '👎')).toContain('Thank you, rated 👎');
  discord.slash('ask', { question: 'And now?' }, { channel });
  await answered(channel.id, 6);
  expect(told()).toEqual(['Why?', 'Second.', 'And now?']);
});

test.each(['slash', 'mention'] as const)(
  'without threads an answer to a %s is made anew in the channel, again and again',
  async (how) => {
    const running = await start();
    const { discord, provider, answered, told } = running;
    const { general } = discord;
    discord.deny(general, 'CreatePublicThreads');
    provider.answerWith('First.');
    if (how === 'slash') discord.slash('ask', { question: 'Why?' });
    else discord.say('Why?', { mention: true });
    const { last: first } = await answered(general.id, 2);
    provider.answerWith('Second.');
    discord.press(first, 'Regenerate');
    const { all, last: second } = await answered(general.id, 4);
    await eventually(() => all.flatMap(labelsOf).length === WHOLE.length);
    expect(all[2]?.content).toBe('**Alice** asked: Why?');
    expect(told()).toEqual(['Why?']);
    provider.answerWith('Third.');
    discord.press(second, 'Regenerate', { user: discord.addUser('bob') });
    const { last: third } = await answered(general.id, 6);
    expect(told()).toEqual(['Why?']);
    expect(await toldBy(running, third, '👍')).toContain('Thank you, rated 👍');
    discord.say('And now?', { mention: true, replyTo: third });
    const { last: fourth } = await answered(general.id, 8);
    expect(told()).toEqual(['Why?', 'Third.', 'And now?']);
    // Where threads are allowed again, the conversation still goes on where it is.
    discord.deny(general);
    discord.press(fourth, 'Regenerate');
    await answered(general.id, 10);
    expect(told()).toEqual(['Why?', 'Third.', 'And now?']);
    expect(discord.threads()).toEqual([]);
  },
);

test('buttons work after a restart: in a thread, alone with the bot, and in the channel', async () => {
  const running = await start();
  const { discord, bot, platform, answered, askInThread } = running;
  const { general } = discord;
  const { answer: inThread } = await askInThread('Why?');
  const channel = discord.directChannel(discord.alice);
  discord.say('Why?', { channel });
  const { last: direct } = await answered(channel.id, 2);
  discord.deny(general, 'CreatePublicThreads');
  discord.say('Why?', { mention: true });
  const { last: inChannel } = await answered(general.id, 3);
  await platform.stop();
  await startPlatform(discord, bot);
  for (const answer of [inThread, direct, inChannel]) {
    expect(await toldBy(running, answer, '👍')).toContain('Thank you, rated 👍');
  }
});

test('what people think of an answer is thanked for to them only', async () => {
  const running = await start();
  const { thread, answer } = await running.askInThread('Why?');
  expect(await toldBy(running, answer, '👍')).toContain('Thank you, rated 👍');
  expect(running.discord.channel(thread)).toHaveLength(1);
  expect(labelsOf(answer)).toEqual(WHOLE);
});

test('a private answer is shared in a thread of its own, which remembers it', async () => {
  const running = await start();
  const { discord, provider, answered, askPrivately, told } = running;
  provider.answerWith('Quietly.');
  const answer = await askPrivately('Psst?');
  expect(labelsOf(answer)).toEqual(['Share', '👍', '👎']);
  const pressed = discord.press(answer, 'Share');
  const thread = await eventually(() => discord.threads()[0]);
  const { last: shared } = await answered(thread.id, 1);
  expect(shared.content).toBe(answer.content);
  expect(labelsOf(shared)).toEqual(WHOLE);
  const [question] = discord.channel(discord.general.id);
  expect(question?.content).toBe('**Alice** asked: Psst?');
  expect(thread).toMatchObject({ id: question?.id, name: 'Psst?' });
  expect(pressed.followUps).toEqual([question]);
  discord.press(answer, 'Share');
  discord.say('And now?', { channel: thread, mention: true });
  await answered(thread.id, 3);
  expect(told()).toEqual(['Psst?', 'Quietly.', 'And now?']);
  expect(provider.calls).toHaveLength(2);
  expect(labelsOf(answer)).toEqual(['Share', '👍', '👎']);
  expect(discord.threads()).toHaveLength(1);
});

test('a private answer is shared in the thread or the direct conversation where it was asked', async () => {
  const { discord, provider, answered, askInThread, askPrivately, told } = await start();
  const { thread } = await askInThread('First');
  const direct = discord.directChannel(discord.alice);
  for (const [channel, shown, before] of [
    [discord.channelOf(thread), 1, ['First', 'Hello from the fake provider.']],
    [direct, 0, []],
  ] as const) {
    provider.answerWith('Quietly.');
    const answer = await askPrivately('Psst?', { channel });
    discord.press(answer, 'Share');
    const { all } = await answered(channel.id, shown + 2);
    expect(all[shown]?.content).toBe('**Alice** asked: Psst?');
    discord.say('And now?', { channel, mention: true });
    await answered(channel.id, shown + 4);
    expect(told()).toEqual([...before, 'Psst?', 'Quietly.', 'And now?']);
  }
  expect(discord.threads()).toHaveLength(1);
});

test('without threads a private answer is shared in the channel, where it can be made anew', async () => {
  const { discord, provider, answered, askPrivately, told } = await start();
  const { general } = discord;
  discord.deny(general, 'CreatePublicThreads');
  provider.answerWith('Quietly.');
  discord.press(await askPrivately('Psst?'), 'Share');
  const { all, last: shared } = await answered(general.id, 2);
  expect(all[0]?.content).toBe('**Alice** asked: Psst?');
  provider.answerWith('Loudly.');
  discord.press(shared, 'Regenerate');
  const { last } = await answered(general.id, 4);
  expect(last.content).toMatch(/^Loudly\./);
  discord.say('And now?', { mention: true, replyTo: last });
  await answered(general.id, 6);
  expect(told()).toEqual(['Psst?', 'Loudly.', 'And now?']);
});

test.each([false, true])(
  'a long answer has buttons under its last message only (private: %s)',
  async (only) => {
    const { discord, provider, askPrivately } = await start();
    const words = Array.from({ length: 900 }, (_, index) => `word${index}`).join(' ');
    provider.answerWith([words.slice(0, 3_000), words.slice(3_000)]);
    const release = provider.holdChunks(1);
    const whole = only ? askPrivately('Long') : undefined;
    if (!only) discord.slash('ask', { question: 'Long' });
    const pieces = () => discord.messages().filter(({ content }) => content.includes('word'));
    await eventually(() => pieces().length === 2);
    expect(pieces().map(labelsOf)).toEqual([[], ['Stop']]);
    release();
    await eventually(() => pieces().some(isWhole));
    await whole;
    const all = pieces().map(labelsOf);
    expect(all.length).toBeGreaterThan(3);
    expect(all.slice(0, -1).flat()).toEqual([]);
    expect(all.at(-1)).toEqual(only ? ['Share', '👍', '👎'] : WHOLE);
  },
);

test('an answer about an alert that is posted into a thread is made anew there', async () => {
  const discord = await startDiscord();
  const parent_id = discord.general.id;
  const channel = discord.addChannel({ type: ChannelType.PublicThread, parent_id, name: 'ops' });
  const alertPlaces = [{ platform: 'discord' as const, channel: channel.id }];
  const { bot, service, provider } = await startTestBot({ settings: { alertPlaces } });
  const { platform } = await startPlatform(discord, bot);
  await bot.start([platform]);
  const shop = service.add({ name: 'Shop' });
  const asked = service.requests.length;
  await eventually(() => service.requests.length > asked + 1);
  service.setStatus(shop.id, 'DOWN');
  const alert = await eventually(() => discord.channel(channel.id)[0]);
  // That it was posted is noted a moment after it is seen.
  await eventually(() => bot.isConversation(alertPlaces[0] as never, alert.id));
  discord.press(alert, 'Ask why');
  const whole = (count: number) =>
    eventually(() => {
      const messages = discord.channel(channel.id);
      const last = messages.at(-1);
      return messages.length === count && last && isWhole(last) && last;
    });
  discord.press(await whole(3), 'Regenerate');
  await whole(5);
  const messages: Array<{ role: string; content: string }> =
    provider.calls.at(-1)?.body.messages ?? [];
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(messages[0]?.content).toContain('Monitor: Shop');
});
