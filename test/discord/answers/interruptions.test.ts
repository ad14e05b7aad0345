import { describe, expect, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

async function start(prepare: (discord: DiscordFake) => void = () => {}) {
  const discord = await startDiscord();
  prepare(discord);
  const test = await startTestBot();
  const started = await startPlatform(discord, test.bot);
  /** The answer in a thread, once it is whole. */
  const answerIn = (thread: string) =>
    eventually(() =>
      discord.channel(thread).find(({ content }) => content.includes('-# test-model')),
    );
  /** Everything that is asked is answered once. */
  async function expectAnswered(...questions: Array<{ id: string }>) {
    for (const { id } of questions) await answerIn(id);
    for (const { id } of questions) expect(discord.channel(id)).toHaveLength(1);
    expect(test.provider.calls).toHaveLength(questions.length);
    expect(started.fatal).toEqual([]);
  }
  return { discord, ...test, ...started, expectAnswered };
}

describe('a message is answered once', () => {
  test('a message is answered after a cut connection', async () => {
    const { discord, lines, expectAnswered } = await start();
    discord.gateway.refuses = true;
    discord.gateway.drop();
    await eventually(() => lines.some(({ msg }) => msg === 'reconnecting to Discord'));
    await eventually(() => discord.gateway.connected() === 0);
    const said = discord.say('Anybody there?', { mention: true });
    discord.gateway.refuses = false;
    await expectAnswered(said);
    expect(discord.gateway.counts()).toEqual({ identified: 1, resumed: 1 });
  });

  test('messages around a requested reconnect are answered', async () => {
    const { discord, expectAnswered } = await start();
    const first = discord.say('First', { mention: true });
    discord.gateway.requestReconnect();
    const second = discord.say('Second', { mention: true });
    await eventually(() => discord.gateway.counts().resumed === 1);
    const third = discord.say('Third', { mention: true });
    await expectAnswered(first, second, third);
  });

  test('a message to a dead connection is answered', async () => {
    const { discord, expectAnswered } = await start(({ gateway }) => {
      gateway.heartbeatMs = 500;
    });
    discord.gateway.silence();
    const said = discord.say('Anybody there?', { mention: true });
    await expectAnswered(said);
    expect(discord.gateway.counts()).toEqual({ identified: 1, resumed: 1 });
  });

  test('a message is answered in a server that was down at the start', async () => {
    const { discord, expectAnswered } = await start(({ gateway }) => {
      gateway.guildUnavailable = true;
    });
    const early = discord.say('First', { mention: true });
    await eventually(() => discord.requests.some(({ path }) => path.includes(early.id)));
    discord.gateway.setAvailable(true);
    const later = discord.say('Second', { mention: true });
    await expectAnswered(early, later);
  });

  test('a message is answered in a server that came back', async () => {
    const { discord, expectAnswered } = await start();
    discord.gateway.setAvailable(false);
    const asked = discord.slash('ask', { question: 'First' });
    const early = await eventually(() => asked.reply?.content && asked.reply);
    discord.gateway.setAvailable(true);
    const later = discord.say('Second', { mention: true });
    await expectAnswered(early, later);
  });
});

describe('an interaction', () => {
  test('an interaction that Discord sends again is done once, and is logged without its token', async () => {
    const { discord, lines, expectAnswered } = await start();
    const asked = discord.slash('ask', { question: 'Once?' });
    const reply = await eventually(() => asked.reply?.content && asked.reply);
    discord.repeat(asked);
    const repeated = await eventually(() =>
      lines.find(({ msg }) => String(msg).startsWith('an interaction was already acknowledged')),
    );
    expect(repeated).toMatchObject({ command: 'ask', err: { code: 40_060 } });
    await expectAnswered(reply);
    expect(asked.reply?.content).toContain('Once?');
    expect(JSON.stringify(lines)).not.toContain(asked.token);
  });

  test('an expired token ends only its own answer', async () => {
    const { discord, provider, lines, fatal } = await start();
    discord.deny(discord.general, 'CreatePublicThreads');
    provider.answerWith(
      Array.from({ length: 4_000 }, (_, index) => `w${index} `),
      { chunkMs: 20 },
    );
    const asked = discord.slash('ask', { question: 'Count' });
    await eventually(() => asked.followUps[0]?.content.startsWith('w0'));
    const expired = { message: 'Invalid Webhook Token', code: 50_027 };
    discord.fail({ path: /^\/webhooks\//, status: 401, body: expired, times: 1_000 });
    await eventually(() => lines.some(({ msg }) => msg === 'could not show an answer'));
    expect(provider.calls.map(({ finished }) => finished)).toEqual([false]);
    expect(fatal).toEqual([]);
    expect(JSON.stringify(lines)).not.toContain(asked.token);
  });
});
