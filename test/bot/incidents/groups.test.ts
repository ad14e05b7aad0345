import { describe, expect, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { grouped, newGroup, withMembers } from '../../../src/bot/incidents/groups.ts';
import { createIncidents } from '../../../src/bot/incidents/incident-service.ts';
import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import { withoutExpiredSnoozes } from '../../../src/bot/incidents/snoozes.ts';
import type { Incident } from '../../../src/bot/incidents/watch-state.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const OPS = { platform: 'slack', channel: 'C1' } as const;
const DEV = { platform: 'slack', channel: 'C2' } as const;
const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Everything from the poller to the platform, with a clock that goes on when the test says. */
async function openWorld(places: readonly (typeof OPS | typeof DEV)[] = [OPS]) {
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
  const state = await openWatchState(store);
  const slack = createScriptedPlatform('slack');
  const statuses = new Map<string, string>();
  const clock = createHandClock(1_800_000_000_000);
  let made = 0;
  const sender = createSender({ state, alertPlaces: places, clock, random: () => 0.5, log });
  sender.start([slack]);

  /** Everything is told that may be told now. */
  const idle = () =>
    eventually(() =>
      (state.current()?.alerts ?? []).every((alert) =>
        alert.deliveries.every(
          ({ told, heldUntilMs = 0 }) => told === alert.version || heldUntilMs > clock.nowMs(),
        ),
      ),
    );
  async function pollNow() {
    const monitors = [...statuses].map(
      ([id, status]): Monitor => ({
        ...{
          id,
          name: `Name of ${id}`,
          check_type: 'HTTP',
          target: `https://${id}.example`,
          status,
        },
        ...(status === 'DOWN' && { status_reason: `answered 503 to ${id}` }),
        interval_seconds: 60,
      }),
    );
    await state.update(
      (watching) =>
        applyPoll(watching, monitors, {
          nowMs: clock.nowMs(),
          newId: () => `id-${++made}`,
          placesFor: () => places.map(placeKey),
        }).watching,
    );
    sender.wake();
  }
  const world = {
    slack,
    state,
    incidents: createIncidents({ state, nowMs: clock.nowMs, onChange: sender.wake }),
    /** Sets statuses and looks. */
    async see(changes: Record<string, string>) {
      for (const [id, status] of Object.entries(changes)) statuses.set(id, status);
      await pollNow();
      await idle();
    },
    async remove(id: string) {
      statuses.delete(id);
      await pollNow();
      await idle();
    },
    /** Lets time go by, with a poll every five seconds; in some minutes, with fewer unless full counts are wanted. */
    async pass(ms: number) {
      const everyMs = !long && ms > MINUTE ? 15 * SECOND : 5 * SECOND;
      for (let left = ms; left > 0; left -= everyMs) {
        clock.goOn(Math.min(left, everyMs));
        await pollNow();
        await idle();
      }
    },
    titles: () => slack.messages.map(({ card }) => card.title),
    idle,
    nowMs: () => clock.nowMs(),
    /** As the watch does before each poll. */
    async endOverSnoozes() {
      await state.update((watching) => withoutExpiredSnoozes(watching, clock.nowMs()));
      sender.wake();
      await idle();
    },
    async close() {
      await sender.stop();
      await store.close();
    },
  };
  return world;
}

const labelsOf = (message: { card: Card } | undefined) =>
  message?.card.actions?.map(({ label }) => label);

const all = (count: number, status: string, from = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${from + at}`, status]));

describe('outages that begin together', () => {
  test('500 over half a minute are two messages in each channel, the first at once', async () => {
    const world = await openWorld([OPS, DEV]);
    await world.see(all(500, 'UP'));
    await world.see(all(1, 'DOWN'));
    expect(world.titles()).toEqual(['Name of m0 is DOWN', 'Name of m0 is DOWN']);
    for (let from = 1; from < 500; from += 100) {
      await world.pass(5 * SECOND);
      await world.see(all(Math.min(100, 500 - from), 'DOWN', from));
    }
    await world.pass(2 * MINUTE);
    expect(world.titles()).toEqual([
      ...['Name of m0 is DOWN', 'Name of m0 is DOWN'],
      ...['499 monitors are DOWN', '499 monitors are DOWN'],
    ]);
    const card = world.slack.messages[2]?.card;
    expect(card && textOf(card)).toMatch(/Name of m1: DOWN: answered 503 to m1\n/);
    expect(card && textOf(card)).toContain('… and 479 more. /monitor list shows all.');
    await world.see(all(500, 'UP'));
    await world.pass(2 * MINUTE);
    expect(world.titles().slice(2)).toEqual(['499 monitors recovered', '499 monitors recovered']);
    expect(world.slack.messages).toHaveLength(4);
    await world.close();
  });

  test('a group updates its count only now and then, and shows its end at once', async () => {
    const world = await openWorld();
    await world.see(all(10, 'UP'));
    await world.see(all(3, 'DOWN'));
    const shown = () => world.slack.messages[0]?.titles ?? [];
    expect(shown()).toEqual(['3 monitors are DOWN']);
    await world.see(all(1, 'DOWN', 3));
    expect(shown()).toHaveLength(1);
    await world.pass(15 * SECOND);
    expect(shown().at(-1)).toBe('4 monitors are DOWN');
    // Something changes at every poll of ten minutes.
    for (let at = 0; at < 120; at += 1) {
      await world.see({ m3: at % 2 ? 'DOWN' : 'UP' });
      await world.pass(5 * SECOND);
    }
    expect(shown().length).toBeGreaterThan(5);
    // Every 40 seconds while one of it flaps.
    expect(shown().length).toBeLessThanOrEqual(2 + 15);
    await world.see(all(10, 'UP'));
    await world.pass(MINUTE);
    expect(shown().at(-1)).toBe('1 of 4 monitors goes down and up');
    await world.pass(15 * MINUTE);
    expect(shown().at(-1)).toBe('4 monitors recovered');
    expect(world.slack.messages).toHaveLength(1);
    const card = world.slack.messages[0]?.card;
    expect(card && textOf(card)).toMatch(/Name of m3: calm again: down 61 times in 10 minutes/);
    await world.close();
  });

  test('a monitor that stays down after flapping is not added to a group that shows it already', () => {
    const nowMs = 1_800_000_000_000;
    const around = { nowMs, newId: () => 'new' };
    const stayed = (id: string, monitorId: string): Incident => ({
      ...{ kind: 'incident', id, version: 1, openedAtMs: nowMs, startedAtMs: nowMs },
      ...{ monitorId, name: monitorId, target: 'x', checkType: 'HTTP', status: 'DOWN' },
      deliveries: [newDelivery('slack:C1', id)],
      flapped: { fromMs: 0, downs: 3, isDown: true, changedAtMs: 0, seenAtMs: 0, counted: [] },
    });
    const told = { ...newDelivery('slack:C1', 'g'), attempted: true, told: 1 };
    const empty = { ...newGroup('slack:C1', { nowMs: nowMs - MINUTE, newId: () => 'g' }) };
    const group = withMembers(
      { ...empty, stayed: true, deliveries: [{ ...told, posted: { message: 'g', thread: 'g' } }] },
      [stayed('a1', 'a')],
      nowMs - MINUTE,
    );
    const ids = (one: Incident) =>
      grouped([group], [one], around).flatMap((alert) =>
        alert.kind === 'group' ? [alert.members.map(({ incidentId }) => incidentId)] : [],
      );
    expect(ids(stayed('b1', 'b'))).toEqual([['a1', 'b1']]);
    expect(ids(stayed('a2', 'a'))).toEqual([['a1'], ['a2']]);
  });

  test('a lone outage has a message of its own, and one long after a storm too', async () => {
    const world = await openWorld();
    await world.see(all(10, 'UP'));
    await world.see({ m0: 'DOWN' });
    await world.pass(2 * MINUTE);
    await world.see({ m1: 'DOWN' });
    expect(world.titles()).toEqual(['Name of m0 is DOWN', 'Name of m1 is DOWN']);
    expect(world.state.current()?.alerts.map(({ kind }) => kind)).toEqual(['incident', 'incident']);
    await world.pass(2 * MINUTE);
    await world.see({ m2: 'DOWN', m3: 'DOWN' });
    // The storm goes on, but is no longer joined after five minutes.
    await world.pass(6 * MINUTE);
    await world.see({ m4: 'DOWN' });
    expect(world.titles().slice(2)).toEqual(['2 monitors are DOWN', 'Name of m4 is DOWN']);
    await world.close();
  });

  test('a second outage soon after the first is alone in its message until a third comes', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see({ m0: 'DOWN' });
    await world.pass(10 * SECOND);
    await world.see({ m1: 'DOWN' });
    expect(world.titles()).toEqual(['Name of m0 is DOWN', 'Name of m1 is DOWN']);
    await world.pass(20 * SECOND);
    await world.see({ m2: 'DOWN' });
    await world.pass(MINUTE);
    expect(world.titles()).toEqual(['Name of m0 is DOWN', '2 monitors are DOWN']);
    await world.close();
  });

  test('a monitor that is removed while down is shown as no longer watched, never as recovered', async () => {
    const world = await openWorld();
    await world.see(all(6, 'UP'));
    await world.see(all(2, 'DOWN'));
    await world.see({ m0: 'DEGRADED', m1: 'DEGRADED' });
    await world.pass(15 * SECOND);
    expect(world.titles()).toEqual(['2 of 2 monitors are not UP']);
    await world.remove('m0');
    await world.see({ m1: 'UP' });
    await world.pass(10 * SECOND);
    expect(world.titles()).toEqual(['1 monitor recovered, 1 no longer watched']);
    // One soon after others is alone in a group of its own.
    await world.see({ m2: 'DOWN' });
    await world.remove('m2');
    await world.pass(10 * SECOND);
    expect(world.state.current()?.alerts.filter(({ kind }) => kind === 'group')).toHaveLength(2);
    expect(world.titles().at(-1)).toBe('Name of m2 is no longer watched');
    await world.close();
  });

  test('a button under them is for all of them', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see(all(3, 'DOWN'));
    await world.see({ m2: 'UP' });
    const id = world.slack.messages[0]?.card.actions?.[0]?.values.incident ?? '';
    expect(world.incidents.get(id)).toHaveLength(3);
    await world.incidents.mark(id, 'acknowledged', (atMs) => ({ by: 'Ada', atMs }));
    await world.pass(MINUTE);
    const card = world.slack.messages[0]?.card;
    expect(card && textOf(card).match(/acknowledged by Ada/g)).toHaveLength(2);
    expect(card?.actions?.map(({ label }) => label)).toEqual(['Snooze 1 h', 'Ask why']);
    await world.close();
  });

  test('a snooze under them is for those that stand there, and shows at once wherever they stand', async () => {
    const world = await openWorld([OPS, DEV]);
    await world.see(all(5, 'UP'));
    await world.see(all(3, 'DOWN'));
    const [ops, dev] = world.slack.messages;
    const id = ops?.card.actions?.[0]?.values.incident ?? '';
    const untilMs = world.nowMs() + 3_600_000;
    await world.incidents.mark(id, 'snoozed', () => ({ by: 'Ada', untilMs }));
    await world.idle();
    for (const message of [ops, dev]) {
      expect(message && textOf(message.card)).toContain(`Snoozed by Ada until: at ${untilMs}`);
      expect(labelsOf(message)).toEqual(['Acknowledge', 'End snooze', 'Ask why']);
    }
    // Whoever joins later is not snoozed, and says so by the count.
    await world.see({ m3: 'DOWN' });
    await world.pass(MINUTE);
    expect(ops && textOf(ops.card)).toContain(`Snoozed by Ada (3 of 4) until: at ${untilMs}`);
    expect(labelsOf(ops)).toEqual(['Acknowledge', 'Snooze 1 h', 'End snooze', 'Ask why']);
    await world.incidents.mark(id, 'snoozed', () => ({ by: 'Bob', untilMs: untilMs + 1 }));
    await world.idle();
    expect(ops && textOf(ops.card)).toContain(`Snoozed by Bob (1 of 4) until: at ${untilMs + 1}`);
    expect(await world.incidents.endSnoozes(id)).toBe(true);
    await world.idle();
    expect(world.slack.messages).toHaveLength(2);
    for (const message of [ops, dev]) {
      expect(message && textOf(message.card)).not.toContain('Snoozed');
      expect(labelsOf(message)).toEqual(['Acknowledge', 'Snooze 1 h', 'Ask why']);
    }
    // It goes on when they are over, and can be ended then.
    await world.incidents.mark(id, 'snoozed', () => ({ by: 'Ada', untilMs }));
    await world.see(all(4, 'UP'));
    expect(ops && textOf(ops.card)).toContain(`Snoozed by Ada until: at ${untilMs}`);
    expect(labelsOf(ops)).toEqual(['End snooze', 'Summarise']);
    expect(await world.incidents.endSnoozes(id)).toBe(true);
    await world.idle();
    expect(labelsOf(ops)).toEqual(['Summarise']);
    await world.close();
  });

  test('a snooze that is over stands in no message any more, whatever else changes', async () => {
    const world = await openWorld([OPS, DEV]);
    await world.see(all(4, 'UP'));
    await world.see({ m3: 'DOWN' });
    await world.pass(6 * MINUTE);
    await world.see(all(2, 'DOWN'));
    const untilMs = world.nowMs() + 60 * MINUTE;
    const ids = new Set(world.slack.messages.map(({ card }) => card.actions?.[0]?.values.incident));
    for (const id of ids) {
      await world.incidents.mark(id ?? '', 'snoozed', () => ({ by: 'Ada', untilMs }));
    }
    await world.idle();
    const texts = () => world.slack.messages.map(({ card }) => textOf(card));
    expect(texts().filter((text) => text.includes('Snoozed by Ada'))).toHaveLength(4);
    await world.see({ m3: 'UP' });
    await world.pass(59 * MINUTE);
    await world.endOverSnoozes();
    expect(texts().filter((text) => text.includes('Snoozed by Ada'))).toHaveLength(4);
    const posted = world.slack.messages.length;
    await world.pass(MINUTE);
    await world.endOverSnoozes();
    await world.pass(MINUTE);
    expect(texts().filter((text) => text.includes('Snoozed'))).toEqual([]);
    expect(world.slack.messages).toHaveLength(posted);
    await world.close();
  });

  test('a lone outage is posted at once although a group waits for its turn', async () => {
    const world = await openWorld();
    await world.see(all(5, 'UP'));
    await world.see({ m0: 'DOWN', m1: 'DOWN' });
    await world.pass(6 * MINUTE);
    // The group has something to say, and waits.
    await world.see({ m0: 'UP' });
    await eventually(() => world.slack.messages[0]?.titles.length === 2);
    await world.see({ m0: 'DOWN' });
    await world.see({ m0: 'UP' });
    await world.see({ m4: 'DOWN' });
    expect(world.titles()).toContain('Name of m4 is DOWN');
    await world.close();
  });
});
