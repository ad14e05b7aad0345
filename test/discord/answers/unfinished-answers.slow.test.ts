import { expect, onTestFinished, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { asKilled } from '../../helpers/after-kill.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { labelsOf } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const NOTE = 'Askwatch was restarted before this answer was complete.';

/** A Discord whose bot can be killed in the middle of an answer, and started again on what it left. */
async function begin(prepare: (discord: DiscordFake) => void = () => {}) {
  const discord = await startDiscord();
  prepare(discord);
  const provider = await startModelProvider();
  onTestFinished(() => provider.close());
  let folder = await temporaryFolder();
  async function life() {
    const running = await startTestBot({
      ...{ folder, provider },
      settings: { alertPollMs: 600_000 },
    });
    const { platform, lines } = await startPlatform(discord, running.bot);
    await running.bot.start([platform]);
    return { platform, service: running.service, lines: [lines, running.lines] };
  }
  let now = await life();
  let stopped = Promise.resolve();
  provider.answerWith(['one ', 'two ', 'three']);
  return {
    discord,
    provider,
    general: discord.general,
    /** From now on the monitoring service answers nothing. */
    hangService: () => now.service.failWith({ kind: 'hang' }),
    /** Said to it while the model says so much, and then nothing more. */
    async inMidAnswer(ask: () => unknown, { afterChunks = 2 } = {}) {
      provider.failWith({ kind: 'stall', afterChunks }, 1);
      ask();
      await eventually(() => provider.calls.length === 1);
    },
    async kill() {
      folder = await asKilled(folder);
      stopped = now.platform.stop();
    },
    /** Until the process that was killed hears nothing more, for tests that say more. */
    silent: () => stopped,
    async start() {
      provider.answerWith('All of it.');
      now = await life();
      return () => now.lines.flat().map(({ msg }) => String(msg));
    },
  };
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const growing = (messages: FakeMessage[]) =>
  messages.find((message) => labelsOf(message).includes('Stop'));

const ended = (discord: DiscordFake, channel: string) =>
  eventually(() => discord.channel(channel).find(({ content }) => content.includes(NOTE)));

test.each([
  ['a thread', () => {}, 'mention'],
  ['a thread, for a slash command', () => {}, 'slash'],
  [
    'the open channel',
    (discord: DiscordFake) => discord.deny(discord.general, 'CreatePublicThreads'),
    'mention',
  ],
  [
    'messages that may not be read',
    (discord: DiscordFake) =>
      discord.deny(discord.general, 'CreatePublicThreads', 'ReadMessageHistory'),
    'mention',
  ],
] as const)('an answer in %s that a kill cut short gets its end', async (where, prepare, how) => {
  const { discord, provider, general, inMidAnswer, kill, start, silent } = await begin(prepare);
  await inMidAnswer(() =>
    how === 'slash'
      ? discord.slash('ask', { question: 'count' })
      : discord.say('count', { mention: true }),
  );
  // All text is shown, so the old process can't overwrite the end.
  const { channel_id: channel, id } = await eventually(() => {
    const message = growing(discord.messages());
    return message?.content.startsWith('one two') && message;
  });
  const known = discord.channel(channel).length;
  await kill();
  await start();
  const end = await ended(discord, channel);
  expect(labelsOf(end)).toEqual(['Try again']);
  const isRead = !where.includes('not be read');
  if (isRead) expect(end.content).toMatch(/^one two\n\*Interrupted: Askwatch was restarted/);
  else expect(end.id).not.toBe(id);
  expect(discord.channel(channel)).toHaveLength(isRead ? known : known + 1);
  await eventually(() => growing(discord.messages()) === undefined);

  await silent();
  // A repeated message gets no second answer.
  if (how === 'mention') discord.repeatMessage(discord.channel(general.id)[0] as FakeMessage);
  discord.press(end, 'Try again');
  await eventually(() =>
    discord.channel(channel).some(({ content }) => content.includes('All of it.')),
  );
  const told: { role: string; content: string }[] = provider.calls[1]?.body.messages;
  expect(told.filter(({ role }) => role !== 'system')).toEqual([
    { role: 'user', content: 'count' },
  ]);
  expect(provider.calls).toHaveLength(2);
});

test('an answer of which nothing was posted yet gets its end where it was to be', async () => {
  const { discord, inMidAnswer, kill, start } = await begin();
  await inMidAnswer(() => discord.say('count', { mention: true }), { afterChunks: 0 });
  const [thread] = await eventually(() => discord.threads().length === 1 && discord.threads());
  await kill();
  await start();
  const end = await ended(discord, thread?.id ?? '');
  expect(labelsOf(end)).toEqual(['Try again']);
});

test.each(['before', 'after'])(
  'an answer whose first message comes %s its end, as nobody saw it under way, is one message',
  async (when) => {
    const { discord, inMidAnswer, kill, start } = await begin();
    const [first, end] = [gate(), gate()];
    for (const heldUntil of [first.opened, end.opened]) {
      discord.fail({ method: 'POST', path: /messages$/, heldUntil });
    }
    const posts = () =>
      discord.requests.filter(({ method, path }) => method === 'POST' && /messages$/.test(path));
    await inMidAnswer(() => discord.say('count', { mention: true }), { afterChunks: 1 });
    await eventually(() => posts().length === 1);
    await kill();
    await start();
    await eventually(() => posts().length === 2);
    const order = when === 'before' ? [first, end] : [end, first];
    for (const { open } of order) {
      open();
      await eventually(() => posts().some(({ status }) => status === 200));
    }
    const [thread] = discord.threads();
    const ended = await eventually(() =>
      discord.channel(thread?.id ?? '').find(({ content }) => content.includes(NOTE)),
    );
    await eventually(() => posts().every(({ status }) => status === 200));
    expect(labelsOf(ended)).toEqual(['Try again']);
    expect(discord.channel(thread?.id ?? '')).toEqual([ended]);
  },
);

test.each([2, 0])(
  'a private answer of %i words gets its end for who asked',
  async (afterChunks) => {
    const { discord, inMidAnswer, kill, start } = await begin();
    let asked: ReturnType<DiscordFake['slash']> | undefined;
    await inMidAnswer(
      () => {
        asked = discord.slash('ask', { question: 'what is secret?', private: true });
      },
      { afterChunks },
    );
    if (afterChunks > 0) await eventually(() => asked?.reply?.content.startsWith('one two'));
    await kill();
    await start();
    const reply = await eventually(() => asked?.reply?.content.includes(NOTE) && asked.reply);
    expect(reply.content).toMatch(afterChunks > 0 ? /^one two\n\*Interrupted/ : /^\*Interrupted/);
    expect(reply.content).toContain('Ask again.');
    expect(labelsOf(reply)).toEqual([]);
  },
);

test('a command that a kill cut short before anything was shown gets a note as its reply', async () => {
  const { discord, hangService, kill, start } = await begin();
  hangService();
  const asked = discord.slash('monitor list');
  await eventually(() => asked.acknowledged);
  await kill();
  await start();
  const { content } = await eventually(() => asked.reply?.content && asked.reply);
  expect(content).toMatch(/^\*Interrupted: Askwatch was restarted while doing this/);
});

test('an answer whose message is gone is given up', async () => {
  const { discord, inMidAnswer, kill, start } = await begin();
  await inMidAnswer(() => discord.say('count', { mention: true }));
  const { id } = await eventually(() => growing(discord.messages()));
  await kill();
  discord.remove(id);
  const said = await start();
  await eventually(() => said().some((line) => /an interrupted answer.* giving up/.test(line)));
});
