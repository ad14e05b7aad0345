import { expect, test } from 'vitest';
import type { Bot } from '../../src/bot/bot.ts';
import type { Invocation, RightOver } from '../../src/bot/platform.ts';
import { startDiscord } from '../fakes/discord.ts';
import type { FakeUser } from '../fakes/discord-state.ts';
import { startTestBot } from '../support/bot.ts';
import { eventually } from '../support/eventually.ts';
import { startPlatform } from './start-platform.ts';

/** The platform before a bot whose invocations are looked at on their way. */
async function start() {
  const discord = await startDiscord();
  const { bot: real } = await startTestBot();
  const heard: Invocation[] = [];
  const bot: Bot = {
    ...real,
    handle(invocation) {
      heard.push(invocation);
      return real.handle(invocation);
    },
  };
  await startPlatform(discord, bot);
  /** The person that a gesture comes from. */
  async function personOf(gesture: () => unknown) {
    const before = heard.length;
    gesture();
    return (await eventually(() => heard[before])).person;
  }
  /** What Discord lets them do. */
  const mayManage = async (gesture: () => unknown, over: RightOver = 'shared') =>
    await (await personOf(gesture)).mayManage?.(over);
  return { discord, personOf, mayManage };
}

/** A message with a button, as an Askwatch of another version has left it. */
async function postButton(discord: Awaited<ReturnType<typeof startDiscord>>) {
  const button = { type: 2, style: 2, label: 'Help', custom_id: 'askwatch help?' };
  const response = await fetch(`${discord.api}/v10/channels/${discord.general.id}/messages`, {
    method: 'POST',
    headers: { authorization: `Bot ${discord.settings.token}` },
    body: JSON.stringify({ content: 'Help', components: [{ type: 1, components: [button] }] }),
  });
  return (await response.json()) as { id: string };
}

test.each([
  [[], false],
  [['ManageMessages', 'KickMembers'], false],
  [['ManageGuild'], true],
  [['ManageChannels'], true],
  [['Administrator'], true],
] as const)('whoever has the permissions %j may manage: %s', async (names, may) => {
  const { discord, mayManage } = await start();
  const bob = discord.addUser('bob');
  discord.grant(bob, ...names);
  const button = await postButton(discord);
  const thread = discord.openThread(discord.say('Hello', { user: bob }));
  const gestures = [
    (user: FakeUser) => discord.slash('askwatch help', {}, { user }),
    (user: FakeUser) => discord.slash('askwatch help', {}, { user, channel: thread }),
    (user: FakeUser) => discord.press(button, 'Help', { user }),
    (user: FakeUser) => discord.say('Hello', { user, mention: true }),
    (user: FakeUser) => discord.say('Hello', { user, mention: true, channel: thread }),
  ];
  for (const gesture of gestures) {
    expect(await mayManage(() => gesture(bob))).toBe(may);
    expect(await mayManage(() => gesture(discord.alice))).toBe(false);
  }
});

test('every way to say something tells who has a role', async () => {
  const { discord, personOf } = await start();
  const bob = discord.addUser('bob');
  const role = discord.grant(bob);
  const button = await postButton(discord);
  for (const gesture of [
    (user: FakeUser) => discord.slash('askwatch help', {}, { user }),
    (user: FakeUser) => discord.press(button, 'Help', { user }),
    (user: FakeUser) => discord.say('Hello', { user, mention: true }),
  ]) {
    expect(await (await personOf(() => gesture(bob))).isIn?.(role)).toBe(true);
    expect(await (await personOf(() => gesture(bob))).isIn?.('123456789012345678')).toBe(false);
    expect(await (await personOf(() => gesture(discord.alice))).isIn?.(role)).toBe(false);
  }
});

test('alone with the bot everyone may', async () => {
  const { discord, mayManage } = await start();
  const channel = discord.directChannel(discord.alice);
  expect(await mayManage(() => discord.slash('askwatch help', {}, { channel }))).toBe(true);
  expect(await mayManage(() => discord.say('Hello', { channel }))).toBe(true);
});
