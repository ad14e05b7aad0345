import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { november } from '../../../evals/week/planned-monitor.ts';
import { startRecordedWeek } from '../../../evals/week/recorded-week.ts';
import type { ReportSchedule } from '../../../src/bot/channels/channel-settings.ts';
import { withReport } from '../../../src/bot/reports/reporter.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
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
async function pass(world: World, ms: number, stepMs = 10 * SECOND) {
  const endMs = world.clock.nowMs() + ms;
  await eventually(world.clock.isAwaited);
  while (world.clock.nowMs() < endMs) {
    world.clock.goOn(Math.min(stepMs, endMs - world.clock.nowMs()));
    await eventually(world.clock.isAwaited);
  }
}

const cards = ({ slack }: World, { channel } = OPS): Card[] =>
  slack.messages.filter((one) => one.channel === channel).map(({ card }) => card);
const times = (world: World, place = OPS) =>
  cards(world, place).map((card) => /Time: (.*)/.exec(textOf(card))?.[1]);

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
  const world = await openOps(await startRecordedWeek());
  await world.channels.change(DEV, { hearing: { on: true, filter: 'Logistics' } });
  await world.set(DEV, { ...DAILY, every: 'weekly', minute: 541, setAtMs: 0 });
  await world.set({ platform: 'slack', channel: 'C3' }, null, { remindMs: HOUR });
  world.live();
  // The weekly report was due on Monday, less than a day ago.
  await eventually(() => times(world, DEV).length === 1);
  await pass(world, 9 * SECOND, SECOND);
  expect(times(world)).toEqual([]);
  await pass(world, SECOND, SECOND);
  await eventually(() => times(world).length === 1);
  await pass(world, 3 * HOUR, 5 * MINUTE);
  expect(times(world)).toEqual(['2026-11-23 (UTC)']);
  const [card] = cards(world);
  expect(card?.parts.some(({ kind }) => kind === 'chart')).toBe(true);
  expect(card).not.toHaveProperty('mention');
  expect(times(world, DEV)).toEqual(['2026-11-16 to 2026-11-22 (UTC)']);
  expect(textOf(cards(world, DEV)[0] as Card)).toContain('Monitors: 7\n');
  await pass(world, DAY, 5 * MINUTE);
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
  const service = await startRecordedWeek();
  let isKilled = true;
  let killAt = 0;
  while (isKilled) {
    killAt += 1;
    const world = await openOps(service, november('24 08:59:59'));
    const first = world.live(killAt);
    await eventually(() => first.isDead() || world.clock.isAwaited());
    world.clock.goOn(SECOND);
    await eventually(() => first.isDead() || times(world).length === 1);
    await eventually(() => first.isDead() || world.clock.isAwaited());
    isKilled = first.isDead();
    if (!isKilled) await first.stop();
    const second = world.live();
    await eventually(() => times(world).length === 1);
    await pass(world, 2 * HOUR, 10 * MINUTE);
    expect({ killAt, times: times(world) }).toEqual({ killAt, times: ['2026-11-23 (UTC)'] });
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
  const world = await openOps(await startRecordedWeek());
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
  await pass(world, HOUR, MINUTE);
  expect(lost).toBe(3);
  expect(world.slack.messages.map(({ titles }) => titles.length)).toEqual([1]);
});

test('a report comes late after a time without a process, and never after a day', async () => {
  const service = await startRecordedWeek();
  const late = await openOps(service, november('25 08:59:00'));
  late.live();
  await eventually(() => times(late).length === 1);
  await pass(late, 30 * SECOND);
  expect(times(late)).toEqual(['2026-11-23 (UTC)']);
  const weekly = await openOps(service, november('24 09:00:00'));
  await weekly.set(OPS, { ...DAILY, every: 'weekly', setAtMs: 0 });
  weekly.live();
  await pass(weekly, HOUR, MINUTE);
  expect(times(weekly)).toEqual([]);
});

test('a report waits for a monitoring service that is away', async () => {
  const service = await startRecordedWeek();
  const gate = await startGate(service.url);
  const world = await openOps({ url: gate.url, key: service.key });
  gate.shut(true);
  world.live();
  await pass(world, 20 * MINUTE, MINUTE);
  expect(times(world)).toEqual([]);
  const warned = world.lines.filter(({ msg }) => msg === 'could not create a report yet; retrying');
  expect(warned).toHaveLength(1);
  // It is asked again and again, at longer and longer intervals.
  expect(gate.refused()).toBeGreaterThan(10);
  gate.shut(false);
  await pass(world, 2 * MINUTE);
  await eventually(() => times(world).length === 1);
  expect(times(world)).toEqual(['2026-11-23 (UTC)']);
  expect(textOf(cards(world)[0] as Card)).toContain('Monitors: 200');
});

test('a report says if the service keeps no history', async () => {
  const { url, key } = await startAdditions([counting('a', 1)]);
  const world = await openOps({ url, key });
  world.live();
  await pass(world, MINUTE);
  await eventually(() => cards(world).length === 1);
  expect(textOf(cards(world)[0] as Card)).toMatch(/no data[\s\S]*does not offer/);
});

test('a failed report is not retried after its time', async () => {
  const service = await startRecordedWeek();
  const gate = await startGate(service.url);
  const world = await openOps({ url: gate.url, key: service.key });
  const { schedules } = world.channels;
  let looks = 0;
  world.channels.schedules = () => {
    looks += 1;
    return schedules();
  };
  gate.shut(true);
  world.live();
  await pass(world, 2 * MINUTE, MINUTE);
  expect(gate.refused()).toBeGreaterThan(0);
  await world.set(OPS, { ...DAILY, setAtMs: world.clock.nowMs() });
  await pass(world, 10 * MINUTE, MINUTE);
  looks = 0;
  await pass(world, MINUTE, SECOND);
  expect(looks).toBeLessThan(12);
});

test('a stored report is sent unchanged after a restart, even if the service is away', async () => {
  const service = await startRecordedWeek();
  const folder = await temporaryFolder();
  const world = await openOps(service, november('24 08:59:50'), folder);
  world.slack.failWith(() => new DeliveryError('busy', { permanent: false }));
  world.live();
  await pass(world, MINUTE);
  await eventually(() => world.slack.tries > 0);
  const made = world.state.current()?.alerts.find((alert) => alert.kind === 'report');
  await world.close();
  const nobody = { url: 'http://127.0.0.1:9', key: service.key };
  const after = await openReportWorld({ service: nobody, startMs: november('24 10:00'), folder });
  after.live();
  await eventually(() => {
    after.clock.goOn(SECOND);
    return times(after).length === 1;
  });
  expect(cards(after)[0]).toEqual(made?.card);
  expect(times(after)).toEqual(['2026-11-23 (UTC)']);
});

test('a report waits for the end of quiet hours', async () => {
  const world = await openOps(await startRecordedWeek());
  const quiet = { fromMinute: 60, toMinute: 11 * 60, zone: 'UTC' };
  await world.set(OPS, DAILY, { quiet });
  world.live();
  await pass(world, HOUR, MINUTE);
  expect(times(world)).toEqual([]);
  await pass(world, HOUR + MINUTE, MINUTE);
  await eventually(() => times(world).length === 1);
  expect(times(world)).toEqual(['2026-11-23 (UTC)']);
});

test('a report that is turned off while it is created does not come', async () => {
  const service = await startRecordedWeek();
  const gate = await startGate(service.url);
  const world = await openOps({ url: gate.url, key: service.key });
  gate.hold(true);
  world.live();
  await eventually(world.clock.isAwaited);
  world.clock.goOn(10 * SECOND);
  await eventually(() => gate.held() > 0);
  await world.set(OPS, null);
  gate.hold(false);
  await pass(world, HOUR, MINUTE);
  expect(world.slack.messages).toEqual([]);
  expect(world.state.current()?.alerts).toEqual([]);
});

test('a closed channel keeps only its newest report', async () => {
  const world = await openOps(await startRecordedWeek());
  let isClosed = true;
  world.slack.failWith(() =>
    isClosed ? new DeliveryError('archived', { permanent: true, closed: true }) : undefined,
  );
  world.live();
  await pass(world, DAY + HOUR, 5 * MINUTE);
  // The second report is put together while time goes by.
  await eventually(() => {
    const waiting = world.state.current()?.alerts.filter(({ kind }) => kind === 'report') ?? [];
    return waiting.length === 1 && JSON.stringify(waiting).includes('2026-11-24 (UTC)');
  });
  isClosed = false;
  await pass(world, HOUR, MINUTE);
  expect(times(world)).toEqual(['2026-11-24 (UTC)']);
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

/** A proxy in front of a service that can refuse or hold requests. */
async function startGate(target: string) {
  let isShut = false;
  let isHeld = false;
  let refused = 0;
  const waiting: Array<() => void> = [];
  const server = createServer(async ({ url = '', headers }, response) => {
    if (isShut) {
      refused += 1;
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'Away.', type: 'away' } }));
      return;
    }
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    const key = String(headers['x-api-key']);
    const answer = await fetch(target + url, { headers: { 'x-api-key': key } });
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: () => refused,
    held: () => waiting.length,
    shut(next: boolean) {
      isShut = next;
    },
    hold(next: boolean) {
      isHeld = next;
      if (!next) for (const go of waiting.splice(0)) go();
    },
  };
}
