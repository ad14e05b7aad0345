import { expect, test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { chartsIn } from '../fakes/slack/chart.ts';
import { CHANNEL, startSlack } from '../fakes/slack/slack.ts';
import { counting, startAdditions } from '../helpers/bot/stepped-watch.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const HOUR_MS = 3_600_000;

/** A service that has watched the shop for some hours. */
function startHistory() {
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const rollups = [4, 3, 2, 1].map((ago) => ({
    ...{ starts_at: new Date(nowMs - ago * HOUR_MS).toISOString(), checks: 60, failures: 0 },
    ...{ response_time_ms: { min: 1, mean: ago * 100, max: 900 }, up_ms: HOUR_MS, down_ms: 0 },
  }));
  return startAdditions([counting('a', 1, { name: 'Shop' })], (what) =>
    what === 'rollups' ? { body: { by: 'hour', rollups } } : { status: 404, body: {} },
  );
}

// Each chat library brings an undici of its own, and the one that is loaded last must not break uploads of the other.
test('a chart reaches Slack and Discord from one process', async () => {
  const slack = await startSlack();
  const discord = await startDiscord();
  const service = await startHistory();
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
