import { ChannelType, OverwriteType, PermissionFlagsBits } from 'discord.js';
import { expect, test } from 'vitest';
import { createProbe } from '../../src/cli/doctor-fetch.ts';
import { permissionsIn } from '../../src/discord/api/permissions.ts';
import { checkDiscord, type DiscordSetup } from '../../src/discord/doctor.ts';
import { type DiscordFake, startDiscord } from '../fakes/discord/discord.ts';

/** Level and text of each finding, by its name. */
async function examine(discord: DiscordFake, options: Partial<DiscordSetup> = {}) {
  const findings = await checkDiscord({
    token: discord.settings.token,
    guildId: discord.guildId,
    apiUrl: discord.api,
    messageContent: false,
    channels: [],
    fetch: createProbe().fetch,
    ...options,
  });
  expect(JSON.stringify(findings)).not.toContain(discord.settings.token);
  return new Map(findings.map(({ check, level, text }) => [check, { level, text }]));
}

test('the intent counts only where it is wanted', async () => {
  const without = await startDiscord();
  const intent = async (discord: DiscordFake, messageContent: boolean) =>
    (await examine(discord, { messageContent })).get('Discord intent')?.level;
  expect(await intent(without, false)).toBe('ok');
  expect(await intent(without, true)).toBe('problem');
  const allowed = await startDiscord({ messageContentAllowed: true });
  expect(await intent(allowed, true)).toBe('ok');
});

test('an Interactions Endpoint URL takes everything away from the bot', async () => {
  const discord = await startDiscord();
  discord.settings.interactionsEndpointUrl = 'https://elsewhere.example/interactions';
  expect((await examine(discord)).get('Discord bot')).toMatchObject({
    level: 'problem',
    text: expect.stringContaining('Interactions Endpoint URL'),
  });
});

test('channels: a thread, one that is hidden, gone, no text channel, a direct one, and what is no id', async () => {
  const discord = await startDiscord();
  const hidden = discord.addChannel();
  discord.deny(hidden, 'ViewChannel');
  const forum = discord.addChannel({ type: ChannelType.GuildForum });
  const direct = discord.directChannel(discord.alice);
  const thread = discord.openThread(discord.say('Hello'));
  const gone = '123456789012345678';
  const all = [discord.general.id, thread.id, hidden.id, forum.id, direct.id, gone, 'general'];
  const found = await examine(discord, { channels: all });
  const of = (channel: string) => found.get(`Discord ${channel}`);
  for (const id of [discord.general.id, thread.id]) {
    expect(of(id)).toEqual({ level: 'ok', text: 'the bot can post there' });
  }
  expect(of(direct.id)).toMatchObject({ level: 'ok' });
  expect(of(hidden.id)).toMatchObject({
    level: 'problem',
    text: expect.stringMatching(/View Channel/),
  });
  expect(of(forum.id)).toMatchObject({
    level: 'problem',
    text: expect.stringMatching(/text channel/),
  });
  expect(of(gone)).toMatchObject({
    level: 'problem',
    text: expect.stringMatching(/channel doesn’t exist/),
  });
  expect(of('general')).toMatchObject({
    level: 'problem',
    text: expect.stringMatching(/isn’t a channel id/),
  });
});

test('the doctor reports missing permissions for threads and messages', async () => {
  const discord = await startDiscord();
  const { general } = discord;
  const thread = discord.openThread(discord.say('Hello'));
  const levels = async () => {
    const found = await examine(discord, { channels: [general.id, thread.id] });
    return [general, thread].map(({ id }) => found.get(`Discord ${id}`)?.level);
  };
  discord.deny(general, 'CreatePublicThreads');
  expect(await levels()).toEqual(['warning', 'ok']);
  discord.deny(general, 'SendMessagesInThreads');
  expect(await levels()).toEqual(['warning', 'problem']);
  discord.deny(general, 'SendMessages');
  expect(await levels()).toEqual(['problem', 'ok']);
});

test('a limit is no problem', async () => {
  const discord = await startDiscord();
  discord.rateLimit({ path: /applications/, seconds: 30 });
  expect((await examine(discord)).get('Discord bot')).toMatchObject({ level: 'warning' });
});

/** Source: Discord docs, "Permissions", "Permission Overwrites": everybody, then all roles at once, then the member. */
test('permissions in a channel are made as Discord makes them', () => {
  const { ViewChannel: view, SendMessages: send, Administrator } = PermissionFlagsBits;
  const role = (id: string, permissions: bigint) => ({ id, permissions: String(permissions) });
  const overwrite = (id: string, type: OverwriteType, allow: bigint, deny: bigint) => ({
    id,
    type,
    allow: String(allow),
    deny: String(deny),
  });
  const { Role, Member } = OverwriteType;
  type Facts = Parameters<typeof permissionsIn>[1];
  const may = (
    roles: object[],
    mine: string[],
    overwrites: ReturnType<typeof overwrite>[],
    userId = 'me',
  ) => {
    const facts = { guild: { id: 'all', roles }, member: { roles: mine }, userId };
    return permissionsIn(overwrites, facts as unknown as Facts).bitfield & (view | send);
  };
  const everybody = role('all', view | send);
  expect(may([everybody, role('r', 0n)], [], [])).toBe(view | send);
  expect(may([role('all', view), role('r', send)], [], [])).toBe(view);
  expect(may([role('all', view), role('r', send)], ['r'], [])).toBe(view | send);
  const closed = overwrite('all', Role, 0n, send);
  expect(may([everybody], [], [closed])).toBe(view);
  expect(may([everybody], ['r'], [closed, overwrite('r', Role, send, 0n)])).toBe(view | send);
  expect(may([everybody], [], [closed, overwrite('r', Role, send, 0n)])).toBe(view);
  // A role that allows wins over a role that denies, in any order.
  const both = [overwrite('r', Role, send, 0n), overwrite('s', Role, 0n, send)];
  expect(may([everybody], ['r', 's'], both)).toBe(view | send);
  expect(may([everybody], ['r', 's'], [...both, overwrite('me', Member, 0n, send)])).toBe(view);
  expect(may([everybody], ['r'], [overwrite('you', Member, 0n, send)])).toBe(view | send);
  const admin = [everybody, role('boss', Administrator)];
  expect(may(admin, ['boss'], [closed, overwrite('me', Member, 0n, view)])).toBe(view | send);
});
