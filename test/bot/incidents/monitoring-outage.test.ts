import { expect, onTestFinished, test } from 'vitest';
import {
  type FailedPolls,
  isMonitoringOutage,
  withMonitoringOutage,
  withMonitoringRecovered,
} from '../../../src/bot/incidents/monitoring-outage.ts';
import type { Watching } from '../../../src/bot/incidents/watch-state.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { NetworkError, StatusError } from '../../../src/clients/errors.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const OPS: Place = { platform: 'slack', channel: 'C1' };
const START = 1_800_000_000_000;
const unreachable = new NetworkError('ECONNREFUSED');
const refused = new StatusError('no', { status: 401 });
const limited = new StatusError('slow down', { status: 429 });

test.each<[string, unknown, number, number, number, boolean]>([
  ['one miss', unreachable, 1, 0, 15_000, false],
  ['two misses', unreachable, 2, 20_000, 15_000, false],
  ['three misses that came at once', unreachable, 3, 3_000, 15_000, false],
  ['three misses of the usual wait', unreachable, 3, 45_000, 15_000, true],
  ['three misses of a short wait', unreachable, 3, 15_000, 5_000, true],
  ['one miss long ago, as after a sleep', unreachable, 1, 500_000, 15_000, false],
  ['90 seconds, whatever the wait', unreachable, 2, 90_000, 600_000, true],
  ['a refused key', refused, 1, 0, 15_000, true],
  ['a limit for two minutes', limited, 9, 120_000, 15_000, false],
  ['a limit for three minutes', limited, 9, 180_000, 15_000, true],
])('%s', (_, error, count, forMs, pollMs, wanted) => {
  const failed: FailedPolls = { count, sinceMs: START, error };
  expect(isMonitoringOutage(failed, START + forMs, pollMs)).toBe(wanted);
});

const around = {
  nowMs: START + 60_000,
  newId: () => 'blind-1',
  places: ['slack:C1', 'slack:C1', 'discord:2'],
};
const failed: FailedPolls = { count: 3, sinceMs: START, error: unreachable };

test('the end of an outage of the service is reported to places that may have the alert, and to no other', () => {
  const { alerts } = withMonitoringOutage(undefined, failed, around) as Watching;
  expect(withMonitoringRecovered(alerts, START + 90_000)).toEqual([]);
  const [monitoringOutage] = alerts;
  const tried = monitoringOutage?.deliveries.map((delivery, at) => ({
    ...delivery,
    attempted: at === 1,
  }));
  const told = alerts.map((alert) => ({ ...alert, deliveries: tried ?? [] }));
  expect(withMonitoringRecovered(told, START + 90_000)).toMatchObject([
    { version: 2, endedAtMs: START + 90_000, deliveries: [{ place: 'discord:2' }] },
  ]);
  const ended = withMonitoringRecovered(told, START + 90_000);
  expect(withMonitoringRecovered(ended, START + 99_000)).toBe(ended);
});

test('an outage of the service before the first poll leaves that poll the first one', () => {
  const before = withMonitoringOutage(undefined, failed, around) as Watching;
  const monitor = {
    ...{ id: 'a', name: 'A', check_type: 'HTTP', target: 'x', status: 'DOWN' },
    interval_seconds: 60,
  };
  const surroundings = { nowMs: START + 90_000, newId: () => 'i', placesFor: () => ['slack:C1'] };
  const { watching } = applyPoll(before, [monitor], surroundings);
  const alerts = [{ kind: 'incident', monitorId: 'a', foundAtStart: true }];
  expect(watching).toMatchObject({ known: [{ id: 'a' }], isLearned: true, alerts });
  expect(watching.alerts).toHaveLength(1);
});

test('channels get one message when monitoring fails and one when it is back, with nothing else in between', async () => {
  const folder = await temporaryFolder();
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  const shop = service.add({ name: 'Shop' });
  const options = { folder, service, settings: { alertPlaces: [OPS] } };
  const slack = createScriptedPlatform('slack');
  const console = createScriptedPlatform('console');
  const first = await startTestBot(options);
  await first.bot.start([slack, console]);
  await first.say('/monitor alerts on no-such-name');
  await eventually(() => service.requests.length > 1);
  service.failWith({ kind: 'status', status: 401 });
  await eventually(() => slack.messages.length === 1 && console.messages.length === 1);
  const [told] = slack.messages;
  expect(told?.card.title).toBe('Askwatch cannot see the monitors');
  expect(told && textOf(told.card)).toContain(
    "The monitoring service rejected Askwatch's key (401). Check MONITORING_API_KEY.",
  );
  // A restart during the outage sends nothing again.
  await first.stop();
  const second = await startTestBot(options);
  const asked = service.requests.length;
  await second.bot.start([slack, console]);
  await eventually(() => service.requests.length > asked + 1);
  service.setStatus(shop.id, 'DOWN');
  service.recover();
  await eventually(() => slack.messages.length === 2);
  await eventually(() => slack.messages[0]?.card.tone === 'good');
  expect(slack.messages.map(({ titles }) => titles)).toEqual([
    ['Askwatch cannot see the monitors', 'Askwatch can see the monitors again'],
    ['Shop is down'],
  ]);
  await eventually(() => console.messages[0]?.card.tone === 'good');
  expect(console.messages).toHaveLength(1);
});
