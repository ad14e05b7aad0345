import { expect, test } from 'vitest';
import type { FakeChannel } from '../../fakes/discord/state.ts';
import type { TestBotOptions } from '../../helpers/bot.ts';
import { startReadingBot } from '../../helpers/discord/reading-bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { holdTimers } from '../../helpers/hold-timers.ts';

const HIDDEN =
  /Discord hides messages between people from Askwatch because Message Content Intent is off\. Turn it on at .*, set DISCORD_MESSAGE_CONTENT=true/;

async function start({ content = true, bot }: { content?: boolean; bot?: TestBotOptions } = {}) {
  const started = await startReadingBot({ content, says: 'On Monday.', bot });
  const { discord, bob } = started;
  return {
    ...started,
    /** Two people talk in a thread. */
    talk(): FakeChannel {
      const root = discord.say('Shall we ship on Friday?');
      const channel = discord.openThread(root);
      discord.say(`No, Monday: the <@${discord.alice.id}> tests are red`, { channel, user: bob });
      discord.say('Agreed', { channel });
      return channel;
    },
    /** Texts of whole answers, once there are so many. */
    answers: (channel: string, count = 1) =>
      eventually(() => {
        const own = discord.channel(channel).filter(({ author }) => author.id === discord.bot.id);
        const whole = own.filter((message) => message.content.includes('-# test-model'));
        return whole.length === count && whole.map((message) => message.content);
      }),
  };
}

test('a thread that Askwatch began is followed as ever, and not read', async () => {
  const { discord, answers, prompted } = await start();
  const asked = discord.slash('ask', { question: 'First' });
  const id = await eventually(() => asked.reply?.content && asked.reply.id);
  await answers(id);
  const channel = await discord.thread(id);
  discord.say('Second', { channel });
  await answers(id, 2);
  expect(prompted().map(({ content }) => content)).toEqual(['First', 'On Monday.', 'Second']);
  expect(
    discord.requests.filter(({ method, path }) => method === 'GET' && path.endsWith('/messages')),
  ).toEqual([]);
});

test('a mention below a message asks about that, and about what it replies to', async () => {
  const { discord, bob, answers, lines, prompted } = await start();
  const first = discord.say('The shop is slow');
  const second = discord.say('Since the release of 14:00', { user: bob, replyTo: first });
  const question = discord.say('is that plausible?', { replyTo: second, mention: true });
  await answers(question.id);
  expect(prompted().at(-1)?.content).toMatch(
    /^The question is about the last of these messages, each a reply to the one before/,
  );
  expect(lines()).toEqual(['Alice: The shop is slow', 'Bob: Since the release of 14:00']);
  // The thread is one of Askwatch's own, and remembers what it is about.
  const channel = await discord.thread(question.id);
  discord.say('and why?', { channel });
  await answers(question.id, 2);
  expect(prompted()[0]?.content).toMatch(
    /Bob: Since the release of 14:00\n\nThe question:\nis that plausible\?$/,
  );
  expect(prompted().at(-1)?.content).toBe('and why?');
});

test('a bare mention below a message asks what that is about', async () => {
  const { discord, bob, answers, lines, prompted } = await start();
  const about = discord.say('ECONNRESET at web-1', { user: bob });
  const question = discord.say('', { replyTo: about, mention: true });
  await answers(question.id);
  expect(lines()).toEqual(['Bob: ECONNRESET at web-1']);
  expect(prompted().at(-1)?.content).toMatch(/\nWhat is this about\? Explain it, or sum it up\.$/);
});

test('an answer without the intent says how to turn it on', async () => {
  const { discord, bob, talk, answers, lines, prompted } = await start({ content: false });
  const channel = talk();
  discord.say('what did we decide?', { channel, mention: true });
  const [answer = ''] = await answers(channel.id);
  expect(answer).toMatch(/This thread could not be read\. Discord hides/);
  expect(answer.replaceAll('\\', '')).toMatch(HIDDEN);
  expect(prompted().at(-1)?.content).toMatch(/^This thread could not be read: Discord hides/);
  // Messages that mention the bot are readable.
  discord.say('again?', { channel, mention: true, user: bob });
  const [, second = ''] = await answers(channel.id, 2);
  expect(second).toContain('Not all of this thread could be read.');
  expect(lines()).toEqual(['Alice asked you (see above, with your answer)']);

  const about = discord.say('The shop is slow', { user: bob });
  const question = discord.say('why?', { replyTo: about, mention: true });
  const [third = ''] = await answers(question.id);
  expect(third).toContain(
    'The message that the question replies to could not be read. Discord hides',
  );
});

test('an answer names the missing permission to read', async () => {
  const { discord, talk, answers } = await start();
  const channel = talk();
  discord.deny(discord.general, 'ReadMessageHistory');
  discord.say('what did we decide?', { channel, mention: true });
  const [answer = ''] = await answers(channel.id);
  expect(answer.replaceAll('\\', '')).toContain(
    'This thread could not be read. Askwatch lacks the permission Read Message History in #general. Grant it under',
  );
});

test('a small model gets the newest of a thousand messages', async () => {
  const models = [{ id: 'test-model', context_length: 4096 }];
  const { discord, bob, answers, lines, prompted } = await start({ bot: { models } });
  const channel = discord.openThread(discord.say('How it began'));
  for (let n = 1; n < 1_000; n += 1)
    discord.saidBefore(`note ${n} of many`, { channel, user: bob });
  discord.say('summarise this', { channel, mention: true });
  const [answer = ''] = await answers(channel.id);
  const told = lines();
  expect(told.at(-1)).toBe('Bob: note 999 of many');
  expect(told).toEqual(
    Array.from({ length: told.length }, (_, n) => `Bob: note ${1_000 - told.length + n} of many`),
  );
  expect(told.length).toBeGreaterThan(50);
  // Discord's count includes the question.
  expect(prompted().at(-1)?.content).toContain(`(${1_000 - told.length} older messages left out)`);
  expect(answer).toContain(
    `Only the newest ${told.length} of 1000 messages in this thread were read.`,
  );
});

test('a Discord that does not answer keeps no answer waiting', async () => {
  const { discord, talk, answers } = await start();
  const channel = talk();
  discord.fail({ method: 'GET', path: /\/messages$/, hang: true });
  const limits = holdTimers(5_000);
  discord.say('what did we decide?', { channel, mention: true });
  await eventually(() => discord.requests.some(({ path }) => path.endsWith('/messages')));
  limits.expire();
  const [answer = ''] = await answers(channel.id);
  expect(answer).toContain(
    'This thread could not be read. It took longer than 5 seconds to load. Ask again.',
  );
});

test('a message replied to that was deleted is said to be so', async () => {
  const { discord, bob, answers } = await start();
  const about = discord.say('The shop is slow', { user: bob });
  discord.fail({
    method: 'GET',
    path: new RegExp(`/messages/${about.id}$`),
    times: 9,
    status: 404,
    body: { code: 10_008, message: 'Unknown Message' },
  });
  const question = discord.say('why?', { replyTo: about, mention: true });
  const [answer = ''] = await answers(question.id);
  expect(answer).toContain(
    'The message that the question replies to could not be read. The message was deleted.',
  );
});
