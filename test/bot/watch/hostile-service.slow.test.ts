import { expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { nextFor } from '../../../src/bot/incidents/delivery.ts';
import { type Place, placeKey } from '../../../src/bot/shared/place.ts';
import { openLastPoll } from '../../../src/bot/watch/last-poll.ts';
import { createPoller } from '../../../src/bot/watch/poller.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import {
  type MonitoringFault,
  type MonitoringService,
  startMonitoringService,
} from '../../fakes/monitoring-service.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const OPS: Place = { platform: 'slack', channel: 'C1' };
const POLL_MS = 1_000;
const START_MS = 1_800_000_000_000;

/** The real watch over real HTTP, and the real sender; looks come when the test says. */
async function openWorld() {
  const { log, lines } = recordingLog();
  let service = await startMonitoringService({ limit: false });
  const { url, apiKey } = service;
  const store = await openTestStore({ log });
  const state = await openWatchState(store);
  const slack = createScriptedPlatform('slack');
  const monitoring = createMonitoringClient({ baseUrl: url, apiKey, timeoutMs: 2_000 });
  const [looking, sending] = [createHandClock(START_MS), createHandClock(START_MS)];
  const common = { state, alertPlaces: [OPS], random: () => 0.5, log };
  const sender = createSender({ ...common, clock: sending });
  const watch = createPoller({
    ...common,
    monitoring,
    lastPoll: await openLastPoll(store, { pollMs: POLL_MS }),
    channels: createChannels(store),
    pollMs: POLL_MS,
    clock: looking,
    onChange: sender.wake,
  });
  sender.start([slack]);
  onTestFinished(async () => {
    await watch.stop();
    await sender.stop();
    await Promise.all([monitoring.close(), service.close()]);
    await store.close();
  });
  const isTold = () => !nextFor(state.current(), placeKey(OPS), looking.nowMs());
  const idle = () => eventually(() => looking.isAwaited() && isTold());
  return {
    slack,
    state,
    lines,
    service: () => service,
    /** The first poll. */
    async start() {
      watch.start();
      await idle();
    },
    async polls(count: number) {
      for (let left = count; left > 0; left -= 1) {
        looking.goToNext();
        await idle();
      }
    },
    /** Ends the service, or starts it again at the same address with the same monitors. */
    async shut() {
      await service.close();
    },
    async open() {
      const before: MonitoringService = service;
      const port = Number(new URL(url).port);
      service = await startMonitoringService({ limit: false, apiKey, port });
      service.monitors.push(...before.monitors);
    },
    titles: () => slack.messages.map(({ titles }) => titles),
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

const BLIND = ['Askwatch cannot see the monitors', 'Askwatch can see the monitors again'];

const shop = (id: string, status: unknown) => ({
  ...{ id, name: id, check_type: 'HTTP', target: 'https://shop.example', status },
  interval_seconds: 60,
});
/** Answers with this list, regardless of the service's monitors. */
const sends = (count: number, ...monitors: object[]): MonitoringFault => ({
  ...{ kind: 'status', status: 200 },
  body: { count, monitors },
});

const NO_LISTS: Array<[string, MonitoringFault]> = [
  ['500', { kind: 'status', status: 500 }],
  ['503 that asks to wait', { kind: 'status', status: 503, headers: { 'retry-after': '7' } }],
  ['404', { kind: 'status', status: 404 }],
  ['a refused key', { kind: 'status', status: 401 }],
  ['200 without a body', { kind: 'status', status: 200, body: '' }],
  ['another shape', { kind: 'status', status: 200, body: [] }],
  ['a page', { kind: 'html' }],
  ['bytes that are no text', { kind: 'garbage-bytes' }],
  ['JSON that breaks off', { kind: 'truncated-json' }],
  ['a connection that breaks off', { kind: 'reset' }],
  ['a redirect', { kind: 'redirect', location: 'http://127.0.0.1:9/' }],
  ['more than can be read', { kind: 'huge', bytes: 17 * 1024 * 1024 }],
  ['a count above its length', { kind: 'count-mismatch' }],
  ['a count below its length', sends(1, shop('mon_1', 'DOWN'), shop('mon_2', 'DOWN'))],
  ['no monitors but a count', sends(3)],
  ['a monitor without a status', sends(1, shop('mon_1', null))],
  ['a status that is a number', sends(1, shop('mon_1', 0))],
];

/** One of each kind: an answer that is refused, no key, no text, no end, and lists at odds with themselves. */
const FEW = [
  ...['500', 'a refused key', 'bytes that are no text', 'a connection that breaks off'],
  ...['a count above its length', 'a monitor that is UP and DOWN'],
];

/** Three monitors that are up, and one with a posted alert. */
async function openWatched(): Promise<World> {
  const world = await openWorld();
  for (const name of ['A', 'B', 'C', 'Old']) world.service().add({ name });
  await world.start();
  world.service().setStatus('mon_4', 'DOWN');
  await world.polls(1);
  expect(world.titles()).toEqual([['Old is down']]);
  return world;
}

test.each(NO_LISTS.filter(([what]) => long || FEW.includes(what)))(
  'a service that answers with no list %s, is blindness, told once, and nothing else',
  async (_, fault) => {
    const world = await openWatched();
    world.service().failWith(fault);
    await world.polls(6);
    expect(world.titles()).toEqual([['Old is down'], BLIND.slice(0, 1)]);
    world.service().recover();
    await world.polls(5);
    expect(world.titles()).toEqual([['Old is down'], BLIND]);
    // It looks as it did before.
    world.service().setStatus('mon_4', 'UP');
    await world.polls(1);
    expect(world.titles()).toEqual([
      ['Old is down', expect.stringMatching(/^Old recovered after /)],
      BLIND,
    ]);
  },
);

test.each<[string, MonitoringFault, number]>([
  ['empty', { kind: 'empty-list' }, 3],
  ['halved', { kind: 'halved-list' }, 1],
])('a service whose list lies %s for a while, is not believed', async (_, fault, polls) => {
  const world = await openWatched();
  for (let round = 0; round < (long ? 10 : 4); round += 1) {
    world.service().failWith(fault, polls);
    await world.polls(polls + 1);
  }
  expect(world.titles()).toEqual([['Old is down']]);
});

test('a service whose list lies empty for long, is never a recovery, and what comes back up is no news', async () => {
  const world = await openWatched();
  world.service().failWith({ kind: 'empty-list' });
  await world.polls(6);
  world.service().recover();
  world.service().setStatus('mon_4', 'UP');
  await world.polls(5);
  expect(world.titles()).toEqual([['Old is down', 'Old is no longer listed']]);
});

test('a service whose list lies invalid rows are named once, hide nothing of the others, and take no monitor away', async () => {
  const world = await openWatched();
  const invalid = (...rows: unknown[]) => world.service().failWith({ kind: 'odd-rows', rows });
  const row = shop('mon_1', 'UP');
  // Without a status, and without an id: neither is known to be gone.
  for (const rows of [[shop('mon_4', null)], [null, 'x'.repeat(10_000), { ...row, id: '' }]]) {
    invalid(...rows);
    await world.polls(6);
  }
  expect(world.titles()).toEqual([['Old is down']]);
  const named = () => world.lines.filter(({ msg }) => String(msg).includes('break its contract'));
  expect(named()).toHaveLength(2);
  expect(JSON.stringify(named()).length).toBeLessThan(2_000);

  // All that is watched of a row is its id and its status.
  invalid({ id: 'mon_1', status: 'DOWN' }, { ...row, id: 7, interval_seconds: null });
  await world.polls(2);
  expect(world.titles()).toEqual([['Old is down'], ['mon_1 is down']]);
});

test('a service whose list lies with unknown statuses has them reported as they stand', async () => {
  const world = await openWatched();
  world.service().setStatus('mon_4', 'PAUSED');
  await world.polls(2);
  const words = ['Zombie', 'down?', '🔥 <!channel> @everyone', `DOWNSTREAM\n${'x'.repeat(500)}`];
  for (const word of words) {
    world.service().setStatus('mon_4', word);
    await world.polls(2);
  }
  world.service().setStatus('mon_4', 'Online');
  await world.polls(1);
  const [titles = [], ...others] = world.titles();
  expect(others).toEqual([]);
  expect(titles.slice(0, 5)).toEqual([
    'Old is down',
    'Old is paused',
    'ZOMBIE: Old',
    'DOWN?: Old',
    '🔥 <!CHANNEL> @EVERYONE: Old',
  ]);
  expect(titles.slice(5)).toEqual([
    expect.stringMatching(/^DOWNSTREAM/),
    expect.stringMatching(/^Old recovered after /),
  ]);
  expect(titles[5]?.length).toBeLessThan(60);
});

test('thousands of monitors, of which half go missing and one goes down, are one alert', async () => {
  const count = long ? 10_000 : 1_000;
  const world = await openWorld();
  for (let at = 0; at < count; at += 1) world.service().add({ name: `Shop ${at}.` });
  await world.start();
  world.service().failWith({ kind: 'halved-list' }, 2);
  await world.polls(3);
  world.service().failWith({ kind: 'empty-list' }, 2);
  await world.polls(3);
  world.service().failWith({ kind: 'truncated-json' }, 5);
  await world.polls(6);
  world.service().setStatus('mon_777', 'DOWN');
  await world.polls(2);
  expect(world.titles()).toEqual([BLIND, ['Shop 776. is down']]);
  expect(world.state.current()?.known).toHaveLength(count);
});
