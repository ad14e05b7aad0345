import { PermissionFlagsBits } from 'discord.js';
import { describe, expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import type { RightOver } from '../../../src/bot/shared/place.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { type FakeUser, snowflake } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

/** The platform in front of a bot that records invocations. */
async function start(given?: DiscordFake) {
  const discord = given ?? (await startDiscord());
  const { bot: real } = await startTestBot();
  const heard: Invocation[] = [];
  const bot: Bot = {
    ...real,
    dispatch(invocation) {
      heard.push(invocation);
      return real.dispatch(invocation);
    },
  };
  const { lines } = await startPlatform(discord, bot);
  /** The person that a gesture comes from. */
  async function personOf(interaction: () => unknown) {
    const before = heard.length;
    interaction();
    return (await eventually(() => heard[before])).person;
  }
  const mayManage = async (interaction: () => unknown, over: RightOver = 'shared') =>
    await (await personOf(interaction)).mayManage?.(over);
  return { discord, lines, personOf, mayManage };
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
  const button = discord.leaveButton('askwatch help?');
  const thread = discord.openThread(discord.say('Hello', { user: bob }));
  const gestures = [
    (user: FakeUser) => discord.slash('askwatch help', {}, { user }),
    (user: FakeUser) => discord.slash('askwatch help', {}, { user, channel: thread }),
    (user: FakeUser) => discord.press(button, 'Do', { user }),
    (user: FakeUser) => discord.say('Hello', { user, mention: true }),
    (user: FakeUser) => discord.say('Hello', { user, mention: true, channel: thread }),
  ];
  for (const interaction of gestures) {
    expect(await mayManage(() => interaction(bob))).toBe(may);
    expect(await mayManage(() => interaction(discord.alice))).toBe(false);
  }
});

test('every way to say something tells who has a role', async () => {
  const { discord, personOf } = await start();
  const bob = discord.addUser('bob');
  const role = discord.grant(bob);
  const button = discord.leaveButton('askwatch help?');
  for (const interaction of [
    (user: FakeUser) => discord.slash('askwatch help', {}, { user }),
    (user: FakeUser) => discord.press(button, 'Do', { user }),
    (user: FakeUser) => discord.say('Hello', { user, mention: true }),
  ]) {
    expect(await (await personOf(() => interaction(bob))).isIn?.(role)).toBe(true);
    expect(await (await personOf(() => interaction(bob))).isIn?.('123456789012345678')).toBe(false);
    expect(await (await personOf(() => interaction(discord.alice))).isIn?.(role)).toBe(false);
  }
});

test('who manages a channel alone manages what is of that channel, and nothing that all share', async () => {
  const { discord, mayManage } = await start();
  const allow = String(PermissionFlagsBits.ManageChannels);
  const id = discord.alice.id;
  discord.general.permission_overwrites = [{ id, type: 1, allow, deny: '0' }];
  const help = () => discord.slash('askwatch help');
  expect(await mayManage(help, 'place')).toBe(true);
  expect(await mayManage(help, 'shared')).toBe(false);
  expect(asksIn(discord)).toEqual([]);
});

test('rights in another channel need the same server', async () => {
  const discord = await startDiscord();
  const allow = String(PermissionFlagsBits.ManageChannels);
  const { id } = discord.alice;
  const own = discord.addChannel({
    name: 'oncall',
    permission_overwrites: [{ id, type: 1, allow, deny: '0' }],
  });
  const others = discord.addChannel({ name: 'others' });
  const deny = String(PermissionFlagsBits.ViewChannel);
  const hidden = discord.addChannel({
    name: 'hidden',
    permission_overwrites: [{ id, type: 1, allow: '0', deny }],
  });
  const elsewhere = discord.addServer(0, 1);
  const { personOf } = await start(discord);
  const { channelOf } = await personOf(() => discord.slash('askwatch help'));
  expect(await channelOf?.(own.id)).toEqual({ channel: own.id, mayManage: true });
  expect(await channelOf?.(others.id)).toEqual({ channel: others.id, mayManage: false });
  for (const one of [
    hidden.id,
    elsewhere.id,
    '123456789012345678',
    discord.directChannel(discord.alice).id,
  ]) {
    expect(await channelOf?.(one)).toBeUndefined();
  }
  const direct = discord.directChannel(discord.alice);
  const alone = await personOf(() => discord.slash('askwatch help', {}, { channel: direct }));
  expect(await alone.channelOf?.(own.id)).toBeUndefined();
});

/** Which servers were asked about which people. */
const asksIn = ({ requests }: DiscordFake) =>
  requests.flatMap(({ method, path }) => {
    const [, guild, user] = /\/guilds\/(\d+)\/members\/(\d+)$/.exec(path) ?? [];
    return method === 'GET' && guild !== undefined ? [`${guild} ${user}`] : [];
  });

describe('alone with the bot', () => {
  test('everyone manages their place, and what is shared is for managers of a server of both', async () => {
    const { discord, personOf, mayManage } = await start();
    const bob = discord.addUser('bob');
    discord.grant(bob, 'ManageGuild');
    for (const [user, may] of [
      [discord.alice, false],
      [bob, true],
    ] as const) {
      const channel = discord.directChannel(user);
      const gestures = [
        () => discord.slash('askwatch help', {}, { channel, user }),
        () => discord.say('Hello', { channel, user }),
      ];
      for (const interaction of gestures) {
        expect(await mayManage(interaction, 'place')).toBe(true);
        expect(await mayManage(interaction, 'shared')).toBe(may);
      }
      expect((await personOf(gestures[0] ?? (() => {}))).community).toEqual({
        name: 'a server that you and Askwatch share',
        hint: 'If you manage one, try again in a channel there.',
      });
    }
    // Each is asked about once for a while.
    expect(asksIn(discord)).toEqual(
      [discord.alice, bob].map(({ id }) => `${discord.guildId} ${id}`),
    );
  });
  test('nobody has a right that Discord can’t confirm', async () => {
    const { discord, lines, mayManage } = await start();
    discord.grant(discord.alice, 'ManageGuild');
    const channel = discord.directChannel(discord.alice);
    const help = () => discord.slash('askwatch help', {}, { channel });
    discord.fail({ path: /\/members\//, status: 500, times: 1 });
    expect(await mayManage(help)).toBe(false);
    const told = lines.filter(({ level }) => Number(level) >= 40);
    expect(told.map(({ msg }) => msg)).toEqual([
      'could not ask Discord whether a person is in a server; assuming not',
    ]);
    expect(await mayManage(help)).toBe(true);
  });
  test('a server that the bot is not in gives no right over what is shared', async () => {
    const { discord, mayManage } = await start();
    const away = discord.addChannel({ guild_id: snowflake() });
    discord.grantIn(away.guild_id ?? '', discord.alice, 'Administrator');
    const help = () => discord.slash('askwatch help', {}, { channel: away });
    expect(await mayManage(help, 'place')).toBe(true);
    expect(await mayManage(help, 'shared')).toBe(false);
  });
});
