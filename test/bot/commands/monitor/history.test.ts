import { expect, test } from 'vitest';
import { uptimeFacts } from '../../../../src/bot/commands/monitor/history.ts';
import { cardOf, startTestBot, type TestBot, textOf } from '../../../helpers/bot.ts';
import { startService } from '../../../helpers/monitoring/service.ts';

const show = async ({ say }: TestBot, name: string) =>
  textOf(cardOf(await say(`/monitor show ${name}`)));

test('a monitor of our service shows its uptime and its last outages', async () => {
  const service = await startService();
  const job = await service.create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'db1' });
  const push = new URL(job.push_url ?? '').pathname;
  const bot = await startTestBot({ watched: service });
  expect(await show(bot, 'Backup')).toContain('Last ping: none yet, waiting for its first ping');
  await service.call('POST', push);
  await service.call('POST', `${push}/fail`);
  const down = await show(bot, 'Backup');
  expect(down).toMatch(/Uptime: [\d.]+ % \(watched for .+\)/);
  expect(down).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d.* so far.*reported/is);
  await service.call('POST', push);
  const well = await show(bot, 'Backup');
  expect(well).not.toContain('so far');
  expect(well).not.toContain('first ping');
});

test('a service of the bare contract is asked only for its list', async () => {
  const bot = await startTestBot();
  const { service } = bot;
  service.add({ name: 'Shop' });
  expect(await show(bot, 'shop')).toContain('Shop is up');
  expect(service.requests.map(({ path }) => path)).toEqual(['/api/v1/public/monitors']);
  expect(service.unhandled).toEqual([]);
});

const DAY_MS = 86_400_000;

/** An uptime over a watched time. */
const uptimeOf = (uptime: number | null, seenMs = 30 * DAY_MS) => ({
  ...{ from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', uptime },
  ...{ up_ms: seenMs / 2, down_ms: seenMs / 2, unseen_ms: 0 },
});

test('a monitor that was down for a moment never shows 100 %, and time without checks is left out', () => {
  expect(uptimeFacts([uptimeOf(0.999_999, DAY_MS), uptimeOf(1, 7 * DAY_MS), undefined])).toEqual([
    { label: 'Uptime', value: '99.99 % over 24 hours, 100 % over 7 days' },
  ]);
  expect(uptimeFacts([uptimeOf(null), undefined, undefined])).toEqual([]);
});

test.each([
  [[120_000, 120_000, 120_000], '48.63 % (watched for 2 minutes)'],
  [[DAY_MS, 2 * DAY_MS, 2 * DAY_MS], '48.63 % over 24 hours, 48.63 % (watched for 2 days)'],
  [[DAY_MS, 6 * DAY_MS, 6 * DAY_MS], '48.63 % over 24 hours, 48.63 % over 7 days'],
])(
  'the uptime of one that was watched for %j ms of three spans says of what it is',
  (seen, value) => {
    const uptimes = seen.map((ms) => uptimeOf(0.486_34, ms));
    expect(uptimeFacts(uptimes)).toEqual([{ label: 'Uptime', value }]);
  },
);
