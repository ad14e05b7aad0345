import { test } from 'vitest';
import { startSlack } from '../fakes/slack/slack.ts';
import { storm } from '../helpers/end-to-end/alert-storm.ts';
import { slackStorm } from '../helpers/end-to-end/slack-storm.ts';

test('killed at any moment while Slack fails, it tells each outage once and leaves every message true', async () => {
  await storm(slackStorm(await startSlack()), {
    kills: 200,
  });
}, 7_200_000);
