import { ChannelType } from 'discord.js';
import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeInteraction } from '../../fakes/discord/interactions.ts';
import type { FakeChannel } from '../../fakes/discord/state.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import {
  CHANNEL_FREE,
  DIRECT_FREE,
  FORMS,
  PRESSED,
  pressOf,
  ROLES,
  type Role,
  startAsked,
  TYPED,
} from '../../helpers/rights-table.ts';

/** A server with somebody of each role, and the real platform. */
async function start() {
  const discord = await startDiscord({ limit: false });
  const users = Object.fromEntries(ROLES.map((role) => [role, discord.addUser(role)])) as Record<
    Role,
    typeof discord.alice
  >;
  discord.grant(users.manager, 'ManageGuild');
  const group = discord.grant(users['in a listed group']);
  const asked = await startAsked('discord', [users.listed.id, group]);
  const { lines } = await startPlatform(discord, asked.bot);
  const thread = discord.openThread(discord.say('Hello'));
  const direct = ROLES.map((role) => [role, discord.directChannel(users[role])] as const);
  const directOf = Object.fromEntries(direct) as Record<Role, FakeChannel>;
  const groupDirect = discord.directChannel(users.manager);
  groupDirect.type = ChannelType.GroupDM;
  const people = Object.fromEntries(ROLES.map((role) => [role, users[role].id])) as Record<
    Role,
    string
  >;
  return { discord, users, people, thread, directOf, groupDirect, lines, ...asked };
}

test('who may do what is the same wherever they ask, but for what is of the place itself', async () => {
  const running = await start();
  const { discord, users, people, thread, directOf, groupDirect, wrongIn } = running;
  const wrong: string[] = [];
  // discord.js lets fifty requests out a second, so not all is tried everywhere.
  const places = [
    { where: 'a channel', free: CHANNEL_FREE, isMain: true, channelOf: () => discord.general },
    { where: 'a thread', free: CHANNEL_FREE, isMain: false, channelOf: () => thread },
    {
      where: 'a direct message',
      free: DIRECT_FREE,
      isMain: true,
      channelOf: (role: Role) => directOf[role],
    },
    {
      where: 'a group of direct messages',
      free: DIRECT_FREE,
      isMain: false,
      channelOf: () => groupDirect,
    },
  ];
  const forms = new Map<string, FakeInteraction>();
  for (const { command } of FORMS) {
    const opened = discord.slash(command, {}, { user: users.manager });
    await eventually(() => opened.form);
    forms.set(command, opened);
  }
  const asking = [...TYPED, ...PRESSED].filter(({ asks }) => asks !== 'nothing');
  const setting = asking.filter(({ command }) => forms.has(command));
  for (const { where, free, isMain, channelOf } of places) {
    const at = (role: Role) => ({ user: users[role], channel: channelOf(role) });
    const tried = (how: string) => ({ where: `${how} in ${where}`, free, people });
    const found = [
      await wrongIn(isMain ? TYPED : TYPED.filter((row) => asking.includes(row)), {
        ...tried('typed'),
        invoke: (row, role) => discord.slash(row.command, row.values, at(role)),
      }),
      await wrongIn(isMain ? [...new Set([...asking, ...PRESSED])] : [], {
        ...tried('pressed'),
        invoke(row, role) {
          const button = discord.leaveButton(pressOf(row), at(role));
          return discord.press(button, 'Do', at(role));
        },
      }),
      await wrongIn(isMain ? setting : [], {
        ...tried('sent as a form'),
        invoke(row, role) {
          const opened = forms.get(row.command);
          return discord.send({ ...(opened as FakeInteraction), ...at(role) }, row.values);
        },
      }),
      await wrongIn(isMain ? FORMS : [], {
        ...tried('as a form'),
        kind: 'form',
        invoke: (row, role) => discord.slash(row.command, {}, at(role)),
      }),
    ];
    wrong.push(...found.flat());
  }
  expect(wrong).toEqual([]);
  expect(running.isAddedByOthers()).toBe(false);
  expect(running.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
