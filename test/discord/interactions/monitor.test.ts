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

test.each([
  ['monitor alerts', { switch: 'on', via: 'nonsense' }, true],
  ['monitor alerts', { switch: 'on', fallback: 'nonsense' }, true],
  ['monitor heartbeat', { token: 'nonsense' }, true],
  ['monitor alerts', { switch: 'on' }, false],
  ['monitor add', { target: 'tcp://127.0.0.1:9', send: 'AUTH hunter2' }, true],
  ['monitor add', { target: 'https://u:hunter2@example.com' }, true],
  ['monitor add', { target: 'https://example.com' }, false],
  ['monitor change', { monitor: 'Shop', target: 'https://example.com?token=hunter2' }, true],
])(
  '%s with %j is acknowledged for its person only: %s, because Discord shows inputs next to a public reply',
  async (name, inputs, ephemeral) => {
    const { discord } = await start();
    const asked = discord.slash(name, inputs);
    expect((await eventually(() => asked.acknowledged)).ephemeral).toBe(ephemeral);
    await eventually(() => asked.reply);
  },
);
