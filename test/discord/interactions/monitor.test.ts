import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

async function start() {
  const discord = await startDiscord();
  const test = await startTestBot({ settings: { alertPollMs: 50 } });
  const started = await startPlatform(discord, test.bot);
  return { discord, ...test, ...started };
}

test('/monitor add creates a monitor and says so to everybody', async () => {
  const { discord, service } = await start();
  const asked = discord.slash('monitor add', { target: 'https://shop.example', name: 'Shop' });
  const reply = await eventually(() => asked.reply?.embeds[0] && asked.reply);
  expect(reply.embeds[0]).toMatchObject({ title: 'Now watching Shop' });
  expect(reply.flags & MessageFlags.Ephemeral).toBe(0);
  expect(service.monitors).toMatchObject([{ name: 'Shop', target: 'https://shop.example' }]);
});

test('/monitor list shows a table, DOWN first', async () => {
  const { discord, service } = await start();
  service.add({ name: 'Fine' });
  service.add({ name: 'Broken', status: 'DOWN' });
  const asked = discord.slash('monitor list');
  const reply = await eventually(() => asked.reply?.embeds[0] && asked.reply);
  const description = String(reply.embeds[0]?.description);
  expect(description).toMatch(/^```\nStatus .*Name/);
  expect(description.indexOf('Broken')).toBeLessThan(description.indexOf('Fine'));
});

test('what is only for the asker comes privately, and "thinking…" goes away', async () => {
  const { discord } = await start();
  const asked = discord.slash('monitor add', { target: 'ftp://shop.example' });
  const told = await eventually(() => asked.followUps[0]);
  expect(told.flags & MessageFlags.Ephemeral).toBe(MessageFlags.Ephemeral);
  expect(JSON.stringify(told.embeds)).toContain('ftp');
  expect(discord.channel(discord.general.id)).toEqual([]);
});

test('a private card stays unsaid when "thinking…" could not be taken away', async () => {
  const { discord, lines } = await start();
  discord.fail({ method: 'DELETE', status: 503 });
  const asked = discord.slash('monitor add', { target: 'ftp://shop.example' });
  await eventually(() => lines.some(({ level }) => level === 50));
  expect(asked.followUps).toEqual([]);
  expect(JSON.stringify(discord.channel(discord.general.id))).not.toContain('ftp');
});

test('a status change becomes an alert in the channel, and its end changes the same message', async () => {
  const { discord, bot, service, platform } = await start();
  const asked = discord.slash('monitor add', { target: 'https://shop.example', name: 'Shop' });
  await eventually(() => asked.reply?.embeds[0]);
  await bot.start([platform]);
  const id = service.monitors[0]?.id ?? '';
  // The first look only learns what is there.
  await eventually(() => service.requests.filter(({ method }) => method === 'GET').length > 1);
  service.setStatus(id, 'DOWN');
  const alert = await eventually(() => discord.channel(discord.general.id)[1]);
  expect(JSON.stringify(alert.embeds)).toMatch(/Shop.* is down/);
  service.setStatus(id, 'UP');
  const line = await eventually(() => discord.channel(discord.general.id)[2]);
  expect(JSON.stringify(alert.embeds)).not.toMatch(/is down/);
  expect(line.content).toMatch(/Shop recovered/);
  expect(line.message_reference?.message_id).toBe(alert.id);
});

test('every command is acknowledged before the bot does anything', async () => {
  const { discord, service, bot } = await start();
  service.failWith({ kind: 'hang' });
  const asked = Array.from({ length: 50 }, () => discord.slash('monitor list'));
  await eventually(() => asked.every(({ acknowledged }) => acknowledged));
  expect(asked.every(({ reply }) => (reply?.flags ?? 0) & MessageFlags.Loading)).toBe(true);
  service.recover();
  await bot.stop();
});
