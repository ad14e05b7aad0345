import { readFileSync } from 'node:fs';
import { PermissionsBitField } from 'discord.js';
import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { inviteLink, PERMISSION_NAMES, PERMISSIONS } from '../../../src/discord/api/permissions.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { BOT_PERMISSIONS } from '../../fakes/discord/state.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const namesOf = (bits: bigint) => new PermissionsBitField(bits).toArray().sort();

test('the link asks for what Askwatch uses, and for nothing else', async () => {
  const { discord, provider, platform } = await runDiscord();
  const channel = discord.general.id;

  // So long that the rest is a file.
  provider.answerWith(['word '.repeat(4_000)]);
  const asked = discord.slash('ask', { question: 'Why?' });
  const { id } = await eventually(() => asked.reply?.content && asked.reply);
  await eventually(() => discord.channel(id).at(-1)?.attachments.length === 1);
  const card: Card = { tone: 'bad', title: 'Shop is down', parts: [] };
  const alert = { channel, card, id: 'i1' };
  const posted = await platform.post({ ...alert, attempted: false });
  await platform.post({ ...alert, attempted: true });
  await platform.announce({ ...alert, posted, id: 'over', attempted: false });

  const used = [...discord.checkedPermissions].reduce((all, one) => all | one, 0n);
  const link = new URL(inviteLink('123456789012345678', discord.guildId));
  expect(namesOf(BigInt(link.searchParams.get('permissions') ?? 0))).toEqual(namesOf(used));
  // All other tests run a bot that may do this much and no more.
  expect(namesOf(BOT_PERMISSIONS)).toEqual(namesOf(used));
  expect(Object.fromEntries(link.searchParams)).toMatchObject({
    client_id: '123456789012345678',
    guild_id: discord.guildId,
    scope: 'bot applications.commands',
  });
});

test('the README shows the same link, and names what it asks for', () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  expect(readme).toContain(`\`${inviteLink('APPLICATION_ID')}\``);
  const named = PERMISSION_NAMES.map((name) => PERMISSIONS[name].shown).join(', ');
  expect(readme.replace(/\s+/g, ' ')).toContain(named);
});

test('a bot in no server says how it gets into one, and one in a server has nothing to say', async () => {
  const { bot, platform } = await runDiscord();
  expect(platform.hint?.()).toBeUndefined();

  const lonely = await startDiscord();
  lonely.removeBot();
  const other = await startPlatform(lonely, bot, { everywhere: true });
  expect(other.platform.hint?.()).toContain(inviteLink(lonely.bot.id));
});
