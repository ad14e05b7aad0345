import { expect, test } from 'vitest';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { deliverTo, folderWithIntake } from '../../helpers/intake/deliver-to.ts';
import { delivery } from '../../helpers/intake/intake-server.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

test('an alert of another system is one message from its begin to its end, in which nothing pings or links', async () => {
  const fake = await startSlack();
  const place = { platform: 'slack' as const, channel: CHANNEL };
  const { folder, token } = await folderWithIntake(place, 'alertmanager');
  const { bot, slack } = await runSlack({ fake, bot: { folder } });
  const deliver = await deliverTo(bot, `/hooks/alertmanager/${token}`);
  const messages = () => fake.channel(CHANNEL).messages;
  const firing = delivery([{ name: 'Queue <!channel>' }]);
  Object.assign(firing.alerts[0]?.annotations ?? {}, {
    summary: 'Ask <@U00ADA> or <https://evil.example|your bank> @here',
  });
  expect(await deliver(firing)).toBe(200);
  const [message] = await eventually(() => messages().length === 1 && messages());
  const text = message ? shownText(message) : '';
  expect(text).toContain('Reported by');
  expect(message?.text).not.toMatch(/<!|<@|<http/);
  // All of it is plain text to Slack.
  expect(JSON.stringify(message?.blocks)).not.toMatch(/"type":"(mrkdwn|user|broadcast|link)"/);
  expect(message && labelsOf(message)).toEqual(
    expect.arrayContaining(['Acknowledge', 'Snooze 1 h', 'Ask why']),
  );
  expect(await deliver(firing)).toBe(200);
  for (const alert of firing.alerts) alert.status = 'resolved';
  expect(await deliver(firing)).toBe(200);
  // The message, and the line below it that says that it is over.
  await eventually(() => messages().length === 2);
  expect(
    messages()
      .map(shownText)
      .map((one) => /RESOLVED: /.test(one)),
  ).toEqual([true, true]);
  await slack.stop();
  expect(messages()).toHaveLength(2);
  expect(fake.unhandled).toEqual([]);
});
