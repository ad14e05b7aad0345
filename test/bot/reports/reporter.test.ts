import { expect, test } from 'vitest';
import { november } from '../../../evals/week/planned-monitor.ts';
import type { ReportSchedule } from '../../../src/bot/channels/channel-settings.ts';
import { withReport } from '../../../src/bot/reports/reporter.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { startMeasuredService } from '../../helpers/bot/measured-service.ts';
import { openReportWorld } from '../../helpers/bot/report-world.ts';
import { counting, startAdditions } from '../../helpers/bot/stepped-watch.ts';
import { textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const OPS = { platform: 'slack', channel: 'C1' };
const DEV = { platform: 'slack', channel: 'C2' };
const SET_MS = november('24 08:00');
const DAILY: ReportSchedule = { every: 'daily', minute: 540, zone: 'UTC', setAtMs: SET_MS };
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type World = Awaited<ReturnType<typeof openReportWorld>>;

/** Moves the clock in steps and waits after each. */
async function pass(world: World, ms: number, stepMs = ms) {
  const endMs = world.clock.nowMs() + ms;
  const isIdle = () => eventually(world.clock.isAwaited, { everyMs: 1 });
  await isIdle();
  while (world.clock.nowMs() < endMs) {
    world.clock.goOn(Math.min(stepMs, endMs - world.clock.nowMs()));
    await isIdle();
  }
}

const cards = ({ slack }: World, { channel } = OPS): Card[] =>
  slack.messages.filter((one) => one.channel === channel).map(({ card }) => card);
const times = (world: World, place = OPS) =>
  cards(world, place).map((card) => /Time: (.*)/.exec(textOf(card))?.[1]);

/** When the posted reports were due, such as `24 09:00` in November. */
const dues = ({ slack }: World) =>
  slack.messages.map(({ id }) =>
    new Date(Number(/^report:(\d+)@slack:C1$/.exec(id)?.[1]))
      .toISOString()
      .slice(8, 16)
      .replace('T', ' '),
  );

/** A service without history, so its reports have no data; it can fail or wait. */
async function startBareService() {
  let isAway = false;
  let ready = Promise.resolve();
  const service = await startAdditions([counting('a', 1)], async () => {
    await ready;
    return { status: isAway ? 400 : 404, body: { error: { message: 'No.' } } };
  });
  return {
    ...service,
    setAway(next: boolean) {
      isAway = next;
      service.show(!next);
    },
    /** Holds responses until the returned function is called. */
    hold() {
      let release = () => {};
      ready = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}

/** A channel with all alerts and a daily report at nine. It is Tuesday, just before nine. */
async function openOps(
  service: { url: string; key: string },
  startMs = november('24 08:59:50'),
  folder?: string,
) {
  const world = await openReportWorld({
    service,
    startMs,
    folder,
  });
  await world.channels.change(OPS, { hearing: { on: true } });
  await world.set(OPS, DAILY);
  return world;
}

test('a due report comes once, at its time, in each channel that wants it, about the monitors of that channel', async () => {
  const service = await startMeasuredService('Logistics 1', 'Logistics 2', 'Shop');
  const world = await openOps(service);
  await world.channels.change(DEV, { hearing: { on: true, filter: { text: 'Logistics' } } });
  await world.set(DEV, { ...DAILY, every: 'weekly', minute: 541, setAtMs: 0 });
  await world.set({ platform: 'slack', channel: 'C3' }, null, { remindMs: HOUR });
  world.live();
  // The weekly report was due on Monday, less than a day ago.
  await eventually(() => times(world, DEV).length === 1);
  await pass(world, 9 * SECOND, SECOND);
  expect(times(world)).toEqual([]);
  await pass(world, SECOND, SECOND);
  await eventually(() => times(world).length === 1);
  await pass(world, 3 * HOUR, HOUR);
  expect(times(world)).toEqual(['2026-11-23 (UTC)']);
  const [card] = cards(world);
  expect(card?.parts.some(({ kind }) => kind === 'chart')).toBe(true);
  expect(card).not.toHaveProperty('mention');
  expect(times(world, DEV)).toEqual(['2026-11-16 to 2026-11-22 (UTC)']);
  expect(textOf(cards(world, DEV)[0] as Card)).toContain('Monitors: 2\n');
  await pass(world, DAY, HOUR);
  await eventually(() => times(world).length === 2);
  expect(times(world)).toEqual(['2026-11-23 (UTC)', '2026-11-24 (UTC)']);
  expect(times(world, DEV)).toHaveLength(1);
  expect(world.slack.messages).toHaveLength(3);
  // One is kept of each channel, however many there were.
  expect(world.state.current()?.alerts.map(({ id }) => id)).toEqual([
    `report:${november('23 09:01')}@slack:C2`,
    `report:${november('25 09:00')}@slack:C1`,
  ]);
});

test('a due report is one message, whichever step a kill interrupts', async () => {
  const service = await startBareService();
  let isKilled = true;
  let killAt = 0;
  while (isKilled) {
    killAt += 1;
    const world = await openOps(service, november('24 08:59:59'));
    const first = world.live(killAt);
    await eventually(() => first.isDead() || world.clock.isAwaited(), { everyMs: 1 });
    world.clock.goOn(SECOND);
    await eventually(() => first.isDead() || dues(world).length === 1, { everyMs: 1 });
    await eventually(() => first.isDead() || world.clock.isAwaited(), { everyMs: 1 });
    isKilled = first.isDead();
    if (!isKilled) await first.stop();
    const second = world.live();
    await eventually(() => dues(world).length === 1, { everyMs: 1 });
    await pass(world, 2 * HOUR, 30 * MINUTE);
    expect({ killAt, dues: dues(world) }).toEqual({ killAt, dues: ['24 09:00'] });
    const [report] = world.state.current()?.alerts ?? [];
    expect(report?.deliveries[0]).toMatchObject({
      deliveredVersion: 1,
      posted: expect.any(Object),
    });
    await second.stop();
  }
  // Reading schedules, making, storing, posting: fewer steps would mean that no kill came in between.
  expect(killAt).toBeGreaterThan(8);
});

test('a due report is one message if the platform’s response is lost', async () => {
  const world = await openOps(await startBareService());
  let lost = 0;
  world.slack.loseAnswers(() => {
    lost += 1;
    return lost < 3 ? new Error('socket hang up') : undefined;
  });
  world.live();
  await eventually(() => {
    world.clock.goOn(SECOND);
    return lost === 3;
  });
  await pass(world, HOUR, 10 * MINUTE);
  expect(lost).toBe(3);
  expect(world.slack.messages.map(({ titles }) => titles.length)).toEqual([1]);
});

test('a report comes late after a time without a process, and never after a day', async () => {
  const service = await startBareService();
  const late = await openOps(service, november('25 08:59:00'));
  late.live();
  await eventually(() => dues(late).length === 1);
  await pass(late, 30 * SECOND, 10 * SECOND);
  expect(dues(late)).toEqual(['24 09:00']);
  const weekly = await openOps(service, november('24 09:00:00'));
  await weekly.set(OPS, { ...DAILY, every: 'weekly', setAtMs: 0 });
  weekly.live();
  await pass(weekly, HOUR, 10 * MINUTE);
  expect(weekly.slack.messages).toEqual([]);
});

test('a report waits for a monitoring service that is away', async () => {
  const service = await startBareService();
  const world = await openOps(service);
  service.setAway(true);
  world.live();
  await pass(world, 20 * MINUTE, MINUTE);
  expect(world.slack.messages).toEqual([]);
  const warned = world.lines.filter(({ msg }) => msg === 'could not create a report yet; retrying');
  expect(warned).toHaveLength(1);
  // It is asked again and again, at longer and longer intervals.
  expect(service.asked.length).toBeGreaterThan(10);
  service.setAway(false);
  await pass(world, 2 * MINUTE);
  await eventually(() => dues(world).length === 1);
  expect(dues(world)).toEqual(['24 09:00']);
});

test('a report says if the service keeps no history', async () => {
  const world = await openOps(await startBareService());
  world.live();
  await pass(world, MINUTE);
  await eventually(() => cards(world).length === 1);
  expect(textOf(cards(world)[0] as Card)).toMatch(/no data[\s\S]*does not offer/);
});

test('a failed report is not retried after its time', async () => {
  const service = await startBareService();
  const world = await openOps(service);
  const { schedules } = world.channels;
  let looks = 0;
  world.channels.schedules = () => {
    looks += 1;
    return schedules();
  };
  service.setAway(true);
  world.live();
  await pass(world, 2 * MINUTE, MINUTE);
  expect(service.asked.length).toBeGreaterThan(0);
  await world.set(OPS, { ...DAILY, setAtMs: world.clock.nowMs() });
  await pass(world, 10 * MINUTE, MINUTE);
  looks = 0;
  await pass(world, MINUTE, SECOND);
  expect(looks).toBeLessThan(12);
});

test('a stored report is sent unchanged after a restart, even if the service is away', async () => {
  const service = await startBareService();
  const folder = await temporaryFolder();
  const world = await openOps(service, november('24 08:59:50'), folder);
  world.slack.failWith(() => new DeliveryError('busy', { permanent: false }));
  world.live();
  await pass(world, MINUTE);
  await eventually(() => world.slack.tries > 0);
  const made = world.state.current()?.alerts.find((alert) => alert.kind === 'report');
  await world.close();
  service.setAway(true);
  const after = await openReportWorld({ service, startMs: november('24 10:00'), folder });
  after.live();
  await eventually(() => {
    after.clock.goOn(SECOND);
    return after.slack.messages.length === 1;
  });
  expect(cards(after)).toEqual([made?.card]);
  expect(dues(after)).toEqual(['24 09:00']);
});

test('a report waits for the end of quiet hours', async () => {
  const world = await openOps(await startBareService());
  const quiet = { fromMinute: 60, toMinute: 11 * 60, zone: 'UTC' };
  await world.set(OPS, DAILY, { quiet });
  world.live();
  await pass(world, 2 * HOUR, 10 * MINUTE);
  expect(world.slack.messages).toEqual([]);
  await pass(world, MINUTE);
  await eventually(() => dues(world).length === 1);
  expect(dues(world)).toEqual(['24 09:00']);
});

test('a report that is turned off while it is created does not come', async () => {
  const service = await startBareService();
  const world = await openOps(service);
  const release = service.hold();
  world.live();
  await eventually(world.clock.isAwaited);
  world.clock.goOn(10 * SECOND);
  await eventually(() => service.asked.length > 0);
  await world.set(OPS, null);
  release();
  await pass(world, HOUR, 10 * MINUTE);
  expect(world.slack.messages).toEqual([]);
  expect(world.state.current()?.alerts).toEqual([]);
});

test('a closed channel keeps only its newest report', async () => {
  const world = await openOps(await startBareService());
  let isClosed = true;
  world.slack.failWith(() =>
    isClosed ? new DeliveryError('archived', { permanent: true, closed: true }) : undefined,
  );
  world.live();
  await pass(world, DAY + HOUR, HOUR);
  const waiting = () => world.state.current()?.alerts.map(({ id }) => id) ?? [];
  await eventually(() => waiting()[0] === `report:${november('25 09:00')}@slack:C1`);
  expect(waiting()).toHaveLength(1);
  isClosed = false;
  await pass(world, HOUR, 10 * MINUTE);
  await eventually(() => dues(world).length > 0);
  expect(dues(world)).toEqual(['25 09:00']);
});

test('a report that is stored already, or an earlier one, changes nothing', () => {
  const card: Card = { tone: 'good', title: 'Daily report', parts: [] };
  const nothing = { known: [], isLearned: true, shortLists: 0, alerts: [] };
  const one = withReport(nothing, { place: 'slack:C1', dueMs: 5, card, nowMs: 6 });
  expect(withReport(one, { place: 'slack:C1', dueMs: 5, card, nowMs: 7 })).toBe(one);
  expect(withReport(one, { place: 'slack:C1', dueMs: 4, card, nowMs: 7 })).toBe(one);
  expect(withReport(undefined, { place: 'slack:C1', dueMs: 4, card, nowMs: 7 })).toBeUndefined();
  const both = withReport(one, { place: 'slack:C2', dueMs: 5, card, nowMs: 7 });
  expect(both?.alerts).toHaveLength(2);
  expect(withReport(both, { place: 'slack:C1', dueMs: 9, card, nowMs: 9 })?.alerts).toHaveLength(2);
});
