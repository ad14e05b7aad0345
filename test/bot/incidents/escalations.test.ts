import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextFor } from '../../../src/bot/incidents/delivery.ts';
import { escalated } from '../../../src/bot/incidents/escalations.ts';
import { refreshed } from '../../../src/bot/incidents/groups.ts';
import type { Alert } from '../../../src/bot/incidents/watch-state.ts';
import { isCarried } from '../../../src/bot/shared/card.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import {
  type AlertWorld,
  DEV,
  HOUR,
  MINUTE,
  OPS,
  openAlertWorld,
} from '../../helpers/bot/alert-world.ts';
import { incident, NOTHING_WATCHED } from '../../helpers/bot/watch-changes.ts';
import { long } from '../../helpers/long.ts';

const PERSON = { id: 'U1', name: '@Ada', isPerson: true };
const escalation = {
  afterMs: 10 * MINUTE,
  place: placeKey(DEV),
  placeName: '#dev',
  mention: PERSON,
};

/** A channel with alerts, and another that gets what nobody acknowledges within ten minutes. */
async function openWorld(set: object = escalation) {
  const world = await openAlertWorld({
    ...{ startsAt: '2026-06-01T08:00:00Z', places: [OPS, DEV], hearing: [OPS], endsSnoozes: true },
  });
  await world.set({ escalation: { ...escalation, ...set } });
  await world.see({ m0: 'UP', m1: 'UP', m2: 'UP' });
  return world;
}

const cardsIn = (world: AlertWorld, { channel }: { channel: string }) =>
  world.slack.messages.filter((one) => one.channel === channel).map(({ card }) => card);
const acknowledge = (world: AlertWorld, id: string) =>
  world.incidents().mark(id, 'acknowledged', (atMs) => ({ by: 'Ada', atMs }));

test('an outage that nobody acknowledges is told once in the other channel, where it goes on, and calls the one person', async () => {
  const world = await openWorld();
  await world.see({ m0: 'DOWN' });
  await world.pass(9 * MINUTE);
  expect(world.titles(DEV)).toEqual([]);
  await world.pass(2 * HOUR);
  expect(world.titles(DEV)).toEqual(['Name of m0 is down, not acknowledged within 10 min']);
  expect(world.posted()).toEqual([0, 10]);
  const [card] = cardsIn(world, DEV);
  expect(card?.mention).toBe('@U1');
  expect(card?.link?.url).toBe(`https://slack.example/C1/${world.slack.messages[0]?.id}`);
  expect(JSON.stringify(card?.parts)).toContain('nobody acknowledged it within 10 minutes');
  // It has the buttons of the outage.
  const pressed = card?.actions?.find(({ label }) => label === 'Acknowledge');
  if (!pressed) throw new Error('there is no such button');
  expect(isCarried(pressed)).toBe(true);
  await acknowledge(world, pressed.values.incident ?? '');
  await world.pass(MINUTE);
  expect(JSON.stringify(cardsIn(world, OPS))).toContain('Acknowledged by');
  expect(JSON.stringify(cardsIn(world, DEV))).toContain('"Acknowledged by","value":"Ada"');
  await world.see({ m0: 'UP' });
  expect(world.titles(DEV)).toEqual([expect.stringMatching(/^Name of m0 recovered after /)]);
  await world.pass(HOUR);
  expect(world.slack.messages).toHaveLength(2);
});

test.each(['acknowledged', 'over', 'DEGRADED', 'PAUSED'])(
  'an outage that nobody acknowledges is not told when it is %s',
  async (how) => {
    const world = await openWorld();
    await world.see({ m0: how === 'DEGRADED' ? how : 'DOWN' });
    await world.pass(8 * MINUTE);
    if (how === 'acknowledged') await acknowledge(world, 'id-1');
    if (how === 'over') await world.see({ m0: 'UP' });
    if (how === 'PAUSED') await world.see({ m0: 'PAUSED' });
    await world.pass(3 * HOUR);
    expect(world.titles(DEV)).toEqual([]);
  },
);

test('an outage that nobody acknowledges waits while it is snoozed', async () => {
  const world = await openWorld();
  await world.see({ m0: 'DOWN' });
  await world
    .incidents()
    .mark('id-1', 'snoozed', (nowMs) => ({ by: 'Ada', untilMs: nowMs + HOUR }));
  await world.pass(59 * MINUTE);
  expect(world.titles(DEV)).toEqual([]);
  await world.pass(2 * MINUTE);
  expect(world.titles(DEV)).toHaveLength(1);
});

test('an outage that nobody acknowledges is told in quiet hours, of either channel', async () => {
  const world = await openWorld();
  const quiet = { fromMinute: 7 * 60, toMinute: 20 * 60, zone: 'UTC' };
  await world.set({ quiet });
  await world.set({ quiet }, DEV);
  await world.see({ m0: 'DOWN' });
  await world.pass(11 * MINUTE);
  expect(world.titles(OPS)).toEqual([]);
  expect(world.titles(DEV)).toEqual(['Name of m0 is down, not acknowledged within 10 min']);
  await world.see({ m0: 'UP' });
  await world.pass(HOUR);
  // Hours later, still in the quiet time: somebody is called again.
  await world.see({ m1: 'DOWN' });
  await world.pass(11 * MINUTE);
  expect(world.titles(DEV)[1]).toBe('Name of m1 is down, not acknowledged within 10 min');
  expect(cardsIn(world, DEV)[1]).toMatchObject({ mention: '@U1' });
  expect(world.titles(OPS)).toEqual([]);
});

test('an outage that nobody acknowledges that flaps is told once', async () => {
  const world = await openWorld();
  for (let flap = 0; flap < 22; flap += 1) {
    await world.see({ m0: flap % 2 ? 'UP' : 'DOWN' });
    await world.pass(2 * MINUTE);
  }
  expect(world.titles(DEV)).toHaveLength(1);
});

test('Several in one message are one message there, and a later outage is another one', async () => {
  const world = await openWorld();
  await world.see({ m0: 'DOWN', m1: 'DOWN' });
  await world.pass(4 * MINUTE);
  await world.see({ m2: 'DOWN' });
  await world.pass(HOUR);
  expect(world.titles(DEV)).toEqual([
    '2 services are down, not acknowledged within 10 min',
    'Name of m2 is down, not acknowledged within 10 min',
  ]);
  expect(cardsIn(world, DEV)[1]).toMatchObject({ mention: '@U1' });
});

test('New outages there have messages of their own', async () => {
  const world = await openAlertWorld({ startsAt: '2026-06-01T08:00:00Z', places: [OPS, DEV] });
  await world.set({ escalation });
  await world.see({ m0: 'UP', m1: 'UP' });
  await world.see({ m0: 'DOWN' });
  await world.pass(10 * MINUTE);
  await world.see({ m1: 'DOWN' });
  expect(world.titles(DEV)).toEqual([
    'Name of m0 is down',
    'Name of m0 is down, not acknowledged within 10 min',
    'Name of m1 is down',
  ]);
});

test('A person alone is called by a line under the message, once', async () => {
  const world = await openAlertWorld({ startsAt: '2026-06-01T08:00:00Z' });
  const calls: unknown[] = [];
  await world.set({ escalation: { afterMs: 10 * MINUTE, mention: PERSON } });
  world.slack.failWith(({ kind, mention }) => {
    if (kind === 'announce') calls.push(mention);
    return undefined;
  });
  await world.see({ m0: 'UP' });
  await world.see({ m0: 'DOWN' });
  await world.pass(2 * HOUR);
  expect(world.lines()).toEqual([
    ['Name of m0 is still down after 10 min, and nobody has acknowledged it'],
  ]);
  expect(calls).toEqual(['@U1']);
  await world.see({ m0: 'UP' });
  expect(world.lines()[0]?.[1]).toContain('recovered');
  expect(calls).toEqual(['@U1', undefined]);
});

test.each(['acknowledged', 'over'] as const)(
  'What is %s before it is sent is never sent',
  (how) => {
    const nowMs = Date.parse('2026-06-01T08:00:00Z');
    const told = { ...incident('i1'), openedAtMs: nowMs - 10 * MINUTE };
    const around = {
      ...{ nowMs, isQuiet: () => false, isListed: () => true },
      settingsOf: (place: string) => (place === 'slack:C1' ? { escalation } : {}),
    };
    const [own, made, ...others] = escalated([told], around);
    if (own?.kind !== 'incident' || !made) throw new Error('nothing is escalated');
    expect(others).toEqual([]);
    expect(escalated([own, made], around)).toEqual([own, made]);
    const nextOf = (alerts: Alert[]) =>
      nextFor({ ...NOTHING_WATCHED, alerts }, placeKey(DEV), nowMs);
    expect(nextOf([own, made])?.alert).toBe(made);
    const changed =
      how === 'over' ? { endedAtMs: nowMs } : { acknowledged: { by: 'Ada', atMs: nowMs } };
    const after = refreshed([{ ...own, ...changed, version: own.version + 1 }, made], nowMs);
    expect(nextOf(after)).toBeUndefined();
  },
);

test('It is told once, whenever the program is killed on the way', async () => {
  for (let step = 1; step <= (long ? 60 : 24); step += long ? 1 : 2) {
    const world = await openWorld();
    await world.see({ m0: 'DOWN' });
    await world.pass(9 * MINUTE);
    world.kill(step);
    await world.pass(3 * MINUTE);
    world.kill(0);
    await acknowledge(world, 'id-1');
    await world.pass(5 * MINUTE);
    expect({ step, titles: world.titles(DEV) }).toEqual({
      step,
      titles: ['Name of m0 is down, not acknowledged within 10 min'],
    });
  }
});

test('Whatever happens, nothing is escalated twice, or too soon, or after it was acknowledged', async () => {
  const event = fc.oneof(
    fc.record({
      monitor: fc.constantFrom('m0', 'm1', 'm2'),
      to: fc.constantFrom('DOWN', 'UP', 'DEGRADED'),
    }),
    fc.record({ acknowledge: fc.nat({ max: 5 }) }),
    fc.record({ minutes: fc.integer({ min: 1, max: 15 }) }),
  );
  let escalations = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 25 }), async (events) => {
      const world = await openWorld();
      const acknowledged = new Map<string, number>();
      for (const one of events) {
        if ('monitor' in one) await world.see({ [one.monitor]: one.to });
        else if ('minutes' in one) await world.pass(one.minutes * MINUTE);
        else {
          const open = world
            .alerts()
            .filter((alert) => alert.kind === 'incident' && !alert.endedAtMs);
          const chosen = open[one.acknowledge % Math.max(1, open.length)];
          if (!chosen || acknowledged.has(chosen.id)) continue;
          await acknowledge(world, chosen.id);
          acknowledged.set(chosen.id, world.nowMs());
        }
      }
      await world.pass(30 * MINUTE);
      const incidents = world.alerts().filter((alert) => alert.kind === 'incident');
      const groups = world.alerts().filter((alert) => alert.kind === 'group' && alert.escalation);
      const members = groups.flatMap((alert) => (alert.kind === 'group' ? alert.members : []));
      const ids = members.map(({ incidentId }) => incidentId);
      expect(new Set(ids).size).toBe(ids.length);
      for (const group of groups) {
        escalations += 1;
        const own = group.kind === 'group' ? group.members : [];
        const dueMs = own.map(({ incidentId }) => {
          const incident = incidents.find(({ id }) => id === incidentId);
          return (incident?.openedAtMs ?? 0) + escalation.afterMs;
        });
        expect(Math.min(...dueMs)).toBeLessThanOrEqual(group.openedAtMs);
        for (const { incidentId } of own) {
          const atMs = acknowledged.get(incidentId) ?? Number.POSITIVE_INFINITY;
          expect(atMs).toBeGreaterThanOrEqual(group.openedAtMs);
        }
      }
      for (const incident of incidents) {
        if (incident.kind !== 'incident' || incident.endedAtMs || incident.acknowledged) continue;
        if (incident.status === 'DOWN' && !incident.degraded) expect(ids).toContain(incident.id);
      }
    }),
    { numRuns: long ? 200 : 15 },
  );
  expect(escalations).toBeGreaterThan(0);
});
