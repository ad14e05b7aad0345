import { MessageFlags } from 'discord.js';
import { describe, expect, test } from 'vitest';
import type { FakeChannel, FakeMessage } from '../../fakes/discord/state.ts';
import type { TestBotOptions } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { type StartOptions, startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { holdTimers } from '../../helpers/hold-timers.ts';

async function start(options: { bot?: TestBotOptions; platform?: StartOptions } = {}) {
  const { bot, platform } = options;
  const fake = { messageContentAllowed: platform?.messageContent === true };
  const running = await runDiscord({ fake, bot, ...platform });
  const { discord, answered } = running;
  return {
    ...running,
    textsIn: (id: string) => discord.channel(id).map(({ content }) => content),
    /** The texts of a thread once its last message is whole. */
    answered: async (id: string) => (await answered(id)).map(({ content }) => content),
  };
}

const FOOTER = /\n-# test-model · \d+\.\d s/;

describe('/ask in a channel', () => {
  test('shows the question, and the answer in a thread named by it', async () => {
    const { discord, answered } = await start();
    const asked = discord.slash('ask', { question: 'Why is *the* sky\nblue?' });
    const reply = await eventually(() => asked.reply?.content && asked.reply);
    expect(reply.content).toBe('**Alice** asked: Why is \\*the\\* sky blue?');
    const thread = await discord.thread(reply.id);
    expect(thread).toMatchObject({ name: 'Why is *the* sky blue?', parent_id: discord.general.id });
    const texts = await answered(thread.id);
    expect(texts).toHaveLength(1);
    expect(texts[0]).toMatch(/^Hello from the fake provider\./);
    expect(texts[0]).toMatch(FOOTER);
    expect(asked.acknowledged).toMatchObject({ ephemeral: false });
  });

  test('shows the answer while it grows, typing until the first word', async () => {
    const { discord, provider, textsIn, answered } = await start();
    provider.answerWith(['One ', 'two ', 'three.']);
    const release = provider.holdChunks();
    const asked = discord.slash('ask', { question: 'Count' });
    const id = await eventually(() => asked.reply?.content && asked.reply.id);
    await eventually(() => discord.requests.some(({ path }) => path === `/channels/${id}/typing`));
    expect(textsIn(id)).toEqual([]);
    release();
    const texts = await answered(id);
    expect(texts[0]).toMatch(/^One two three\./);
  });
  test('a command whose time is over is dropped', async () => {
    const { discord, provider, lines } = await start();
    const late = discord.slash('ask', { question: 'Late' }, { createdAtMs: Date.now() - 31_000 });
    await eventually(() =>
      lines.some(({ msg }) => msg === 'could not acknowledge an interaction; dropping it'),
    );
    expect(provider.calls).toHaveLength(0);
    expect(discord.messages()).toHaveLength(0);
    expect(JSON.stringify(lines)).not.toContain(late.token);
  });
});

describe('going on in a thread', () => {
  type Started = Awaited<ReturnType<typeof start>>;
  type Asked = { channel: FakeChannel; question: FakeMessage };

  test.each<[string, (world: Started['discord'], asked: Asked) => void, boolean?]>([
    [
      'a reply to the answer',
      (discord, { channel }) => {
        discord.say('Second', { channel, replyTo: discord.channel(channel.id)[0] });
      },
    ],
    [
      '/ask in the thread',
      (discord, { channel }) => {
        discord.slash('ask', { question: 'Second' }, { channel });
      },
    ],
    [
      'a mention in reply to the question',
      (discord, { question }) => {
        discord.say('Second', { mention: true, replyTo: question });
      },
    ],
    [
      'with the privileged intent, a message of a person',
      (discord, { channel }) => {
        discord.say('Beep', { channel, user: discord.addUser('robot', true) });
        discord.say('Second', { channel });
      },
      true,
    ],
  ])('%s continues the thread', async (_what, goOn, messageContent = false) => {
    const { discord, answered, prompted, provider } = await start({
      platform: { messageContent },
    });
    const asked = discord.slash('ask', { question: 'First' });
    const question = await eventually(() => asked.reply?.content && asked.reply);
    await answered(question.id);
    const before = discord.channel(question.id).length;
    goOn(discord, { question, channel: await discord.thread(question.id) });
    await eventually(
      () => provider.calls.length === 2 && discord.channel(question.id).length > before + 1,
    );
    await answered(question.id);
    expect(prompted()).toEqual(['First', 'Hello from the fake provider.', 'Second']);
    expect(discord.threads()).toHaveLength(1);
  });

  test('alone with the bot, every message and /ask belong to one conversation', async () => {
    const { discord, answered, prompted, textsIn } = await start();
    const channel = discord.directChannel(discord.alice);
    discord.say('First', { channel });
    await eventually(() => textsIn(channel.id).length === 2);
    await answered(channel.id);
    discord.say('Second', { channel });
    await eventually(() => textsIn(channel.id).length === 4);
    await answered(channel.id);
    expect(prompted()).toEqual(['First', 'Hello from the fake provider.', 'Second']);
    discord.slash('ask', { question: 'Third' }, { channel });
    await eventually(() => textsIn(channel.id).length === 6);
    const texts = await answered(channel.id);
    expect(texts[4]).toBe('**Alice** asked: Third');
    expect(texts[5]).toMatch(/^Hello/);
  });

  test('a thread that was archived when the bot connected is still known', async () => {
    const { discord, answered, prompted, bot, platform } = await start();
    const asked = discord.slash('ask', { question: 'First' });
    const id = await eventually(() => asked.reply?.content && asked.reply.id);
    await answered(id);
    await platform.stop();
    const channel = await discord.thread(id);
    channel.thread_metadata = { archived: true, locked: false, auto_archive_duration: 60 };
    await startPlatform(discord, bot);
    discord.say('Second', { channel, mention: true });
    await eventually(() => discord.channel(id).length === 3);
    await answered(id);
    expect(prompted()).toEqual(['First', 'Hello from the fake provider.', 'Second']);
  });
});

describe('a mention in a channel', () => {
  test('is answered in a thread under the message, once however often it comes', async () => {
    const { discord, answered, provider, prompted } = await start();
    const bob = discord.addUser('bob');
    const said = discord.say(`what does <@${bob.id}> mean?`, { mention: true });
    discord.repeatMessage(said);
    const thread = await discord.thread(said.id);
    discord.repeatMessage(said);
    await answered(thread.id);
    expect(thread.name).toMatch(/^what does/);
    expect(prompted()[0]).toMatch(/^what does/);
    expect(provider.calls).toHaveLength(1);
    expect(discord.channel(discord.general.id)).toHaveLength(1);
  });

  test('a mention without text gets help', async () => {
    const { discord } = await start();
    discord.say('', { mention: true });
    const help = await eventually(() => discord.channel(discord.general.id)[1]);
    expect(JSON.stringify(help.embeds)).toContain('/ask');
  });

  test('a mention is answered in a channel without threads', async () => {
    const { discord, answered } = await start();
    const channel = discord.addChannel({ type: 2, name: 'voice' });
    discord.gateway.dispatch('CHANNEL_CREATE', channel, 1);
    discord.say('Hello?', { channel, mention: true });
    await eventually(() => discord.channel(channel.id).length === 2);
    expect((await answered(channel.id))[1]).toMatch(/^Hello from the fake provider/);
  });

  test('a reply that Discord hides is answered by how to ask', async () => {
    const { discord, provider, answered } = await start();
    discord.deny(discord.general, 'CreatePublicThreads');
    const asked = discord.slash('ask', { question: 'First' });
    await eventually(() => asked.followUps.length === 1);
    await answered(discord.general.id);
    const [answer] = asked.followUps;
    discord.say('Second', answer ? { replyTo: answer } : {});
    await eventually(() => discord.channel(discord.general.id).at(-1)?.content.includes('/ask'));
    expect(provider.calls).toHaveLength(1);
  });
});

describe('without the permission to open threads', () => {
  test('a mention is answered by a reply, and a reply to that continues it', async () => {
    const { discord, answered, prompted } = await start();
    discord.deny(discord.general, 'CreatePublicThreads');
    const said = discord.say('First', { mention: true });
    await eventually(() => discord.channel(discord.general.id).length === 2);
    await answered(discord.general.id);
    const answer = discord.channel(discord.general.id)[1];
    expect(answer?.message_reference?.message_id).toBe(said.id);
    discord.say('Second', answer ? { replyTo: answer } : {});
    await eventually(() => discord.channel(discord.general.id).length === 4);
    await answered(discord.general.id);
    expect(prompted()).toEqual(['First', 'Hello from the fake provider.', 'Second']);
  });
});

describe('a private question', () => {
  test('a private answer ends with a note when its token expires', async () => {
    const { discord, provider } = await start();
    const life = holdTimers((ms) => ms > 13 * 60_000 && ms <= 14 * 60_000);
    provider.answerWith(['Once ', 'upon ', 'a time']);
    provider.holdChunks(2);
    const asked = discord.slash('ask', { question: 'Tell me a tale', private: true });
    await eventually(() => asked.reply?.content.includes('Once upon'));
    life.expire();
    await eventually(() => asked.reply?.content.includes('15 minutes'));
    expect(asked.reply?.content).toContain('Once upon');
    await eventually(() => provider.calls[0]?.aborted);
    expect(asked.followUps).toEqual([]);
  });
});

describe('when Discord is in trouble', () => {
  test('an answer is shown once, though the answer to its first post was lost', async () => {
    const { discord, provider, answered } = await start();
    provider.answerWith(['One ', 'two.'], { chunkMs: 50 });
    discord.fail({ method: 'POST', path: /messages$/, applied: true, drop: true });
    const asked = discord.slash('ask', { question: 'Count' });
    const texts = await answered(await eventually(() => asked.reply?.content && asked.reply.id));
    expect(texts).toHaveLength(1);
    expect(texts[0]).toMatch(/^One two\./);
  });

  test('the end of an answer is tried again until it is shown', async () => {
    const { discord, answered } = await start();
    discord.fail({ method: 'POST', path: /messages$/, status: 503, times: 2 });
    const asked = discord.slash('ask', { question: 'Count' });
    const texts = await answered(await eventually(() => asked.reply?.content && asked.reply.id));
    expect(texts[0]).toMatch(/^Hello from the fake provider\./);
  });

  test('an answer whose thread is gone ends, and the asker is told', async () => {
    const { discord, provider } = await start();
    provider.answerWith(
      Array.from({ length: 4_000 }, (_, index) => `w${index} `),
      { chunkMs: 20 },
    );
    const asked = discord.slash('ask', { question: 'Count' });
    const id = await eventually(() => asked.reply?.content && asked.reply.id);
    await eventually(() => discord.channel(id).length === 1);
    discord.remove(id);
    const told = await eventually(() => asked.followUps[0]);
    expect(told.content).toMatch(/couldn’t show the answer/);
    expect(told.flags & MessageFlags.Ephemeral).toBe(MessageFlags.Ephemeral);
    expect(provider.calls[0]?.finished).toBe(false);
  });
});

test('stopping shows the end of answers under way', async () => {
  const { discord, bot, platform, provider, textsIn } = await start({
    platform: { editIntervalMs: 600 },
  });
  provider.answerWith(
    Array.from({ length: 10_000 }, (_, index) => `w${index} `),
    { chunkMs: 10 },
  );
  const asked = discord.slash('ask', { question: 'Count' });
  const id = await eventually(() => asked.reply?.content && asked.reply.id);
  await eventually(() => textsIn(id)[0]?.startsWith('w0 w1 '));
  await bot.stop();
  await platform.stop();
  expect(textsIn(id)[0]).toMatch(/^w0 w1 .*\n\*.+\*\n-# test-model/s);
  expect(discord.gateway.connected()).toBe(0);
});
