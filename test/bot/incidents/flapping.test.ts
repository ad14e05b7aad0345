import { describe, expect, test } from 'vitest';
import type { Incident, Watching } from '../../../src/bot/incidents/watch-state.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { type AlertWorld, HOUR, MINUTE, openAlertWorld } from '../../helpers/bot/alert-world.ts';
import { textOf } from '../../helpers/bot.ts';
import { long } from '../../helpers/long.ts';

const startsAt = '2026-11-22T12:00:00Z';

async function openShop(given: { intervalSeconds?: number } = {}) {
  const world = await openAlertWorld({ startsAt, ...given });
  await world.see({ shop: 'UP' });
  return world;
}

/** Goes down and comes back, a minute each; ends `UP`. */
async function flap(world: AlertWorld, times: number) {
  for (let at = 0; at < times; at += 1) {
    await world.see({ shop: 'DOWN' });
    await world.pass(MINUTE);
    await world.see({ shop: 'UP' });
    await world.pass(MINUTE);
  }
}

/** A shop that flapped, and has just gone down once more. */
async function openDownAgain(given: { intervalSeconds?: number } = {}) {
  const world = await openShop(given);
  await flap(world, 3);
  await world.see({ shop: 'DOWN' });
  return world;
}

/** A shop that flapped, and goes down the third time together with two others. */
async function openDownTogether() {
  const world = await openShop();
  await world.see({ a: 'UP', b: 'UP' });
  await flap(world, 2);
  await world.see({ a: 'DOWN', b: 'DOWN', shop: 'DOWN' });
  return world;
}

/** Messages about a shop that flapped and stays down. */
const stayedDown = (downs: number, inMinutes: number) => [
  `Name of shop was down ${downs} times in ${inMinutes} min, then stayed down`,
  'Name of shop is down',
];

const textAt = (world: AlertWorld, at: number) => {
  const card = world.slack.messages[at]?.card;
  return card ? textOf(card) : '';
};

test('a monitor that goes down and up is reported twice, then in one message that counts until it is calm', async () => {
  const world = await openShop();
  await flap(world, 2);
  await world.pass(MINUTE);
  expect(world.titles()).toEqual([
    expect.stringMatching(/^Name of shop recovered after /),
    expect.stringMatching(/^Name of shop recovered after /),
  ]);
  await world.see({ shop: 'DOWN' });
  expect(world.titles()[2]).toBe('Name of shop is flapping (5 changes in 5 min), now down');
  expect(textAt(world, 2)).toContain(
    'No more messages about it until it stays down or is stable for 15 minutes.',
  );
  await world.pass(MINUTE);
  await world.see({ shop: 'UP' });
  await world.pass(MINUTE);
  await flap(world, 4);
  expect(world.titles()[2]).toBe('Name of shop is flapping (14 changes in 14 min), now up');
  expect(world.lines()[2]).toEqual([]);
  await world.pass(13 * MINUTE);
  expect(world.titles()[2]).toMatch(/is flapping/);
  await world.pass(2 * MINUTE);
  const end = 'Name of shop is stable again (down 7 times in 14 min)';
  expect(world.titles()).toEqual([...world.titles().slice(0, 2), end]);
  expect(world.lines()[2]).toEqual([end]);
  expect(textAt(world, 2)).toMatch(/First down: at \d+\nStable since: at \d+\nDown: 7 times\n/);
  // From then on it is like any other.
  await flap(world, 1);
  expect(world.titles()[3]).toMatch(/^Name of shop recovered after /);
});

test('a monitor that goes down and up and stays down is an outage again, in a message that nobody can miss', async () => {
  const world = await openDownAgain();
  const downMs = world.nowMs();
  await world
    .incidents()
    .mark(incidentOf(world).id, 'acknowledged', (atMs) => ({ by: 'Ada', atMs }));
  await world.pass(2 * MINUTE);
  expect(world.titles()[2]).toBe('Name of shop is flapping (7 changes in 6 min), now down');
  await world.pass(MINUTE);
  expect(world.titles().slice(2)).toEqual(stayedDown(4, 6));
  expect(textAt(world, 2)).toContain('It did not recover. That outage has its own message below.');
  expect(textAt(world, 3)).toContain(`Since: at ${downMs}`);
  expect(textAt(world, 3)).toContain('Acknowledged by: Ada');
  await world.see({ shop: 'UP' });
  expect(world.lines().slice(2)).toEqual([[], ['Name of shop recovered after 3 min']]);
});

test('a monitor that goes down and up is no longer watched when it is removed', async () => {
  const world = await openShop();
  await world.see({ other: 'UP', third: 'UP' });
  await flap(world, 3);
  await world.see({ shop: 'DOWN' });
  await world.see({ shop: undefined });
  // The end is shown without pacing.
  await world.see({});
  expect(world.titles()[2]).toBe('Name of shop is no longer listed');
  await world.pass(HOUR);
  expect(world.slack.messages).toHaveLength(3);
});

test('a monitor that goes down and up is held back while it is snoozed, and reported as flapping afterwards', async () => {
  const world = await openShop();
  await flap(world, 1);
  await world.see({ shop: 'DOWN' });
  const untilMs = world.nowMs() + HOUR;
  await world.incidents().mark(incidentOf(world).id, 'snoozed', () => ({ by: 'Ada', untilMs }));
  await world.see({ shop: 'UP' });
  await flap(world, 3);
  await world.pass(50 * MINUTE);
  expect(world.slack.messages).toHaveLength(2);
  await world.pass(5 * MINUTE);
  expect(world.titles()[2]).toBe('Name of shop was down 5 times in 7 min');
  expect(world.lines()[2]).toEqual([]);
});

test('a monitor that goes down and up is not calm because no poll came', async () => {
  const world = await openShop();
  await flap(world, 3);
  const watching = { known: [], isLearned: true, shortLists: 0, alerts: world.alerts() };
  const monitor = monitorOf('shop', 'UP');
  const nowMs = world.nowMs() + HOUR;
  const around = { nowMs, newId: () => 'new', placesFor: () => [] };
  const calm = { known: [{ id: 'shop', status: 'UP', missing: 0 }] };
  const isOpen = (unseenFromMs?: number) =>
    applyPoll({ ...watching, ...calm }, [monitor], {
      ...around,
      unseenFromMs,
    }).watching.alerts.some((alert) => !('endedAtMs' in alert));
  expect([isOpen(), isOpen(nowMs - HOUR)]).toEqual([false, true]);
});

test('a monitor that goes down and up shows among those that went down with it', async () => {
  const world = await openDownTogether();
  await world.pass(MINUTE);
  expect(world.titles()[2]).toBe('3 services are down');
  expect(textAt(world, 2)).toContain(
    'Name of shop: flapping (5 changes in 4 minutes), down since 12:04 UTC; muted until it stays down or is stable for 15 minutes',
  );
  await world.see({ a: 'UP', b: 'UP', shop: 'UP' });
  await world.pass(MINUTE);
  expect(world.titles()[2]).toBe('1 of 3 services is still flapping');
  await world.pass(15 * MINUTE);
  expect(world.titles()[2]).toMatch(/^3 services recovered after /);
  expect(textAt(world, 2)).toContain('Name of shop: stable again: down 3 times in 5 minutes');
  expect(world.lines()[2]).toEqual([expect.stringMatching(/^3 services recovered after /)]);
});

test('a monitor that goes down and up and stays down is never said to have recovered with the others', async () => {
  const world = await openDownTogether();
  await world.see({ a: 'UP', b: 'UP' });
  await world.pass(3 * MINUTE);
  expect(world.titles().slice(2)).toEqual([
    '3 services: 2 recovered, 1 not up',
    'Name of shop is down',
  ]);
});

test('a monitor that goes down and up and stays down is reported anew, though others stay down with it', async () => {
  const world = await openDownTogether();
  await world.pass(3 * MINUTE);
  expect(world.titles().slice(2)).toEqual([
    '2 of 3 services are still down',
    'Name of shop is down',
  ]);
  expect(textAt(world, 2)).toContain(
    'Name of shop: was down 3 times in 4 minutes, then stayed down, see below',
  );
});

test.each([
  { intervalSeconds: 10, minutes: 2 },
  { intervalSeconds: 60, minutes: 3 },
  { intervalSeconds: 100, minutes: 5 },
  { intervalSeconds: 3600, minutes: 15 },
])(
  'a monitor that goes down and up and stays down is an alert after $minutes minutes when it is checked every $intervalSeconds seconds',
  async ({ intervalSeconds, minutes }) => {
    const world = await openDownAgain({ intervalSeconds });
    await world.pass((minutes - 1) * MINUTE);
    expect(world.slack.messages).toHaveLength(3);
    await world.pass(MINUTE);
    expect(world.titles()[3]).toBe('Name of shop is down');
  },
);

test.each(['DEGRADED', 'MAINTENANCE'])(
  'a monitor that goes down and up and was %s meanwhile did not stay down',
  async (status) => {
    const world = await openDownAgain();
    await world.pass(2 * MINUTE);
    await world.see({ shop: status });
    await world.see({ shop: 'DOWN' });
    await world.pass(2 * MINUTE);
    expect(world.slack.messages).toHaveLength(3);
    await world.pass(MINUTE);
    expect(world.titles()[3]).toBe('Name of shop is down');
  },
);

test('a monitor that goes down and up and stays down mentions whom an alert mentions, and nobody while it is snoozed', async () => {
  const world = await openShop();
  await world.set({ mention: { id: 'S1', name: '@oncall' } });
  await flap(world, 3);
  await world.see({ shop: 'DOWN' });
  await world.pass(3 * MINUTE);
  expect(world.slack.messages[3]?.card).toMatchObject({ tone: 'bad', mention: 'S1' });
  expect(world.slack.messages[3]?.card.actions?.map(({ label }) => label)).toEqual([
    ...['Acknowledge', 'Snooze 1 h', 'Check now', 'Ask why'],
  ]);

  const snoozed = await openDownAgain();
  const untilMs = snoozed.nowMs() + HOUR;
  await snoozed.incidents().mark(incidentOf(snoozed).id, 'snoozed', () => ({ by: 'Ada', untilMs }));
  await snoozed.pass(59 * MINUTE);
  expect(snoozed.slack.messages).toHaveLength(3);
  await snoozed.pass(MINUTE);
  expect(snoozed.titles()[3]).toBe('Name of shop is down');
});

test('a monitor that goes down and up and stays down in quiet hours is reported when they are over', async () => {
  const world = await openDownAgain();
  await world.set({ quiet: { fromMinute: 12 * 60, toMinute: 13 * 60, zone: 'UTC' } });
  await world.pass(53 * MINUTE);
  expect(world.slack.messages).toHaveLength(3);
  await world.pass(MINUTE);
  expect(world.titles()[3]).toMatch(/: Name of shop is down$/);
});

// Kills at odd steps come after what the step does, at even ones before it.
test.each(Array.from({ length: 12 }, (_, at) => at + 1).filter((step) => long || step % 3 === 1))(
  'a monitor that goes down and up is told the same when the program is killed at step %i',
  async (step) => {
    const world = await openShop();
    await flap(world, 2);
    await world.see({ shop: 'DOWN' });
    world.kill(step);
    await world.pass(MINUTE);
    await world.see({ shop: 'UP' });
    await world.pass(16 * MINUTE);
    const end = 'Name of shop is stable again (down 3 times in 5 min)';
    expect(world.titles().slice(2)).toEqual([end]);
    expect(world.lines()[2]).toEqual([end]);
  },
);

function incidentOf(world: AlertWorld): Incident {
  const open = world
    .alerts()
    .find((alert): alert is Incident => alert.kind === 'incident' && alert.endedAtMs === undefined);
  if (!open) throw new Error('No incident goes on.');
  return open;
}

const monitorOf = (id: string, status: string): Monitor => ({
  ...{ id, name: id, check_type: 'HTTP', target: `https://${id}.example`, status },
  interval_seconds: 60,
});

test('maintenance posts nothing for a monitor that is up before and after', async () => {
  const world = await openShop();
  await world.see({ shop: 'MAINTENANCE' });
  await world.pass(HOUR);
  await world.see({ shop: 'UP' });
  await world.pass(HOUR);
  expect(world.slack.messages).toEqual([]);
});

test('maintenance shows in an outage, without a line', async () => {
  const world = await openShop();
  await world.see({ shop: 'DOWN' });
  await world.see({ shop: 'MAINTENANCE' });
  await world.pass(HOUR);
  expect(world.titles()).toEqual(['Name of shop is in maintenance']);
  expect(world.lines()).toEqual([[]]);
});

test('maintenance does not excuse a monitor that is down after it', async () => {
  const world = await openShop();
  await world.see({ shop: 'MAINTENANCE' });
  await world.pass(HOUR);
  await world.see({ shop: 'DOWN' });
  expect(world.titles()).toEqual(['Name of shop is down']);
});

test.each([
  ['MAINTENANCE', 'in maintenance'],
  ['paused', 'paused'],
])('maintenance ends the noise: %s', async (status, shown) => {
  const world = await openShop();
  await flap(world, 2);
  await world.see({ shop: 'DOWN' });
  await world.see({ shop: status });
  await world.pass(MINUTE);
  expect(world.titles()[2]).toBe(`Name of shop is ${shown}`);
  await world.pass(15 * MINUTE);
  expect(world.titles()[2]).toBe(`Name of shop is ${shown}`);
  expect(world.lines()[2]).toEqual([]);
  await world.see({ shop: 'UP' });
  expect(world.titles()[2]).toMatch(/^Name of shop recovered after /);
  expect(world.slack.messages).toHaveLength(3);
  await world.see({ shop: status });
  await world.see({ shop: 'DOWN' });
  expect(world.titles()[3]).toBe('Name of shop is down');
});

describe('a monitor whose service gives the start of its outage', () => {
  /** Looks at minutes, at a shop that is down from some of them on, as the service says; the third time it flaps. */
  function openWatch(intervalSeconds: number) {
    let watching: Watching | undefined;
    let made = 0;
    const nowMs = (minute: number) => Date.parse(startsAt) + minute * MINUTE;
    function pollAt(minute: number, status: string, saidMinute = minute) {
      const monitor = {
        ...monitorOf('shop', status),
        interval_seconds: intervalSeconds,
        status_changed_at: new Date(nowMs(saidMinute)).toISOString(),
      };
      const around = {
        nowMs: nowMs(minute),
        newId: () => `i${++made}`,
        placesFor: () => ['slack:C1'],
      };
      ({ watching } = applyPoll(watching, [monitor], around));
      const last = watching.alerts.findLast((alert) => alert.kind === 'incident');
      const isAgain = last?.deliveries.some(({ earlier }) => earlier) ? ', told twice' : '';
      // Marks every message as delivered.
      const alerts = watching.alerts.map((alert) => ({
        ...alert,
        deliveries: alert.deliveries.map((one) => ({
          ...{ ...one, attempted: true, deliveredVersion: alert.version, shownOpen: true },
          posted: { message: one.postId, thread: one.postId },
        })),
      }));
      watching = { ...watching, alerts };
      const isOn = last?.flapping && last.endedAtMs === undefined;
      return `${isOn ? 'flaps' : last?.status}${isAgain}`;
    }
    for (const minute of [0, 2]) {
      pollAt(minute, 'UP');
      pollAt(minute + 1, 'DOWN');
    }
    pollAt(4, 'UP');
    return pollAt;
  }

  test('is reported at once when it has been down for three checks, or for a quarter of an hour', () => {
    expect(openWatch(60)(7, 'DOWN', 5)).toBe('flaps');
    expect(openWatch(60)(8, 'DOWN', 5)).toBe('DOWN');
    expect(openWatch(3600)(19, 'DOWN', 5)).toBe('flaps');
    expect(openWatch(3600)(20, 'DOWN', 5)).toBe('DOWN');
  });

  test('is reported after a quarter of an hour when the clock of the service is ahead', () => {
    const pollAt = openWatch(60);
    expect(pollAt(5, 'DOWN', 100)).toBe('flaps');
    expect(pollAt(19, 'DOWN', 100)).toBe('flaps');
    expect(pollAt(20, 'DOWN', 100)).toBe('DOWN');
  });

  test('may have been up between two polls', () => {
    const pollAt = openWatch(60);
    expect(pollAt(5, 'DOWN')).toBe('flaps');
    expect(pollAt(8, 'DOWN', 7)).toBe('flaps');
    expect(pollAt(10, 'DOWN', 7)).toBe('DOWN');
  });
});
