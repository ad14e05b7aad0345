import { expect, test } from 'vitest';
import { chartsIn } from '../../fakes/slack/chart.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { HOSTILE, hostileReport } from '../../helpers/bot/hostile-report.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

const report = { channel: CHANNEL, id: 'report:1@slack:C1', attempted: false };

test('a report of 200 monitors with long hostile names is one message with Slack’s own chart, and calls nobody', async () => {
  const { fake, slack } = await makeSlack();
  const posted = await slack.post({ ...report, card: await hostileReport(HOSTILE) });
  const again = await slack.post({
    ...report,
    card: await hostileReport(HOSTILE),
    attempted: true,
  });
  expect(again.message).toBe(posted.message);
  const [message, ...others] = fake.messages(CHANNEL);
  expect(others).toEqual([]);
  expect(message?.called).toEqual([]);
  const [chart] = chartsIn(message?.blocks ?? []);
  expect(chart?.chart?.axis_config).toMatchObject({
    categories: ['11-19', '11-20', '11-21', '11-22', '11-23', '11-24', '11-25'],
    x_label: 'From (Europe/Berlin)',
    y_label: 'h',
  });
  const shown = message ? shownText(message) : '';
  expect(shown).toContain('Outages: at least 200');
  expect(shown).toContain('192 more monitors were down.');
  expect(fake.unhandled).toEqual([]);
});

test('a report is posted with the text of its chart where the workspace takes no charts', async () => {
  const { fake, slack } = await makeSlack();
  fake.fail('chat.postMessage', { kind: 'error', error: 'invalid_blocks' });
  await slack.post({ ...report, card: await hostileReport() });
  const [message, ...others] = fake.messages(CHANNEL);
  expect(others).toEqual([]);
  expect(chartsIn(message?.blocks ?? [])).toEqual([]);
  expect(message && shownText(message)).toContain('Total downtime by day: ');
});
