import { expect, test } from 'vitest';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { HOUR, MINUTE, OPS, openAlertWorld } from '../../helpers/bot/alert-world.ts';
import { long } from '../../helpers/long.ts';

/** A channel that is reminded every hour, where a monitor is down. */
async function openOutage() {
  const world = await openAlertWorld({ startsAt: '2026-06-01T08:00:00Z' });
  await world.set({ remindMs: HOUR });
  await world.see({ m0: 'UP', m1: 'UP', m2: 'UP' });
  await world.see({ m0: 'DOWN' });
  return world;
}

const away = () => new DeliveryError('away', { permanent: false });

test('an outage that goes on is repeated at its interval, in a line under its message, until it is over', async () => {
  const world = await openOutage();
  await world.pass(59 * MINUTE);
  expect(world.lines()).toEqual([[]]);
  await world.pass(2 * HOUR + 2 * MINUTE);
  expect(world.lines()).toEqual([
    [
      'Name of m0 is still down after 1 h',
      'Name of m0 is still down after 2 h',
      'Name of m0 is still down after 3 h',
    ],
  ]);
  await world.see({ m0: 'UP' });
  await world.pass(5 * HOUR);
  expect(world.lines()[0]?.slice(3)).toEqual(['Name of m0 recovered after 3 h 1 min']);
  expect(world.titles()).toEqual([expect.stringMatching(/^Name of m0 recovered after /)]);
});

test('an outage that goes on is not repeated once somebody acknowledged it', async () => {
  const world = await openOutage();
  await world.pass(61 * MINUTE);
  await world.incidents().mark('id-1', 'acknowledged', (atMs) => ({ by: 'Ada', atMs }));
  await world.pass(3 * HOUR);
  expect(world.lines()[0]).toHaveLength(1);
});

test('an outage that goes on is not repeated while it is snoozed, and is after that', async () => {
  const world = await openOutage();
  await world
    .incidents()
    .mark('id-1', 'snoozed', (nowMs) => ({ by: 'Ada', untilMs: nowMs + 150 * MINUTE }));
  await world.pass(149 * MINUTE);
  expect(world.lines()).toEqual([[]]);
  await world.pass(2 * MINUTE);
  expect(world.lines()).toEqual([['Name of m0 is still down after 2 h 30 min']]);
});

test.each(['MAINTENANCE', 'paused'])(
  'an outage that goes on is not repeated while it is %s',
  async (status) => {
    const world = await openOutage();
    await world.see({ m0: status });
    await world.pass(2 * HOUR);
    expect(world.lines()).toEqual([[]]);
    await world.see({ m0: 'DEGRADED' });
    await world.pass(MINUTE);
    expect(world.lines()).toEqual([['Name of m0 is still degraded after 2 h']]);
  },
);

test('an outage that goes on is not repeated while it goes down and up all the time', async () => {
  const world = await openOutage();
  // Longer than the hour after which it would be said again.
  for (let flap = 0; flap < (long ? 30 : 18); flap += 1) {
    await world.see({ m0: flap % 2 ? 'DOWN' : 'UP' });
    await world.pass(5 * MINUTE);
  }
  expect(world.alerts().some((alert) => 'flapping' in alert && alert.flapping)).toBe(true);
  expect(world.lines().flat().join()).not.toContain('still');
  // Calm, and DOWN: an outage as any other.
  await world.pass(2 * HOUR);
  expect(world.lines().flat().at(-1)).toMatch(/^Name of m0 is still down after 1 h /);
});

test('an outage that goes on is not repeated in quiet hours, and is once afterwards', async () => {
  const world = await openOutage();
  await world.set({ quiet: { fromMinute: 8 * 60 + 30, toMinute: 12 * 60, zone: 'UTC' } });
  await world.pass(4 * HOUR - MINUTE);
  expect(world.lines()).toEqual([[]]);
  await world.pass(58 * MINUTE);
  expect(world.lines()).toEqual([['Name of m0 is still down after 4 h']]);
});

test('an outage that goes on is not repeated while its monitor is missing from the list', async () => {
  const world = await openOutage();
  await world.pass(59 * MINUTE);
  await world.see({ m0: undefined });
  await world.see({ m0: 'DOWN' });
  expect(world.lines()).toEqual([[]]);
  await world.pass(MINUTE);
  expect(world.lines()).toEqual([['Name of m0 is still down after 1 h']]);
});

test('an outage that goes on is repeated once after the program was away, and then after the whole interval', async () => {
  const world = await openOutage();
  await world.pass(10 * MINUTE);
  await world.sleep(10 * HOUR);
  expect(world.lines()).toEqual([['Name of m0 is still down after 10 h 10 min']]);
  await world.pass(59 * MINUTE);
  expect(world.lines()[0]).toHaveLength(1);
  await world.pass(2 * MINUTE);
  expect(world.lines()[0]).toHaveLength(2);
});

test('an outage that goes on is repeated once, with its true duration, after the platform was away', async () => {
  const world = await openOutage();
  world.slack.failWith(({ kind }) => (kind === 'announce' ? away() : undefined));
  await world.pass(5 * HOUR);
  const line = () => world.alerts().find(({ kind }) => kind === 'incident')?.deliveries[0]?.line;
  expect(line()).toMatchObject({ what: 'reminder' });
  world.slack.failWith(undefined);
  await world.pass(15 * MINUTE);
  expect(world.lines()[0]).toHaveLength(1);
  // It is at most a quarter of an hour old.
  expect(world.lines()[0]?.[0]).toMatch(/after (4 h 4[5-9]|4 h 5\d|5 h)/);
});

test('an outage that goes on has its end posted in place of a reminder that could not be posted', async () => {
  const world = await openOutage();
  world.slack.failWith(({ kind }) => (kind === 'announce' ? away() : undefined));
  await world.pass(61 * MINUTE);
  await world.see({ m0: 'UP' });
  await world.pass(11 * MINUTE);
  world.slack.failWith(undefined);
  await world.pass(11 * MINUTE);
  expect(world.lines()).toEqual([['Name of m0 recovered after 1 h 1 min']]);
});

test('an outage that goes on loses a reminder that nobody needs any more', async () => {
  const world = await openOutage();
  world.slack.failWith(({ kind }) => (kind === 'announce' ? away() : undefined));
  await world.pass(61 * MINUTE);
  await world.set({ remindMs: null });
  await world.pass(MINUTE);
  world.slack.failWith(undefined);
  await world.pass(2 * HOUR);
  expect(world.lines()).toEqual([[]]);
});

test('outages that began together are repeated in one line, for the one that lasts longest', async () => {
  const world = await openAlertWorld({ startsAt: '2026-06-01T08:00:00Z' });
  await world.set({ remindMs: HOUR }, OPS);
  await world.see({ m0: 'UP', m1: 'UP', m2: 'UP' });
  await world.see({ m0: 'DOWN', m1: 'DOWN' });
  await world.pass(MINUTE);
  await world.see({ m2: 'DOWN', m0: 'UP', m1: 'UP' });
  await world.pass(HOUR);
  expect(world.lines()).toEqual([['1 of 3 services is still down after 59 min']]);
  const [group] = world.alerts().filter(({ kind }) => kind === 'group');
  await world.incidents().mark(group?.id ?? '', 'acknowledged', (atMs) => ({ by: 'Ada', atMs }));
  await world.pass(2 * HOUR);
  expect(world.lines()[0]).toHaveLength(1);
});
