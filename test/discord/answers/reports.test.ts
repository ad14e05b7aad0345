import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { HOSTILE, hostileReport } from '../../helpers/bot/hostile-report.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';

async function start() {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  onTestFinished(() => bot.stop());
  const channel = discord.general.id;
  return { discord, channel, ...(await startPlatform(discord, bot)) };
}

test('a report of 200 monitors with long hostile names is one message with its picture, and pings nobody', async () => {
  const { discord, channel, platform } = await start();
  const report = { channel, id: 'report:1@discord:1', card: await hostileReport(HOSTILE) };
  const posted = await platform.post({ ...report, attempted: false });
  const again = await platform.post({ ...report, attempted: true });
  expect(again.message).toBe(posted.message);
  const [message, ...others] = discord.channel(channel);
  expect(others).toEqual([]);
  expect(message).toMatchObject({
    content: '',
    attachments: [{ filename: 'chart.png', content_type: 'image/png' }],
    embeds: [
      {
        description: expect.stringContaining('by day: see the image'),
        image: { url: message?.attachments[0]?.url },
      },
    ],
  });
  const sent = discord.requests.filter(
    ({ method, path }) => method === 'POST' && /messages$/.test(path),
  );
  expect(sent.map(({ body }) => body?.allowed_mentions)).toEqual([
    { parse: [], replied_user: false },
  ]);
  expect(message?.attachments[0]?.description).toMatch(/most: .+ \(2026-11-25 13:00\)/);
});

test.each([
  { status: 413, body: { message: 'Request entity too large', code: 40_005 } },
  { status: 403, body: { message: 'Missing Permissions', code: 50_013 } },
])(
  'a report comes with the text of its chart where Discord refuses the picture with $status',
  async (refusal) => {
    const { discord, channel, platform } = await start();
    discord.fail({ method: 'POST', ...refusal });
    await platform.post({ channel, id: 'report:1', card: await hostileReport(), attempted: false });
    const [message, ...others] = discord.channel(channel);
    expect(others).toEqual([]);
    expect(message?.attachments).toEqual([]);
    expect(message?.embeds[0]?.description).toContain('Total downtime by day: ');
  },
);
