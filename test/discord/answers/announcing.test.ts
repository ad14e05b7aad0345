import { MessageFlags } from 'discord.js';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const ALERT: Card = { tone: 'bad', title: 'Shop is down', parts: [] };
const OVER: Card = { tone: 'good', title: 'Shop recovered after 5 minutes', parts: [] };
const SHOWN = '🟢 Shop recovered after 5 minutes';

/** A channel with an alert, and the line that is to be said under it. */
async function startWithCard(options: Parameters<typeof startDiscord>[0] = {}) {
  const { discord, platform } = await runDiscord({ fake: options });
  const channel = discord.general.id;
  const posted = await platform.post({ channel, card: ALERT, id: 'a1', attempted: false });
  const line = { channel, posted, card: OVER, id: 'a1/end', attempted: false };
  const announce = (more: Partial<typeof line> = {}) => platform.announce({ ...line, ...more });
  return { discord, posted, announce };
}

const linesIn = (discord: DiscordFake) => discord.channel(discord.general.id).slice(1);

test('a line is a reply to its alert that rings nowhere', async () => {
  const { discord, posted, announce } = await startWithCard();
  await announce();
  expect(linesIn(discord)).toEqual([
    expect.objectContaining({
      content: SHOWN,
      message_reference: expect.objectContaining({ message_id: posted.message }),
      flags: MessageFlags.SuppressNotifications | MessageFlags.SuppressEmbeds,
      mentions: [],
      rang: [],
    }),
  ]);
});

describe.each([
  ['while Discord knows the nonce', {}],
  ['when Discord has forgotten the nonce', { nonceWindowMs: 0 }],
])('%s', (_when, options) => {
  test.each([{ status: 502 }, { drop: true }])(
    'a line that was stored in spite of %j is not said again',
    async (fault) => {
      const { discord, announce } = await startWithCard(options);
      discord.fail({ method: 'POST', path: /messages$/, applied: true, ...fault });
      await expect(announce()).rejects.toMatchObject({ name: 'DeliveryError', permanent: false });
      discord.say('good');
      await announce({ attempted: true });
      expect(linesIn(discord).map(({ content }) => content)).toEqual([SHOWN, 'good']);
    },
  );
});
test('the same words under another alert are another line', async () => {
  const { discord, posted, announce } = await startWithCard({ nonceWindowMs: 0 });
  await announce();
  const other = discord.say('not an alert');
  const under = { message: other.id, thread: other.id };
  await announce({ posted: under, id: 'a2/end', attempted: true });
  const references = linesIn(discord).map(({ message_reference }) => message_reference?.message_id);
  expect(references).toEqual([posted.message, undefined, other.id]);
});

describe('a line is refused for good', () => {
  test.each([
    ['SendMessages', /Send Messages/],
    ['ViewChannel', /View Channel/],
    ['ReadMessageHistory', /Read Message History/],
  ] as const)('without %s', async (permission, says) => {
    const { discord, announce } = await startWithCard();
    discord.deny(discord.general, permission);
    for (const attempted of [false, true]) {
      const tried = announce({ attempted });
      await expect(tried).rejects.toMatchObject({ name: 'DeliveryError', permanent: true });
      await expect(tried).rejects.toThrow(says);
    }
  });

  test('under an alert that was deleted', async () => {
    const { discord, posted, announce } = await startWithCard();
    discord.remove(posted.message);
    for (const attempted of [false, true]) {
      const tried = announce({ attempted });
      await expect(tried).rejects.toMatchObject({ permanent: true });
      await expect(tried).rejects.toThrow('The message was deleted.');
    }
    expect(discord.channel(discord.general.id)).toEqual([]);
  });

  test('a line fails permanently in a deleted channel and in a locked thread', async () => {
    const { discord, posted, announce } = await startWithCard();
    discord.general.thread_metadata = { archived: true, locked: true, auto_archive_duration: 60 };
    await expect(announce()).rejects.toMatchObject({ permanent: true });
    discord.remove(discord.general.id);
    await expect(announce({ posted })).rejects.toThrow(/channel doesn’t exist/);
  });
});

test('a hostile title pings nobody and forges nothing', async () => {
  const { discord, announce } = await startWithCard();
  const { id: role } = discord.addRole({ mentionable: true });
  const title = `@everyone <@&${role}> <@${discord.alice.id}> [bank](https://evil.example) **b**\n# x`;
  await announce({ card: { ...OVER, title } });
  const [line] = linesIn(discord);
  expect(line).toMatchObject({
    mention_everyone: false,
    mentions: [],
    mention_roles: [],
    rang: [],
  });
  expect(line?.content).not.toMatch(/@everyone|<@|\n|[^\\]\[|[^\\]\*/);
});

/** The shop was down and is up again. */
async function startWithLine(where?: (discord: DiscordFake) => string) {
  const discord = await startDiscord();
  const channel = where?.(discord) ?? discord.general.id;
  const alertPlaces = [{ platform: 'discord' as const, channel }];
  const running = await startTestBot({ settings: { alertPlaces } });
  const started = await startPlatform(discord, running.bot);
  await running.bot.start([started.platform]);
  const { service, provider } = running;
  const shop = service.add({ name: 'Shop' });
  const asked = service.requests.length;
  await eventually(() => service.requests.length > asked + 1);
  service.setStatus(shop.id, 'DOWN');
  const alert = await eventually(() => discord.channel(channel)[0]);
  service.setStatus(shop.id, 'UP');
  const line = await eventually(() => discord.channel(channel)[1]);
  /** The messages of a channel or thread once there are so many and the last one is whole. */
  const answered = (id: string, count: number) =>
    eventually(() => {
      const shown = discord.channel(id);
      return shown.length === count && shown.at(-1)?.content.includes('-# test-model') && shown;
    });
  /** The last prompt; the incident's facts are in the system prompt. */
  const given = () => {
    const all: Array<{ role: string; content: string }> =
      provider.calls.at(-1)?.body.messages ?? [];
    return {
      facts: all.some(({ role, content }) => role === 'system' && content.includes('Shop')),
      said: all.filter(({ role }) => role !== 'system').map(({ content }) => content),
    };
  };
  return { discord, channel, alert, line, answered, given, ...running };
}

const ANSWER = 'Hello from the fake provider.';

describe('a message about a line continues the conversation of its alert', () => {
  test('a reply to the line continues the alert’s conversation', async () => {
    const { discord, channel, alert, line, answered, given } = await startWithLine();
    discord.say('What was it?', { replyTo: line });
    await answered(alert.id, 2);
    expect(given()).toEqual({ facts: true, said: ['What was it?'] });
    discord.say('And why?', { replyTo: line });
    await answered(alert.id, 4);
    expect(given().said).toEqual(['What was it?', ANSWER, 'And why?']);
    expect(discord.threads().map(({ id }) => id)).toEqual([alert.id]);
    expect(discord.channel(channel).slice(0, 2)).toEqual([alert, line]);
  });

  test('a thread under the line continues the alert’s conversation', async () => {
    const { discord, line, alert, answered, given } = await startWithLine();
    const thread = discord.openThread(line);
    discord.say('What was it?', { channel: thread, mention: true });
    const [, answer] = await answered(thread.id, 2);
    expect(given()).toEqual({ facts: true, said: ['What was it?'] });
    discord.say('And why?', { channel: thread, replyTo: answer as FakeMessage });
    await answered(thread.id, 4);
    expect(given().said).toEqual(['What was it?', ANSWER, 'And why?']);
    discord.slash('ask', { question: 'Since when?' }, { channel: thread });
    await answered(thread.id, 6);
    expect(given().said.slice(-3)).toEqual(['And why?', ANSWER, 'Since when?']);
    discord.say('In short?', { replyTo: alert });
    await answered(alert.id, 2);
    expect(given().said.slice(-3)).toEqual(['Since when?', ANSWER, 'In short?']);
  });
});
test('a message about a line is answered although the history may not be read', async () => {
  const { discord, line, given, provider } = await startWithLine();
  discord.deny(discord.general, 'ReadMessageHistory');
  discord.say('What was it?', { replyTo: line });
  await eventually(() => provider.calls.length === 1);
  const said = [
    expect.stringMatching(/^The message .* Read Message History[\s\S]*\nWhat was it\?$/),
  ];
  expect(given()).toEqual({ facts: false, said });
});
