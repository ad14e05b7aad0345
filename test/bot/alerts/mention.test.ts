import { expect, test } from 'vitest';
import { mentionFor } from '../../../src/bot/alerts/sender.ts';
import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import { withMonitoringOutage } from '../../../src/bot/incidents/monitoring-outage.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { type AlertWorld, HOUR, MINUTE, openAlertWorld } from '../../helpers/bot/alert-world.ts';

const ONCALL = { id: 'S123', name: '@oncall' };

/** A channel whose outages mention somebody. */
async function openWorld() {
  const world = await openAlertWorld({ startsAt: '2026-06-01T20:00:00Z' });
  await world.set({ mention: ONCALL });
  await world.see({ m0: 'UP', m1: 'UP', m2: 'UP' });
  return world;
}

const mentions = ({ slack }: AlertWorld) => slack.messages.map(({ card }) => card.mention);

test('the post of an outage has the mention, and its edits keep it', async () => {
  const world = await openWorld();
  await world.see({ m0: 'DOWN' });
  expect(mentions(world)).toEqual(['S123']);
  // Whatever is set meanwhile: another name in the message would ring for others.
  await world.set({ mention: { id: 'S9' } });
  await world.see({ m0: 'UP' });
  expect(world.titles()).toEqual([expect.stringMatching(/^Name of m0 recovered after /)]);
  expect(mentions(world)).toEqual(['S123']);
});

test('the post of a group has the mention', async () => {
  const world = await openWorld();
  await world.see({ m0: 'DOWN', m1: 'DOWN' });
  await world.see({ m2: 'DOWN' });
  await world.pass(MINUTE);
  expect(world.slack.messages.map(({ titles }) => titles)).toEqual([
    ['2 services are down', '3 services are down'],
  ]);
  expect(mentions(world)).toEqual(['S123']);
});

test('a quiet hours digest has the mention only if something is still down', async () => {
  const world = await openWorld();
  await world.set({ quiet: { fromMinute: 22 * 60, toMinute: 60, zone: 'UTC' } });
  await world.pass(3 * HOUR);
  await world.see({ m0: 'DOWN' });
  await world.see({ m0: 'UP' });
  await world.pass(24 * HOUR);
  await world.see({ m1: 'DOWN', m2: 'DOWN' });
  await world.see({ m1: 'UP' });
  await world.pass(24 * HOUR);
  await world.see({ m0: 'DOWN' });
  await world.see({ m0: 'MAINTENANCE' });
  await world.pass(2 * HOUR);
  expect(world.titles()).toHaveLength(3);
  expect(mentions(world)).toEqual([undefined, 'S123', undefined]);
});

test('a late alert has the mention only while the outage is ongoing', async () => {
  const world = await openWorld();
  world.slack.failWith(() => new DeliveryError('away', { permanent: false }));
  await world.see({ m0: 'DOWN' });
  await world.pass(2 * MINUTE);
  await world.see({ m1: 'DOWN', m0: 'UP' });
  world.slack.failWith(undefined);
  await world.pass(11 * MINUTE);
  expect(world.slack.messages.map(({ card }) => [card.title, card.mention])).toEqual([
    ['Name of m0 was down for 2 min', undefined],
    ['Name of m1 is down', 'S123'],
  ]);
});

test('a message that replaces another has no mention', async () => {
  const world = await openWorld();
  await world.see({ m0: 'DOWN' });
  world.slack.failWith(({ kind }) =>
    kind === 'update' ? new DeliveryError('gone', { permanent: true }) : undefined,
  );
  await world.incidents().mark('id-1', 'acknowledged', (atMs) => ({ by: 'Ada', atMs }));
  await world.pass(MINUTE);
  expect(world.titles()).toEqual(['Name of m0 is down', 'Name of m0 is down']);
  expect(mentions(world)).toEqual(['S123', undefined]);
});

test('a line in a thread has no mention', async () => {
  const world = await openWorld();
  await world.set({ remindMs: HOUR });
  const said: unknown[] = [];
  world.slack.failWith(({ kind, card }) => {
    if (kind === 'announce') said.push(card.mention);
    return undefined;
  });
  await world.see({ m0: 'DOWN' });
  await world.pass(61 * MINUTE);
  await world.see({ m0: 'UP' });
  await world.pass(MINUTE);
  expect(said).toEqual([undefined, undefined]);
});

test('the alert about a monitoring outage has the mention, and notices do not', () => {
  const polls = { count: 3, sinceMs: 0, error: new Error('away') };
  const around = { nowMs: 90_000, newId: () => 'b1', places: ['slack:C1'] };
  const [monitoringOutage] = withMonitoringOutage(undefined, polls, around)?.alerts ?? [];
  const delivery = newDelivery('slack:C1', 'b1');
  const settings = { mention: ONCALL };
  expect(monitoringOutage && mentionFor(monitoringOutage, delivery, settings)).toBe('S123');
  expect(monitoringOutage && mentionFor(monitoringOutage, delivery, {})).toBeUndefined();
  const notice = { kind: 'notice', id: 'n', version: 1, openedAtMs: 0, deliveries: [] } as const;
  const text = { title: 'Alerts do not reach slack:C2', text: '' };
  expect(mentionFor({ ...notice, ...text, deliveries: [] }, delivery, settings)).toBeUndefined();
});
