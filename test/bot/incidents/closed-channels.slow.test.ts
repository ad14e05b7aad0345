import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withMissed } from '../../../src/bot/incidents/closed-places.ts';
import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import {
  type AlertWorld,
  DEV,
  HOUR,
  MINUTE,
  OPS,
  openAlertWorld,
  SECOND,
} from '../../helpers/bot/alert-world.ts';
import { messagesOf } from '../../helpers/bot/messages-of-monitor.ts';
import type { PlatformCall } from '../../helpers/bot/scripted-platform.ts';
import { incident, NOTHING_WATCHED } from '../../helpers/bot/watch-changes.ts';
import { textOf } from '../../helpers/bot.ts';
import { long } from '../../helpers/long.ts';

const DAY = 24 * HOUR;

/**
 * Kinds of closed channels: an archived one refuses everything, one without permission to post refuses new messages,
 * one may refuse only edits.
 */
const REFUSALS = {
  all: () => true,
  new: ({ kind }: PlatformCall) => kind !== 'update',
  changes: ({ kind }: PlatformCall) => kind === 'update',
};

/** Monitors that are up, in a channel that can be closed. */
async function openWorld(
  given: { monitors?: number; places?: Parameters<typeof openAlertWorld>[0]['places'] } = {},
) {
  const { monitors = 4, places } = given;
  const world = await openAlertWorld({
    startsAt: '2026-06-01T09:00:00Z',
    places,
  });
  const refused: number[] = [];
  await world.see(
    Object.fromEntries(Array.from({ length: monitors }, (_, at) => [`m${at}`, 'UP'])),
  );
  return {
    ...world,
    /** When the channel refused something, in milliseconds of the world's clock. */
    refused,
    close(what: keyof typeof REFUSALS = 'all', { channel } = OPS as typeof OPS | typeof DEV) {
      world.slack.failWith((call) => {
        if (call.channel !== channel || !REFUSALS[what](call)) return undefined;
        refused.push(world.nowMs());
        return new DeliveryError('The channel is archived.', { permanent: true, closed: true });
      });
    },
    open: () => world.slack.failWith(undefined),
  };
}

/** One outage goes on when the channel is closed, and ends while it is; another begins then. */
async function endAndBegin(world: AlertWorld & { close(what?: keyof typeof REFUSALS): void }) {
  await world.see({ m0: 'DOWN' });
  await world.pass(10 * MINUTE);
  world.close();
  await world.see({ m1: 'DOWN' });
  await world.pass(10 * MINUTE);
  await world.see({ m0: 'UP' });
}

test.each(['all', 'new'] as const)(
  'a channel that was closed and is open again shows what is true by then, and is told what it missed and still goes on: %s refused',
  async (what) => {
    const world = await openWorld();
    await world.see({ m0: 'DOWN' });
    await world.pass(10 * MINUTE);
    world.close(what);
    await world.see({ m1: 'DOWN' });
    await world.pass(10 * MINUTE);
    await world.see({ m0: 'UP' });
    // An accepted message is sent at once.
    expect(world.titles()).toEqual([
      what === 'all' ? 'Name of m0 is down' : expect.stringMatching(/^Name of m0 recovered after /),
    ]);
    await world.pass(HOUR);
    world.open();
    await world.pass(10 * MINUTE);
    expect(world.titles()).toEqual([
      expect.stringMatching(/^Name of m0 recovered after /),
      'Name of m1 is down',
    ]);
    // Old news has no mention.
    expect(world.lines()).toEqual([[], []]);
    await world.see({ m1: 'UP' });
    await world.pass(MINUTE);
    expect(world.titles()).toEqual([
      expect.stringMatching(/^Name of m0 recovered after /),
      expect.stringMatching(/^Name of m1 recovered after /),
    ]);
    expect(world.lines()).toEqual([[], [expect.stringMatching(/^Name of m1 recovered after/)]]);
  },
);

test('a channel that was closed and is open again names in one message all that it missed and that goes on, and nothing that is over', async () => {
  const world = await openWorld({ monitors: 6 });
  await world.see({ m0: 'DOWN', m1: 'DOWN' });
  await world.pass(10 * MINUTE);
  world.close();
  for (const id of ['m2', 'm3', 'm4', 'm5']) {
    await world.see({ [id]: 'DOWN' });
    await world.pass(20 * MINUTE);
  }
  await world.see({ m0: 'UP', m3: 'UP' });
  await world.see({ m5: 'UP' });
  await world.see({ m5: 'DOWN' });
  await world.pass(20 * MINUTE);
  world.open();
  await world.pass(11 * MINUTE);
  expect(world.titles()).toEqual(['1 of 2 services is still down', '3 services are down']);
  const [, missed] = world.slack.messages;
  expect(missed?.titles).toEqual(['3 services are down']);
  const told = missed ? textOf(missed.card) : '';
  expect(told).toContain('Name of m2: down');
  expect(told).not.toContain('m3');
  expect(told).toContain('so some of this is late.');
  // The first of its two outages began and ended while the channel was closed.
  expect(told).not.toContain('2 times');
  await world.pass(HOUR);
  expect(world.slack.messages).toHaveLength(2);
  expect(world.lines()).toEqual([[], []]);
});

test('a channel that was closed and is open again gets a missed outage as any other, without those before it', async () => {
  const world = await openWorld();
  world.close();
  await world.see({ m0: 'DOWN' });
  await world.see({ m1: 'DOWN' });
  await world.pass(40 * MINUTE);
  await world.see({ m1: 'UP' });
  await world.pass(10 * MINUTE);
  await world.see({ m0: 'UP' });
  await world.pass(MINUTE);
  await world.see({ m0: 'DOWN' });
  world.open();
  await world.pass(11 * MINUTE);
  expect(world.titles()).toEqual(['Name of m0 is down']);
  const [message] = world.slack.messages;
  expect(message && textOf(message.card)).toContain('Target: https://m0.example');
  expect(message && textOf(message.card)).not.toContain('before');
});

test('a channel that was closed and is open again gets nothing when all outages are over', async () => {
  const world = await openWorld();
  world.close();
  await world.see({ m0: 'DOWN', m1: 'DOWN' });
  await world.pass(20 * MINUTE);
  await world.see({ m0: 'UP', m1: 'UP' });
  world.open();
  await world.pass(HOUR);
  expect(world.slack.messages).toEqual([]);
});

test('a channel that was closed and is open again gets a new outage within a minute, also when nothing tried it meanwhile', async () => {
  const world = await openWorld();
  world.close();
  await world.see({ m0: 'DOWN' });
  await world.pass(40 * MINUTE);
  world.open();
  await world.see({ m0: 'UP' });
  await world.see({ m1: 'DOWN' });
  await world.pass(MINUTE);
  expect(world.titles()).toEqual(['Name of m1 is down']);
});

test('a channel that was closed and is open again gets outages at once where only edits of its messages are refused', async () => {
  const world = await openWorld();
  await world.see({ m0: 'DOWN' });
  await world.pass(10 * MINUTE);
  world.close('changes');
  await world.see({ m0: 'UP' });
  await world.pass(10 * MINUTE);
  await world.see({ m1: 'DOWN' });
  expect(world.titles()).toEqual(['Name of m0 is down', 'Name of m1 is down']);
  world.open();
  await world.pass(10 * MINUTE);
  expect(world.titles()).toEqual([
    expect.stringMatching(/^Name of m0 recovered after /),
    'Name of m1 is down',
  ]);
});

test('a channel that was closed and is open again gets what it missed although edits of its messages stay refused', async () => {
  const world = await openWorld();
  await endAndBegin(world);
  await world.pass(10 * MINUTE);
  world.close('changes');
  await world.pass(20 * MINUTE);
  expect(world.titles()).toEqual(['Name of m0 is down', 'Name of m1 is down']);
});

test('a channel that was closed and is open again is reported in another channel only while it is closed', async () => {
  const world = await openWorld({ places: [OPS, DEV] });
  await endAndBegin(world);
  const titles = () => world.titles(DEV).filter((title) => title.startsWith('Alerts'));
  expect(titles()).toEqual(['Alerts do not reach slack:C1']);
  world.open();
  await world.pass(11 * MINUTE);
  expect(titles()).toEqual(['Alerts reach slack:C1 again']);
  world.close();
  await world.see({ m2: 'DOWN' });
  await world.pass(MINUTE);
  expect(titles()).toEqual(['Alerts do not reach slack:C1']);
  expect(world.lines().flat().join()).not.toContain('Alerts');
});

test.each(['all', 'new'] as const)(
  'a channel that is closed is tried now and then: %s refused',
  async (what) => {
    const world = await openWorld();
    await world.see({ m0: 'DOWN' });
    world.close(what);
    await world.see({ m0: 'UP', m1: 'DOWN' });
    for (let minute = 0; minute < 180; minute += 1) await world.pass(MINUTE);
    const [firstMs = 0] = world.refused;
    const minutes = world.refused.map((ms) => Math.round((ms - firstMs) / MINUTE));
    // First, a change and something new each show what the channel takes.
    const later = Array.from({ length: 17 }, (_, at) => 15 + 10 * (at + 1)).filter(
      (at) => at < 180,
    );
    const all = what === 'all' ? [0, 0, 1, 3, 7, 15] : [0, 1, 3, 7, 15, 25];
    expect(minutes.slice(0, 6)).toEqual(all);
    expect(minutes.length).toBeLessThanOrEqual(6 + later.length);
  },
);

test('a channel that is closed is not tried more than once a minute while monitors go down all the time', async () => {
  const world = await openWorld({ monitors: 40 });
  world.close();
  for (let at = 0; at < 120; at += 1) {
    await world.see({ [`m${at % 40}`]: 'DOWN', [`m${(at + 20) % 40}`]: 'UP' });
    await world.pass(15 * SECOND);
  }
  const gaps = world.refused.slice(1).map((ms, at) => ms - (world.refused[at] ?? 0));
  expect(gaps.filter((ms) => ms < MINUTE)).toEqual([]);
});

test('a channel that is closed is given up after thirty days', async () => {
  const world = await openWorld();
  await endAndBegin(world);
  await world.sleep(30 * DAY);
  world.open();
  await world.pass(20 * MINUTE);
  expect(world.titles()).toEqual(['Name of m0 is down']);
  await world.see({ m2: 'DOWN' });
  expect(world.titles()).toEqual(['Name of m0 is down', 'Name of m2 is down']);
});

test('a closed place keeps the newest 200 messages', () => {
  const nowMs = 1_800_000_000_000;
  const over = (at: number) => {
    const posted = { message: `${at}`, thread: `${at}` };
    const delivery = { ...newDelivery('slack:C1', `${at}`), posted, deliveredVersion: 1 };
    return { ...incident(`${at}`, 2), endedAtMs: nowMs, deliveries: [delivery] };
  };
  const closed = {
    ...{ place: 'slack:C1', sinceMs: nowMs, refused: ['change' as const], tries: 1 },
    ...{ triedAtMs: nowMs, nextTryAtMs: nowMs + MINUTE },
  };
  const alerts = Array.from({ length: 250 }, (_, at) => over(at));
  const watching = { ...NOTHING_WATCHED, alerts, closed: [closed] };
  const kept = withMissed(watching, 'slack:C1', { nowMs, newId: () => 'new' });
  const dead = kept.alerts.filter(({ deliveries }) => deliveries[0]?.dead !== undefined);
  expect(dead.map(({ id }) => Number(id))).toEqual(Array.from({ length: 50 }, (_, at) => at));
  expect(withMissed(kept, 'slack:C1', { nowMs, newId: () => 'new' })).toBe(kept);
});

test('a reopened channel gets what it missed in one message wherever the program is killed', async () => {
  const kills = Array.from({ length: long ? 40 : 7 }, (_, at) => (long ? at + 1 : 5 * at + 1));
  for (const kill of kills) {
    for (const when of ['closed', 'open']) {
      const world = await openWorld({ monitors: 5 });
      await world.see({ m0: 'DOWN' });
      await world.pass(10 * MINUTE);
      world.close();
      await world.see({ m1: 'DOWN' });
      await world.pass(10 * MINUTE);
      await world.see({ m0: 'UP', m2: 'DOWN', m3: 'DOWN' });
      if (when === 'closed') world.kill(kill);
      await world.pass(20 * MINUTE);
      await world.see({ m4: 'DOWN' });
      if (when === 'open') world.kill(kill);
      world.open();
      await world.pass(11 * MINUTE);
      expect({ kill, when, titles: world.titles() }).toEqual({
        ...{ kill, when },
        titles: [expect.stringMatching(/^Name of m0 recovered after /), '4 services are down'],
      });
    }
  }
});

test('a channel ends with the true status and gets nothing twice, whatever is closed and opened and whenever the program is killed', async () => {
  const step = fc.record({
    afterMs: fc.constantFrom(5 * SECOND, MINUTE, 4 * MINUTE, 16 * MINUTE),
    id: fc.constantFrom('m0', 'm1', 'm2', 'm3'),
    status: fc.constantFrom('UP', 'DOWN', 'DOWN'),
    turn: fc.constantFrom('', '', 'open', 'all', 'new', 'changes'),
    kill: fc.constantFrom(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
      const world = await openWorld();
      const down = new Set<string>();
      for (const { afterMs, id, status, turn, kill } of steps) {
        if (turn === 'open') world.open();
        else if (turn !== '') world.close(turn as keyof typeof REFUSALS);
        if (kill > 0) world.kill(kill);
        await world.pass(afterMs);
        if (status === 'DOWN') down.add(id);
        else down.delete(id);
        await world.see({ [id]: status });
      }
      world.open();
      // Flapping has ended by now.
      await world.pass(40 * MINUTE);
      const names = ['m0', 'm1', 'm2', 'm3'];
      const told = names.map((id) => ({
        id,
        down: messagesOf(world.slack, `Name of ${id}`).filter(({ isDown }) => isDown).length,
      }));
      expect(told).toEqual(names.map((id) => ({ id, down: down.has(id) ? 1 : 0 })));
      const footers = world.slack.messages.map(({ card }) => card.footer);
      expect(new Set(footers).size).toBe(footers.length);
    }),
    { numRuns: long ? 200 : 8 },
  );
});
