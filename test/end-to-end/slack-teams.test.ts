import { expect, onTestFinished, test } from 'vitest';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { openBrowser } from '../fakes/slack/browser.ts';
import { shownText } from '../fakes/slack/limits.ts';
import { CHANNEL } from '../fakes/slack/slack.ts';
import { startSlackTeams } from '../fakes/slack/teams.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const TEAMS = ['T00ALPHA', 'T00BETA'];

test('two workspaces install the app, ask, and hear an alert after a kill', async () => {
  const slack = await startSlackTeams(TEAMS);
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  const shop = service.add({ name: 'Shop' });
  const options = {
    dataDir: await temporaryFolder(),
    env: {
      SLACK_CLIENT_ID: slack.clientId,
      SLACK_CLIENT_SECRET: slack.clientSecret,
      SLACK_SIGNING_SECRET: slack.signingSecret,
      SLACK_API_URL: slack.apiUrl,
      MONITORING_BASE_URL: service.url,
      MONITORING_API_KEY: service.apiKey,
      ALERT_CHANNELS: TEAMS.map((team) => `slack:${team}/${CHANNEL}`).join(','),
      ALERT_POLL_SECONDS: '1',
      LOG_LEVEL: 'trace',
    },
  };
  const first = await startAskwatch(options);
  expect(first.output()).toContain(`add workspaces at ${first.url}/slack/install`);
  slack.redirectUrl = `${first.url}/slack/oauth_redirect`;
  const browser = openBrowser();
  for (const team of TEAMS) {
    const { link } = await browser.open(`${first.url}/slack/install`);
    expect((await browser.open(slack.consent(link, { team }))).text).toContain('is installed');
    slack.team(team).useHttp(`${first.url}/slack/events`);
    await slack.team(team).slash('/ask', 'are you there?');
    const { ts } = await eventually(() => slack.team(team).messages(CHANNEL)[0]);
    await eventually(() =>
      slack.team(team).thread(CHANNEL, ts).map(shownText).join().includes('language model'),
    );
  }
  await first.kill();

  const second = await startAskwatch(options);
  service.setStatus(shop.id, 'DOWN');
  for (const team of TEAMS) {
    await eventually(() => slack.team(team).messages(CHANNEL).map(shownText).join().includes('🔴'));
  }
  expect(await second.stop()).toBe(0);
  const secrets = [slack.clientSecret, slack.signingSecret];
  for (const team of TEAMS) secrets.push(slack.team(team).botToken);
  for (const { code } of slack.exchanges) secrets.push(code ?? '');
  for (const secret of secrets) {
    expect(first.output() + second.output()).not.toContain(secret);
  }
});
