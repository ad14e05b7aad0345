import { MessageFlags } from 'discord.js';
import { describe, expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

/** A long answer in a thread, with its beginning shown. */
async function startLongAnswer() {
  const discord = await startDiscord({ limit: false });
  const test = await startTestBot();
  const { provider } = test;
  const { platform, fatal } = await startPlatform(discord, test.bot);
  provider.answerWith(
    Array.from({ length: 4_000 }, (_, index) => `w${index} `),
    { chunkMs: 20 },
  );
  const asked = discord.slash('ask', { question: 'Count' });
  const id = await eventually(() => asked.reply?.content && asked.reply.id);
  const answer = await eventually(() => discord.channel(id)[0]);
  return {
    ...{ discord, asked, answer, provider, platform, fatal },
    thread: await discord.thread(id),
    /** Told to nobody but who asked. */
    told: () => eventually(() => asked.followUps.at(-1)),
    /** The call to the model ends. */
    ended: () => eventually(() => provider.calls[0]?.aborted),
  };
}

const closed = (locked: boolean) => ({ archived: true, locked, auto_archive_duration: 60 });

describe('a thread in which an answer grows', () => {
  test('is opened again when it is archived, and the answer goes on in it', async () => {
    const { thread, answer, asked } = await startLongAnswer();
    const before = answer.content.length;
    thread.thread_metadata = closed(false);
    await eventually(() => thread.thread_metadata?.archived === false);
    await eventually(() => answer.content.length > before + 20);
    expect(asked.followUps).toEqual([]);
  });

  test('stays closed when it is locked, the answer ends, and the asker is shown what to do', async () => {
    const { thread, told, ended, fatal } = await startLongAnswer();
    thread.thread_metadata = closed(true);
    const { content, flags } = await told();
    expect(content).toBe(
      'Askwatch couldn’t show the answer. The thread is archived and locked, or Askwatch lacks the permission Send Messages in Threads. Unlock it, or continue in a new thread.',
    );
    expect(flags & MessageFlags.Ephemeral).toBe(MessageFlags.Ephemeral);
    await ended();
    expect(thread.thread_metadata?.archived).toBe(true);
    expect(fatal).toEqual([]);
  });

  test('an archived thread is opened by a later try', async () => {
    const { discord, thread, answer } = await startLongAnswer();
    const before = answer.content.length;
    discord.fail({ method: 'PATCH', path: /^\/channels\/\d+$/, status: 503, times: 2 });
    thread.thread_metadata = closed(false);
    await eventually(() => answer.content.length > before + 20);
    expect(thread.thread_metadata?.archived).toBe(false);
  });
});

describe('an answer that nobody can see any more is stopped', () => {
  test('an answer whose message was deleted', async () => {
    const { discord, answer, told, ended } = await startLongAnswer();
    discord.remove(answer.id);
    await ended();
    expect((await told()).content).toMatch(/couldn’t show the answer\. The message was deleted\./);
  });

  test('an answer that has not begun when its thread is gone', async () => {
    const { discord, provider } = await runDiscord();
    provider.holdChunks();
    const gone = { message: 'Unknown Channel', code: 10_003 };
    discord.fail({ path: /\/typing$/, status: 404, body: gone, times: 100 });
    discord.slash('ask', { question: 'Count' });
    // Before the call or in the middle of it.
    await eventually(() => discord.requests.some(({ path }) => path.endsWith('/messages')));
    expect(provider.calls.filter(({ finished }) => finished)).toEqual([]);
  });
});

test('an alert in a thread that was archived meanwhile shows its end there', async () => {
  const { discord, platform } = await runDiscord();
  const thread = discord.openThread(discord.say('Alerts go here'));
  const down = { tone: 'bad' as const, title: 'Shop is down', parts: [] };
  const posted = await platform.post({ channel: thread.id, card: down, id: 'a', attempted: false });
  thread.thread_metadata = closed(false);
  await platform.update(thread.id, posted, { ...down, tone: 'good', title: 'Shop is UP' });
  expect(discord.channel(thread.id).map(({ embeds }) => embeds[0]?.title)).toEqual(['Shop is UP']);
});
