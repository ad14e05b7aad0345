import { expect, onTestFinished, test } from 'vitest';
import { guildOfUsualSize } from '../../../bench/discord/guilds.ts';
import { buildClient, connect, disconnect } from '../../../src/discord/api/client.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { eventually } from '../../helpers/eventually.ts';

test('little is kept of 500 people and their messages', async () => {
  const discord = await startDiscord();
  const client = buildClient({ apiUrl: discord.api, messageContent: false, isHeld: () => true });
  onTestFinished(() => disconnect(client));
  await connect(client, discord.settings.token, discord.api);
  let heard = 0;
  client.on('messageCreate', () => {
    heard += 1;
  });
  for (let index = 0; index < 500; index += 1) {
    discord.say('Hello all', { user: discord.addUser(`person-${index}`) });
  }
  await eventually(() => heard === 500);
  const guild = client.guilds.cache.get(discord.guildId);
  const channel = guild?.channels.cache.get(discord.general.id);
  expect(channel?.isTextBased() && channel.messages.cache.size).toBe(0);
  // The bot itself is kept beside them.
  expect(client.users.cache.size).toBeLessThanOrEqual(201);
  expect(guild?.members.cache.size).toBeLessThanOrEqual(21);
  expect(guild?.members.me?.id).toBe(discord.bot.id);
});

test('keeps few of the members that a server comes with, and always the bot', async () => {
  const discord = await startDiscord();
  const client = buildClient({ apiUrl: discord.api, messageContent: false, isHeld: () => true });
  onTestFinished(() => disconnect(client));
  await connect(client, discord.settings.token, discord.api);
  const guild = guildOfUsualSize(1, discord.bot.id);
  discord.gateway.dispatch('GUILD_CREATE', guild);
  const joined = await eventually(() => client.guilds.cache.get(guild.id));
  expect(joined.channels.cache.size).toBe(guild.channels.length);
  expect(joined.roles.cache.size).toBe(guild.roles.length);
  expect(guild.members).toHaveLength(100);
  expect(joined.members.cache.size).toBeLessThanOrEqual(20);
  expect(joined.members.cache.has(discord.bot.id)).toBe(true);
});
