import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { createIncidents } from '../../../src/bot/incidents/incident-service.ts';
import { newSnooze } from '../../../src/bot/incidents/snoozes.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import { openLastPoll } from '../../../src/bot/watch/last-poll.ts';
import { createPoller } from '../../../src/bot/watch/poller.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { counting, startAdditions, startSteppedWatch } from '../../helpers/bot/stepped-watch.ts';
import { cardOf, startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const OPS: Place = { platform: 'slack', channel: 'C1' };

/** Number of requests for the list. */
const polls = (service: { requests: Array<{ method: string }> }) =>
  service.requests.filter(({ method }) => method === 'GET').length;

test('the channel that added a monitor gets one message when it goes down, which is edited at the end', async () => {
  const { bot, say, service } = await startTestBot();
  const platform = createScriptedPlatform('console');
  await bot.start([platform]);
  await eventually(() => polls(service) > 0);
  const added = cardOf(await say('/monitor add https://shop.example/ My shop'));
  expect(textOf(added)).toContain('Alerts will be posted in this channel.');
  await eventually(() => platform.messages.length === 0 && polls(service) > 3);
  const id = service.monitors[0]?.id ?? '';

  service.setStatus(id, 'DOWN');
  await eventually(() => platform.messages.length === 1);
  expect(platform.messages[0]).toMatchObject({ channel: 'general' });
  expect(platform.messages[0]?.card).toMatchObject({ tone: 'bad', title: 'My shop is down' });

  service.setStatus(id, 'UP');
  await eventually(() => platform.messages[0]?.card.tone === 'good');
  expect(textOf(platform.messages[0]?.card as Card)).toMatch(
    /^My shop recovered after .*\nTarget: https:\/\/shop\.example\/\nDown from: at \d+\nDown to: at \d+\nDuration: /,
  );
  expect(platform.messages).toHaveLength(1);
});

test('ALERT_CHANNELS get alerts of every monitor, other channels only those of their filter', async () => {
  const { bot, say, service } = await startTestBot({ settings: { alertPlaces: [OPS] } });
  const slack = createScriptedPlatform('slack');
  const console = createScriptedPlatform('console');
  const shop = service.add({ name: 'Shop' });
  const blog = service.add({ name: 'Blog', target: 'https://blog.example' });
  await bot.start([slack, console]);
  await say('/monitor alerts on blog');
  await eventually(() => polls(service) > 1);
  service.setStatus(shop.id, 'DOWN');
  service.setStatus(blog.id, 'DOWN');
  await eventually(() => slack.messages.length === 1 && console.messages.length === 1);
  await eventually(() => slack.messages[0]?.card.title === '2 services are down');
  expect(console.messages[0]?.card.title).toBe('Blog is down');
});

test('a filter by text and tags decides which alerts a channel gets, with the tags of that moment', async () => {
  const { bot, say, service } = await startTestBot();
  const console = createScriptedPlatform('console');
  const shop = service.add({ name: 'Shop', tags: ['eu', 'web'] });
  const cart = service.add({ name: 'Shop cart', tags: ['us'] });
  const blog = service.add({ name: 'Blog', target: 'https://blog.example', tags: ['eu'] });
  await bot.start([console]);
  await say('/monitor alerts on shop tags=eu');
  await eventually(() => polls(service) > 1);
  for (const { id } of [blog, cart, shop]) service.setStatus(id, 'DOWN');
  await eventually(() => console.messages.length === 1);
  expect(console.messages[0]?.card.title).toBe('Shop is down');
  service.setStatus(cart.id, 'UP');
  cart.tags = ['eu'];
  const told = polls(service);
  await eventually(() => polls(service) > told + 2);
  service.setStatus(cart.id, 'DOWN');
  await eventually(() => console.messages.some(({ card }) => card.title.includes('Shop cart')));
});

test('channels that a monitor names are told of it and of nothing else, once each', async () => {
  const { bot, say, service } = await startTestBot();
  const slack = createScriptedPlatform('slack');
  const console = createScriptedPlatform('console');
  const channels = ['slack:C9', 'console:general', 'nonsense'];
  const shop = service.add({ name: 'Shop', channels });
  const blog = service.add({ name: 'Blog', target: 'https://blog.example' });
  await bot.start([slack, console]);
  await say('/monitor alerts on shop');
  await eventually(() => polls(service) > 1);
  service.setStatus(blog.id, 'DOWN');
  service.setStatus(shop.id, 'DOWN');
  await eventually(() => slack.messages.length === 1 && console.messages.length === 1);
  const told = polls(service);
  await eventually(() => polls(service) > told + 2);
  expect(slack.messages.map(({ channel, card }) => [channel, card.title])).toEqual([
    ['C9', 'Shop is down'],
  ]);
  expect(console.messages.map(({ card }) => card.title)).toEqual(['Shop is down']);
});

test('channels that only a monitor names are told when monitors cannot be seen', async () => {
  const START = Date.UTC(2026, 10, 20);
  const service = await startAdditions([counting('shop', 1, { channels: ['slack:C9'] })]);
  const watch = await startSteppedWatch(service, { nowMs: START });
  service.show(false);
  for (const minutes of [1, 2, 3, 4]) await watch.poll(START + minutes * 60_000);
  const [outage, ...others] = watch.alerts();
  expect(others).toEqual([]);
  expect(outage?.deliveries.map(({ place }) => place)).toEqual(['slack:C1', 'slack:C9']);
});

test('the first poll reports what is down, in one message, and nothing of the others', async () => {
  const { bot, service } = await startTestBot({ settings: { alertPlaces: [OPS] } });
  const slack = createScriptedPlatform('slack');
  for (const name of ['A', 'B', 'C']) service.add({ name, status: 'DOWN' });
  for (const status of ['UP', 'PAUSED', 'Zombie']) service.add({ name: status, status });
  await bot.start([slack]);
  await eventually(() => slack.messages.length === 1 && polls(service) > 3);
  const [digest, ...others] = slack.messages;
  expect(others).toEqual([]);
  expect(digest?.titles).toEqual(['4 services are down']);
  expect(textOf(digest?.card as Card)).toContain('All found when Askwatch started watching.');
});

test('a lone monitor that is down at the first poll is an alert that does not make up a time', async () => {
  const { bot, service } = await startTestBot({ settings: { alertPlaces: [OPS] } });
  const slack = createScriptedPlatform('slack');
  const old = service.add({ name: 'Old', status: 'DOWN' });
  await bot.start([slack]);
  await eventually(() => slack.messages.length === 1);
  const told = () => textOf(slack.messages[0]?.card as Card);
  expect(told()).toMatch(/^Old is down\n.*\nDown since: before Askwatch started watching\n/);
  service.setStatus(old.id, 'UP');
  await eventually(() => slack.messages[0]?.card.tone === 'good');
  expect(told()).toMatch(/\nDown to: at \d+\nDuration: at least \d+ second/);
  await eventually(() => slack.messages[0]?.lines.size === 1);
  expect([...(slack.messages[0]?.lines.values() ?? [])]).toEqual([
    expect.stringMatching(/^Old recovered after at least \d+ s/),
  ]);
});

test('a DEGRADED monitor is reported in a milder message, and its DOWN in one of its own', async () => {
  const { bot, service } = await startTestBot({ settings: { alertPlaces: [OPS] } });
  const slack = createScriptedPlatform('slack');
  const shop = service.add({ name: 'Shop' });
  await bot.start([slack]);
  await eventually(() => polls(service) > 1);
  const shown = () =>
    slack.messages.map(({ card, titles }) => [card.tone, titles.at(-1)?.replace(/ after .*/, '')]);
  const set = async (status: string, wanted: unknown[]) => {
    service.setStatus(shop.id, status);
    await eventually(() => JSON.stringify(shown()) === JSON.stringify(wanted));
  };
  await set('DEGRADED', [['warning', 'Shop is degraded']]);
  await set('UP', [['good', 'Shop is no longer degraded']]);
  // Within this time it is the same problem, so its message continues.
  await set('DEGRADED', [['warning', 'Shop is degraded']]);
  const before = ['warning', 'Shop was degraded, then down'];
  await set('DOWN', [before, ['bad', 'Shop is down']]);
  await set('DEGRADED', [before, ['warning', 'Shop is degraded']]);
  await set('UP', [before, ['good', 'Shop recovered']]);
  // The line in the thread follows the edit.
  await eventually(() => slack.messages[1]?.lines.size === 1);
  expect(slack.messages[0]?.lines.size).toBe(0);
});

test('the poller waits as long as a 429 asks, and longer with every failure', async () => {
  const { log } = recordingLog();
  const service = await startMonitoringService({ limit: false });
  const store = await openTestStore({ log });
  const waits: number[] = [];
  const monitoring = createMonitoringClient({ baseUrl: service.url, apiKey: service.apiKey });
  const watch = createPoller({
    monitoring,
    state: { current: () => undefined, update: async () => {} },
    lastPoll: await openLastPoll(store, { pollMs: 100 }),
    channels: createChannels(store),
    alertPlaces: [],
    pollMs: 100,
    clock: {
      nowMs: Date.now,
      async pause(ms, signal) {
        waits.push(ms);
        if (waits.length === 2) service.failWith({ kind: 'status', status: 400 });
        if (waits.length === 5) service.recover();
        if (waits.length < 6) return;
        await once(signal, 'abort');
      },
    },
    random: () => 0.5,
    onChange: () => {},
    log,
  });
  service.failWith({
    kind: 'status',
    status: 429,
    headers: { 'retry-after': '30' },
  });
  watch.start();
  await eventually(() => waits.length === 6);
  expect(waits).toEqual([30_000, 30_000, 4000, 8000, 16_000, 100]);
  await watch.stop();
  await Promise.all([monitoring.close(), service.close(), store.close()]);
});

test('a snooze ends after an hour, also while the monitors cannot be seen', async () => {
  const START = Date.UTC(2026, 10, 20);
  const MINUTE = 60_000;
  const shop = counting('shop', 1);
  const service = await startAdditions([shop]);
  const watch = await startSteppedWatch(service, { nowMs: START });
  Object.assign(shop, { status: 'DOWN', status_changes: 2 });
  await watch.poll(START + MINUTE);
  const id = watch.incidents()[0]?.id ?? '';
  const nowMs = () => START + MINUTE;
  const incidents = createIncidents({ state: watch.state, nowMs, onChange: () => {} });
  await incidents.mark(id, 'snoozed', (atMs) => newSnooze('Ada', atMs));
  service.show(false);
  await watch.poll(START + 60 * MINUTE);
  expect(watch.incidents()[0]?.snoozed?.by).toBe('Ada');
  await watch.poll(START + 61 * MINUTE);
  expect(watch.incidents()[0]?.snoozed).toBeUndefined();
  await watch.close();
});
