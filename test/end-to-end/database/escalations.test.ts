import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { HEARD_BY_ALL_MS } from '../../fakes/too-early.ts';
import { startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { startForBot } from '../../helpers/end-to-end/services.ts';
import { shown, socketMode } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

const ONCALL = 'C00ONCALL';
const PERSON = 'U00ADA';
const AFTER_MS = 60_000;

test.skipIf(!hasPostgres)(
  'one of three processes escalates an outage once, even if it is killed at about that time',
  { timeout: 300_000 },
  async () => {
    const random = createRandom(seed());
    const { url: database, schema } = await testDatabase();
    const { service, env: services } = await startForBot();
    const slack = await startSlack(onTestFinished, { heardMs: HEARD_BY_ALL_MS });
    slack.addChannel({ id: ONCALL });
    const shop = service.add({ name: 'Shop' });
    const env = {
      ...{ ...socketMode(slack), ...services, WHO_MAY_MANAGE: 'everyone' },
      ALERT_CHANNELS: `slack:${CHANNEL}`,
    };
    // The first to start takes the lease.
    const processes = await startProcesses(1, { database, schema, env });
    await processes.add(2);
    const line = `escalate after 1m to <#${ONCALL}|oncall> <@${PERSON}|ada>`;
    await slack.slash('/monitor', line);
    await eventually(() => shown(slack).join().includes('is posted in #oncall'));
    const looks = service.requests.length;
    await eventually(() => service.requests.length > looks + 2);

    service.setStatus(shop.id, 'DOWN');
    await eventually(() => shown(slack).some((text) => text.includes('Shop is down')));
    await pause(AFTER_MS - 1_500 + random() * 3_500);
    await processes.kill(
      () => 0,
      () => slack.killed(),
    );
    await eventually(() => shown(slack, ONCALL).length > 0);
    expect(shown(slack, ONCALL)[0]).toContain('Shop is down, not acknowledged within ');
    // The process that answers and posts the recovery has handled all that was due.
    await slack.slash('/monitor', 'escalate');
    await eventually(() => slack.whispers(CHANNEL).length > 0);
    service.setStatus(shop.id, 'UP');
    await eventually(() => shown(slack).some((text) => text.includes('Shop recovered')));
    expect(slack.messages(ONCALL).map(({ called }) => called)).toEqual([[PERSON]]);
    expect(await processes.revive()).toBe(0);
    expect(await processes.stop()).toEqual([0, 0, 0]);
  },
);
