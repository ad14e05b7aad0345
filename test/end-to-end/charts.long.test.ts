import { expect, test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { chartsIn } from '../fakes/slack/chart.ts';
import { CHANNEL, startSlack } from '../fakes/slack/slack.ts';
import { startWatchedHours } from '../helpers/bot/watched-hours.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// Each chat library brings an undici of its own, and the one that is loaded last must not break uploads of the other.
test('a chart reaches Slack and Discord from one process', async () => {
  const slack = await startSlack();
  const discord = await startDiscord();
  const service = await startWatchedHours();
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.apiUrl,
      DISCORD_TOKEN: discord.settings.token,
      DISCORD_GUILD_ID: discord.guildId,
      DISCORD_API_URL: discord.api,
      MONITORING_BASE_URL: service.url,
      MONITORING_API_KEY: service.key,
    },
  });
  await slack.slash('/monitor', 'show Shop');
  await eventually(() => chartsIn(slack.messages(CHANNEL)[0]?.blocks).length === 1);
  const asked = discord.slash('monitor show', { monitor: 'Shop' });
  const [file] = await eventually(() => asked.reply?.embeds[0] && asked.reply.attachments);
  expect(file?.bytes.subarray(1, 4).toString()).toBe('PNG');
  expect(await askwatch.stop()).toBe(0);
});
