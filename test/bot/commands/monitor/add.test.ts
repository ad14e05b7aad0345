import { expect, test } from 'vitest';
import type { Card } from '../../../../src/bot/shared/card.ts';
import { cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { startService } from '../../../helpers/monitoring/service.ts';

/** A bot over the real service. */
async function start() {
  const service = await startService();
  const bot = await startTestBot({ watched: service });
  const say = async (line: string) => cardOf(await bot.say(line));
  const press = async (card: Card, label: string) => cardOf(await bot.press(card, label));
  const configOf = async (name: string) => {
    const { id } = (await service.list()).find((one) => one.name === name) ?? {};
    return (await service.get(`/api/v1/public/monitors/${id}`)).body.config;
  };
  return { service, say, press, configOf };
}

test('a heartbeat takes a crontab, its zone and a grace, and its card shows them', async () => {
  const { say, configOf } = await start();
  const added = textOf(await say('/monitor add job cron="0 3 * * *" zone=europe/berlin grace=30m'));
  expect(added).toContain('Pinged at: 0 3 * * *\nTime zone: Europe/Berlin\nGrace: 30 minutes');
  expect(await configOf('job')).toMatchObject({
    cron: '0 3 * * *',
    timezone: 'Europe/Berlin',
    grace_seconds: 1800,
  });
});

test('an interval and a timeout are durations', async () => {
  const { say, configOf } = await start();
  const line = '/monitor add http://127.0.0.1:9/ name=Shop interval=5m timeout=10s';
  expect(textOf(await say(line))).toContain('Checked every: 5 minutes\nTimeout: 10 seconds');
  expect(await configOf('Shop')).toMatchObject({ interval_seconds: 300, timeout_seconds: 10 });
});

test.each([
  ['cron=0 3 * * *', "I didn't understand “0”. A crontab has five fields"],
  ['cron="0 3 * * *" interval=1d', 'Set “interval” or “cron”, not both.'],
  ['cron="0 3 * * *" zone=Europe/Berln', 'Unknown time zone “Europe/Berln”.'],
  ['cron="61 3 * * *"', 'minute 61'],
  ['zone=UTC', '“zone” needs “cron”'],
  ['type=HEARTBEAT timeout=5s', 'A heartbeat has no “timeout”.'],
  ['type=TCP grace=5m', '“grace” works with type=HEARTBEAT'],
  ['https://example.com interval=2d', '“interval” can be at most 1 day, except for a heartbeat.'],
])('/monitor add job %s is refused: %s', async (words, text) => {
  const { say, service } = await start();
  const line = words.startsWith('https') ? words : `job ${words}`;
  expect(textOf(await say(`/monitor add ${line}`))).toContain(text);
  expect(await service.list()).toEqual([]);
});

test('a second monitor of one address is added after its person presses Add anyway', async () => {
  const { say, press, service } = await start();
  await say('/monitor add http://127.0.0.1:9/ name=Shop');
  const asked = await say('/monitor add http://127.0.0.1:9 name=Again');
  expect(asked.title).toBe('You already watch this (Shop). Add anyway?');
  expect(asked.actions?.map(({ label }) => label)).toEqual(['Add anyway', 'Show Shop', 'Cancel']);
  expect(await service.list()).toHaveLength(1);
  expect((await press(asked, 'Show Shop')).title).toMatch(/^Shop is /);
  expect((await press(asked, 'Add anyway')).title).toBe('Now watching Again');
  expect((await service.list()).map(({ name }) => name)).toEqual(['Shop', 'Again']);
});

test('another keyword, record or type of check is another monitor', async () => {
  const { say, service } = await start();
  for (const words of ['', 'keyword=Cart', 'keyword=Basket', 'json="a < 1"']) {
    const { title } = await say(`/monitor add http://127.0.0.1:9/ ${words}`);
    expect(title).toBe('Now watching 127.0.0.1:9');
  }
  expect(await service.list()).toHaveLength(4);
});

test('an address with a secret is added without a proposal, which would store it', async () => {
  const { say, service } = await start();
  const line = '/monitor add http://127.0.0.1:9/?token=abc123';
  await say(line);
  expect(textOf(await say(line))).toContain('You already watch this (127.0.0.1:9).');
  expect(await service.list()).toHaveLength(2);
});

test('a card mentions a name that is taken and a host without a dot', async () => {
  const bot = await startTestBot();
  const say = async (line: string) => textOf(cardOf(await bot.say(line)));
  expect(await say('/monitor add example')).toContain('Did you mean example.com?');
  const second = await say('/monitor add shop.example name=EXAMPLE');
  expect(second).toContain('Another monitor is also called “EXAMPLE”.');
  expect(second).not.toContain('Did you mean');
});
