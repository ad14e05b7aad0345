import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { HEARD_BY_ALL_MS } from '../../fakes/too-early.ts';
import { startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { startForBot } from '../../helpers/end-to-end/services.ts';
import { socketMode } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startPostgres } from '../../helpers/postgres/server.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

const ONCALL = 'C00ONCALL';
const PERSON = 'U00ADA';
const AFTER_MS = 60_000;

test('one of three processes escalates an outage, even if it is killed at about that time', {
  timeout: 300_000,
}, async () => {
  const random = createRandom(seed());
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const schema = `escalate_${randomBytes(4).toString('hex')}`;
  const { service, env: services } = await startForBot();
  const slack = await startSlack(onTestFinished, { heardMs: HEARD_BY_ALL_MS });
  slack.addChannel({ id: ONCALL });
  const [first, second] = ['first', 'second'].map((name) => service.add({ name }));
  const env = {
    ...{ ...socketMode(slack), ...services, WHO_MAY_MANAGE: 'everyone' },
    ...{ ALERT_CHANNELS: `slack:${CHANNEL}`, ALERT_POLL_SECONDS: '1' },
  };
  // The first to start takes the lease.
  const processes = await startProcesses(1, { database: server.url, schema, env });
  await processes.add(2);
  const texts = (channel: string) => slack.messages(channel).map(shownText);
  const line = `escalate after 1m to <#${ONCALL}|oncall> <@${PERSON}|ada>`;
  await slack.slash('/monitor', line);
  await eventually(() => texts(CHANNEL).join().includes('is posted in #oncall'));
  const looks = service.requests.length;
  await eventually(() => service.requests.length > looks + 2);

  service.setStatus(first?.id ?? '', 'DOWN');
  await eventually(() => texts(CHANNEL).some((text) => text.includes('first is down')));
  const killAtMs = performance.now() + AFTER_MS - 1_500 + random() * 3_500;
  await eventually(() => performance.now() >= killAtMs, { withinMs: 2 * AFTER_MS });
  await processes.kill(
    () => 0,
    () => slack.killed(),
  );
  await eventually(() => texts(ONCALL).length > 0, { withinMs: 2 * AFTER_MS });
  // The process that sends the next alert has handled the previous one.
  service.setStatus(second?.id ?? '', 'DOWN');
  await eventually(() => texts(CHANNEL).some((text) => text.includes('second is down')));
  await eventually(() => texts(ONCALL).length > 1, { withinMs: 2 * AFTER_MS });
  expect(
    texts(ONCALL).map((text) => /(\w+) is down, not acknowledged within /.exec(text)?.[1]),
  ).toEqual(['first', 'second']);
  expect(slack.messages(ONCALL).map(({ called }) => called)).toEqual([[PERSON], [PERSON]]);
  expect(await processes.revive()).toBe(0);
  expect(await processes.stop()).toEqual([0, 0, 0]);
});
