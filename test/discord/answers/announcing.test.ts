import { MessageFlags } from 'discord.js';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
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

test('a line that was stored is not said again while Discord knows its nonce', async () => {
  const { discord, announce } = await startWithCard();
  discord.fail({ method: 'POST', path: /messages$/, applied: true, drop: true });
  await expect(announce()).rejects.toMatchObject({ name: 'DeliveryError', permanent: false });
  await announce({ attempted: true });
  expect(linesIn(discord).map(({ content }) => content)).toEqual([SHOWN]);
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
async function startWithLine() {
  const discord = await startDiscord();
  const channel = discord.general.id;
  const alertPlaces = [{ platform: 'discord' as const, channel }];
  const running = await runDiscord({ discord, bot: { settings: { alertPlaces } } });
  const { bot, platform, service, provider, prompted } = running;
  await bot.start([platform]);
  const shop = service.add({ name: 'Shop' });
  const asked = service.requests.length;
  await eventually(() => service.requests.length > asked + 1);
  service.setStatus(shop.id, 'DOWN');
  const alert = await eventually(() => discord.channel(channel)[0]);
  service.setStatus(shop.id, 'UP');
  const line = await eventually(() => discord.channel(channel)[1]);
  /** The last prompt; the incident's facts are in the system prompt. */
  const given = () => {
    const [system] = provider.calls.at(-1)?.body.messages ?? [];
    return { facts: system?.content.includes('Shop') ?? false, said: prompted() };
  };
  return { ...running, channel, alert, line, given };
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
