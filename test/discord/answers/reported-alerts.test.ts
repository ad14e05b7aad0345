import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { deliverTo, folderWithIntake } from '../../helpers/intake/deliver-to.ts';

test('an event in PagerDuty’s form is one message from its begin to its end, in which nothing pings or links', async () => {
  const discord = await startDiscord();
  const place = { platform: 'discord' as const, channel: discord.general.id };
  const { folder, token } = await folderWithIntake(place, 'pagerduty');
  const bot = await startTestBot({ folder });
  const { platform } = await startPlatform(discord, bot.bot);
  await bot.bot.start([platform]);
  const deliver = await deliverTo(bot, '/v2/enqueue');
  const event = (event_action: string) => ({
    ...{ routing_key: token, dedup_key: 'disk', event_action },
    payload: {
      ...{ summary: '@everyone the disk of [db](https://evil.example) is full', source: 'db-1' },
      severity: 'critical',
    },
  });
  const texts = () =>
    discord.messages().map(({ content, embeds }) => `${content}${JSON.stringify(embeds)}`);
  expect(await deliver(event('trigger'))).toBe(202);
  const [text = ''] = await eventually(() => texts().length === 1 && texts());
  expect(text).toContain('Reported by');
  expect(text).not.toMatch(/(?<!\\)\[db\]\(https/);
  expect(discord.messages()[0]?.mention_everyone ?? false).toBe(false);
  expect(await deliver(event('trigger'))).toBe(202);
  expect(await deliver(event('resolve'))).toBe(202);
  await eventually(() => texts().length === 2);
  expect(texts().map((one) => /RESOLVED: /.test(one))).toEqual([true, true]);
  await platform.stop();
  expect(texts()).toHaveLength(2);
});
