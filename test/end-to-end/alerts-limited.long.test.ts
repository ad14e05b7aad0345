import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { startSlack } from '../fakes/slack/slack.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

/** A wait that the test does not see the end of: a second try of the limited channel would come after it. */
const RETRY_AFTER_SECONDS = 300;

/** Two channels of a platform that hear the same alerts; posts to the first are limited. */
interface TwoChannels {
  env: Record<string, string>;
  /** Titles in the channel that is not limited. */
  titles(): string[];
  /** Attempts to post to the limited channel. */
  tries(): number;
  /** Posts in the limited channel in spite of the limit. */
  slipped(): number;
}

async function onSlack(): Promise<TwoChannels> {
  const slack = await startSlack();
  const [limited, healthy] = ['C00LIMITED', 'C00HEALTHY'];
  for (const id of [limited, healthy]) slack.addChannel({ id });
  slack.fail(
    'chat.postMessage',
    { kind: 'limited', retryAfterSeconds: RETRY_AFTER_SECONDS },
    { times: 1_000, channel: limited },
  );
  return {
    env: {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.apiUrl,
      ALERT_CHANNELS: `slack:${limited},slack:${healthy}`,
    },
    titles: () => slack.messages(healthy).map(({ text }) => text.split('\n')[0] ?? ''),
    tries: () =>
      slack.calls.filter(
        ({ method, args }) => method === 'chat.postMessage' && args.channel === limited,
      ).length,
    slipped: () => slack.messages(limited).length,
  };
}

async function onDiscord(): Promise<TwoChannels> {
  const discord = await startDiscord();
  const limited = discord.general.id;
  const healthy = discord.addChannel({ name: 'healthy' }).id;
  const posts = { method: 'POST', path: new RegExp(`^/channels/${limited}/messages$`) };
  discord.rateLimit({ ...posts, times: 1_000, seconds: RETRY_AFTER_SECONDS });
  return {
    env: {
      DISCORD_TOKEN: discord.settings.token,
      DISCORD_GUILD_ID: discord.guildId,
      DISCORD_API_URL: discord.api,
      ALERT_CHANNELS: `discord:${limited},discord:${healthy}`,
    },
    titles: () => discord.channel(healthy).map(({ embeds }) => String(embeds[0]?.title ?? '')),
    tries: () =>
      discord.requests.filter(
        ({ method, path }) => method === posts.method && posts.path.test(path),
      ).length,
    slipped: () => discord.channel(limited).length,
  };
}

test.each([
  ['Slack', onSlack],
  ['Discord', onDiscord],
])(
  'a channel that %s limits holds up no other: that one hears an outage and its end before the wait is over',
  async (_, start) => {
    const channels = await start();
    const service = await startMonitoringService({ limit: false });
    onTestFinished(() => service.close());
    const shop = service.add({ name: 'Shop' });
    await startAskwatch({
      dataDir: await temporaryFolder(),
      env: {
        ...channels.env,
        MONITORING_BASE_URL: service.url,
        MONITORING_API_KEY: service.apiKey,
        ALERT_POLL_SECONDS: '1',
      },
    });
    await eventually(() => service.requests.length > 1);
    service.setStatus(shop.id, 'DOWN');
    await eventually(() => channels.tries() > 0 && channels.titles().length > 0);
    expect(channels.titles()[0]).toContain('Shop is down');
    service.setStatus(shop.id, 'UP');
    await eventually(() => channels.titles()[0]?.includes('Shop recovered') ?? false);
    // The one that is limited still waits, as it was asked to.
    expect([channels.tries(), channels.slipped()]).toEqual([1, 0]);
  },
  120_000,
);
