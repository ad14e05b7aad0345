import { expect, test } from 'vitest';
import { PlatformStartError } from '../../../src/bot/shared/errors.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { buildPlatform, startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

test('says which setting to change when the token is refused', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const { platform } = await buildPlatform(discord, { token: 'wrong' });
  const start = platform.start(bot);
  await expect(start).rejects.toThrow(PlatformStartError);
  await expect(start).rejects.toThrow(/DISCORD_TOKEN/);
});

test('says what to do when the privileged intent is off', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const { platform } = await buildPlatform(discord, { messageContent: true });
  const start = platform.start(bot);
  await expect(start).rejects.toThrow(PlatformStartError);
  await expect(start).rejects.toThrow(/DISCORD_MESSAGE_CONTENT/);
});

test('says where nobody listens', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const { platform } = await buildPlatform(discord, { apiUrl: 'http://127.0.0.1:9/api' });
  await expect(platform.start(bot)).rejects.toThrow(/127\.0\.0\.1:9/);
});

test('says that the server is unknown when commands cannot go there', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const { platform } = await buildPlatform(discord, { guildId: '123456789012345678' });
  await expect(platform.start(bot)).rejects.toThrow(
    /DISCORD_GUILD_ID.*oauth2\/authorize.*guild_id=123456789012345678/,
  );
});

test('warns where an Interactions Endpoint URL takes the commands away, and starts all the same', async () => {
  const discord = await startDiscord();
  discord.settings.interactionsEndpointUrl = 'https://elsewhere.example/interactions';
  const { platform, lines } = await runDiscord({ discord });
  const told = /Interactions Endpoint URL.*Clear that URL at .* General Information/;
  expect(platform.hint?.()).toMatch(told);
  expect(lines.filter(({ msg }) => told.test(String(msg)))).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain('elsewhere.example');
});
test('registers the commands once, and not again while they are the same', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const puts = () => discord.requests.filter(({ method }) => method === 'PUT').length;
  const first = await startPlatform(discord, bot);
  expect(discord.commands.get(discord.guildId)?.map(({ name }) => name)).toEqual([
    'ask',
    'askwatch',
    'monitor',
    'Ask about this message',
  ]);
  expect(puts()).toBe(1);
  await first.platform.stop();
  await startPlatform(discord, bot);
  expect(puts()).toBe(1);
});

test('leaves no doubles when the commands move between everywhere and one server', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const inServer = await startPlatform(discord, bot);
  await inServer.platform.stop();
  // Another program's command of the same application stays.
  const foreign = { id: '1', name: 'foreign', description: 'x' };
  discord.commands.set(discord.guildId, [
    ...(discord.commands.get(discord.guildId) ?? []),
    foreign,
  ]);
  const everywhere = await startPlatform(discord, bot, { everywhere: true });
  await everywhere.platform.stop();
  const names = (scope: string) => discord.commands.get(scope)?.map(({ name }) => name);
  const own = ['ask', 'askwatch', 'monitor', 'Ask about this message'];
  expect(names('global')).toEqual(own);
  expect(names(discord.guildId)).toEqual(['foreign']);
  await startPlatform(discord, bot);
  expect(names('global')).toEqual([]);
});

// discord.js waits five seconds between two identifications.
test('tells once when the connection has ended for good', async () => {
  const { discord, fatal } = await runDiscord();
  discord.gateway.drop(4004);
  await eventually(() => fatal.length > 0);
  expect(fatal.map(({ message }) => message)).toEqual([expect.stringMatching(/DISCORD_TOKEN/)]);
});

test('stays away when it stops in the middle of a reconnect', async () => {
  const { discord, platform, lines } = await runDiscord();
  discord.gateway.drop();
  await eventually(() => lines.some(({ msg }) => msg === 'reconnecting to Discord'));
  await platform.stop();
  await eventually(() => discord.gateway.connected() === 0);
  expect(discord.gateway.counts()).toEqual({ identified: 1, resumed: 1 });
});
