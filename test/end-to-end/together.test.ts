import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { startModelProvider } from '../fakes/model-provider.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { shownText } from '../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../fakes/slack/slack.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test('Slack, Discord and the console share one process, one gateway and the same alerts', async () => {
  const slack = await startSlack();
  const discord = await startDiscord();
  const provider = await startModelProvider({ models: ['gpt-5.6-luna'] });
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => Promise.all([provider.close(), service.close()]).then(() => undefined));
  const shop = service.add({ name: 'Shop' });
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.apiUrl,
      DISCORD_TOKEN: discord.settings.token,
      DISCORD_GUILD_ID: discord.guildId,
      DISCORD_API_URL: discord.api,
      OPENAI_API_KEY: provider.apiKey,
      OPENAI_BASE_URL: `${provider.url}/v1`,
      MONITORING_BASE_URL: service.url,
      MONITORING_API_KEY: service.apiKey,
      ALERT_CHANNELS: `slack:${CHANNEL},discord:${discord.general.id},console:general`,
      ALERT_POLL_SECONDS: '1',
    },
  });
  expect(askwatch.output()).toMatch(/Models +the service at OPENAI_BASE_URL \(gpt-5\.6-luna\)/);

  provider.answerWith('To the provider and back.');
  const mentioned = slack.mention('how far does this go?');
  await eventually(() =>
    slack.thread(CHANNEL, mentioned).some((reply) => shownText(reply).includes('and back.')),
  );
  const asked = discord.slash('ask', { question: 'and this?' });
  const thread = await eventually(() => asked.reply?.content && asked.reply.id);
  await eventually(() =>
    discord.channel(thread).some(({ content }) => content.includes('and back.')),
  );
  expect(provider.calls.map(({ body }) => body.model)).toEqual(['gpt-5.6-luna', 'gpt-5.6-luna']);

  const onSlack = () => slack.messages(CHANNEL).map(shownText);
  const onDiscord = () =>
    discord.channel(discord.general.id).map(({ embeds }) => JSON.stringify(embeds));
  const onConsole = await listen(askwatch.url);
  service.setStatus(shop.id, 'DOWN');
  await eventually(() =>
    [onSlack(), onDiscord(), onConsole()].every((texts) => told(texts, 'is down')),
  );
  service.setStatus(shop.id, 'UP');
  await eventually(() =>
    [onSlack(), onDiscord(), onConsole()].every((texts) => told(texts, 'recovered')),
  );
  expect(onSlack().filter((text) => text.includes('Incident'))).toHaveLength(1);
  expect(onDiscord().filter((text) => text.includes('Incident'))).toHaveLength(1);

  expect(await askwatch.stop()).toBe(0);
  for (const secret of [slack.botToken, slack.appToken, discord.settings.token, provider.apiKey]) {
    expect(askwatch.output()).not.toContain(secret);
  }
});

const told = (texts: string[], words: string) =>
  texts.some((text) => text.includes(`Shop ${words}`));

/** Collects the events of a console page. */
async function listen(url: string): Promise<() => string[]> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const query = new URLSearchParams({ client: crypto.randomUUID() });
  const answer = await fetch(`${url}/console/events?${query}`, { signal: stop.signal });
  const heard: string[] = [];
  void (async () => {
    const text = new TextDecoder();
    try {
      for await (const bytes of answer.body ?? []) heard.push(text.decode(bytes, { stream: true }));
    } catch {
      // The test is over, or the program has stopped.
    }
  })();
  return () => heard;
}
