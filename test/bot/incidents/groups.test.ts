import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { nextFor } from '../../../src/bot/incidents/delivery.ts';
import { createIncidents } from '../../../src/bot/incidents/incident-service.ts';
import { withoutExpiredSnoozes } from '../../../src/bot/incidents/snoozes.ts';
import { applyReported } from '../../../src/bot/intake/apply-reported.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const OPS = { platform: 'slack', channel: 'C1' } as const;
const DEV = { platform: 'slack', channel: 'C2' } as const;
const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Everything from the poller to the platform, with a hand-driven clock. */
async function openWorld(places: readonly (typeof OPS | typeof DEV)[] = [OPS]) {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  const state = await openWatchState(store);
  const slack = createScriptedPlatform('slack');
  const statuses = new Map<string, string>();
  const clock = createHandClock(1_800_000_000_000);
  let made = 0;
  const sender = createSender({ state, alertPlaces: places, clock, random: () => 0.5, log });
  sender.start([slack]);

  /** Sends everything that is due. */
  const idle = () =>
    eventually(() =>
      places.every((place) => {
        const work = nextFor(state.current(), placeKey(place), clock.nowMs());
        return !work || work.delivery.nextTryAtMs > clock.nowMs();
      }),
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
    /** Another system reports an alert. */
    async report(name: string, intake = 'i1') {
      const said = { key: name, name, state: 'firing', severity: 'critical' } as const;
      const delivery = {
        intake: { id: intake, name: intake, place: placeKey(OPS) },
        alerts: [{ ...said, facts: [{ label: 'host', value: 'db-1' }], links: [] }],
        truncated: 0,
      };
      const around = { nowMs: clock.nowMs(), newId: () => `id-${++made}` };
      await state.update((watching) => applyReported(watching, [delivery], around).watching);
      sender.wake();
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
    /** The watch does this before each poll. */
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
    expect(world.titles()).toEqual(['Name of m0 is down', 'Name of m0 is down']);
    for (let from = 1; from < 500; from += 100) {
      await world.pass(5 * SECOND);
      await world.see(all(Math.min(100, 500 - from), 'DOWN', from));
    }
    await world.pass(2 * MINUTE);
    expect(world.titles()).toEqual([
      ...['Name of m0 is down', 'Name of m0 is down'],
      ...['499 services are down', '499 services are down'],
    ]);
    const card = world.slack.messages[2]?.card;
    expect(card && textOf(card)).toMatch(/Name of m1: down: answered 503 to m1\n/);
    expect(card && textOf(card)).toContain('… and 479 more. /monitor list shows all.');
    await world.see(all(500, 'UP'));
    await world.pass(2 * MINUTE);
    expect(world.titles().slice(2)).toEqual([
      expect.stringMatching(/^499 services recovered after /),
      expect.stringMatching(/^499 services recovered after /),
    ]);
    expect(world.slack.messages).toHaveLength(4);
    await world.close();
  });

  test('a group updates its count only now and then, and shows its end at once', async () => {
    const world = await openWorld();
    await world.see(all(10, 'UP'));
    await world.see(all(3, 'DOWN'));
    const shown = () => world.slack.messages[0]?.titles ?? [];
    expect(shown()).toEqual(['3 services are down']);
    await world.see(all(1, 'DOWN', 3));
    expect(shown()).toHaveLength(1);
    await world.pass(15 * SECOND);
    expect(shown().at(-1)).toBe('4 services are down');
    // Something changes at every poll for ten minutes.
    for (let at = 0; at < 120; at += 1) {
      await world.see({ m3: at % 2 ? 'DOWN' : 'UP' });
      await world.pass(5 * SECOND);
    }
    expect(shown().length).toBeGreaterThan(5);
    // Every 40 seconds while one of it flaps.
    expect(shown().length).toBeLessThanOrEqual(2 + 15);
    await world.see(all(10, 'UP'));
    await world.pass(MINUTE);
    expect(shown().at(-1)).toBe('1 of 4 services is still flapping');
    await world.pass(15 * MINUTE);
    expect(shown().at(-1)).toMatch(/^4 services recovered after /);
    expect(world.slack.messages).toHaveLength(1);
    const card = world.slack.messages[0]?.card;
    expect(card && textOf(card)).toMatch(/Name of m3: stable again: down 61 times in 10 minutes/);
    await world.close();
  });

  test('a lone outage has a message of its own, and one long after a storm too', async () => {
    const world = await openWorld();
    await world.see(all(10, 'UP'));
    await world.see({ m0: 'DOWN' });
    await world.pass(2 * MINUTE);
    await world.see({ m1: 'DOWN' });
    expect(world.titles()).toEqual(['Name of m0 is down', 'Name of m1 is down']);
    expect(world.state.current()?.alerts.map(({ kind }) => kind)).toEqual(['incident', 'incident']);
    await world.pass(2 * MINUTE);
    await world.see({ m2: 'DOWN', m3: 'DOWN' });
    // The storm is ongoing, but is joined for a minute only.
    await world.pass(MINUTE + 5 * SECOND);
    await world.see({ m4: 'DOWN' });
    expect(world.titles().slice(2)).toEqual(['2 services are down', 'Name of m4 is down']);
    await world.close();
  });

  test('a monitor of a group that is down again after a minute is a new message', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see(all(3, 'DOWN'));
    await world.see({ m0: 'UP' });
    await world.pass(MINUTE + 5 * SECOND);
    await world.see({ m0: 'DOWN' });
    expect(world.titles()).toEqual(['2 of 3 services are still down', 'Name of m0 is down']);
    await world.close();
  });

  test('an outage that is alone in its message has all its facts and buttons there', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see({ m0: 'DOWN' });
    await world.pass(20 * SECOND);
    await world.see({ m1: 'DOWN' });
    const [alone, second] = world.slack.messages;
    const labels = ({ parts }: Card) =>
      parts.flatMap((part) => (part.kind === 'facts' ? part.facts.map(({ label }) => label) : []));
    expect(alone && labels(alone.card)).toEqual(['Target', 'Since', 'Cause', 'Kind']);
    expect(second && labels(second.card)).toEqual(['Target', 'Since', 'Cause', 'Kind']);
    expect(labelsOf(second)).toEqual(labelsOf(alone));
    expect(second?.card.link?.url).toBe('https://m1.example/');
    await world.see({ m2: 'DOWN' });
    await world.pass(15 * SECOND);
    expect(second && labels(second.card)).toEqual(['Name of m1', 'Name of m2']);
    await world.close();
  });

  test('monitors and the alerts of each intake have messages of their own', async () => {
    const world = await openWorld();
    await world.see(all(5, 'UP'));
    await world.see(all(2, 'DOWN'));
    await world.report('Queue');
    await world.report('Disk');
    await world.report('Login', 'i2');
    await world.see({ m2: 'DOWN' });
    await world.pass(MINUTE);
    expect(world.titles()).toEqual([
      '3 services are down',
      'FIRING: Queue',
      'FIRING: Disk',
      'FIRING: Login',
    ]);
    const card = world.slack.messages[2]?.card;
    expect(card && textOf(card)).toContain('host: db-1');
    await world.close();
  });

  const history = fc.record({
    outages: fc.array(
      fc.record({
        afterSeconds: fc.constantFrom(0, 5, 5, 10, 20, 40, 60, 65, 100),
        count: fc.constantFrom(1, 1, 1, 2, 5),
        isReported: fc.constantFrom(false, false, false, true),
      }),
      { minLength: 2, maxLength: 12 },
    ),
    /** From when on, and for how long, the platform asks to wait. */
    limits: fc.array(fc.tuple(fc.nat(400), fc.constantFrom(5, 30, 100, 200)), { maxLength: 3 }),
  });

  test('every outage a minute after the last message is a new message, and those of a minute are two at most', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ outages, limits }) => {
        const world = await openWorld();
        await world.see(all(100, 'UP'));
        const startMs = world.nowMs();
        const isLimited = () =>
          limits.some(([from, length]) => {
            const seconds = (world.nowMs() - startMs) / SECOND;
            return from <= seconds && seconds < from + length;
          });
        world.slack.failWith(() =>
          isLimited()
            ? new DeliveryError('wait', { permanent: false, retryAfterMs: 5000 })
            : undefined,
        );
        const postedAtMs = new Map<string, number>();
        const note = () => {
          for (const { id } of world.slack.messages) {
            if (!postedAtMs.has(id)) postedAtMs.set(id, world.nowMs());
          }
        };
        const begun: Array<{ name: string; atMs: number; stream: string; lastMs: number }> = [];
        for (const [at, { afterSeconds, count, isReported }] of outages.entries()) {
          for (let left = afterSeconds; left > 0; left -= 5) {
            await world.pass(5 * SECOND);
            note();
          }
          const lastMs = Math.max(0, ...postedAtMs.values());
          const names = Array.from({ length: count }, (_, of) => `${at}-${of}`);
          const begin = { atMs: world.nowMs(), stream: isReported ? 'intake' : 'monitors', lastMs };
          if (isReported) for (const name of names) await world.report(`Name of ${name}`);
          else await world.see(Object.fromEntries(names.map((name) => [name, 'DOWN'])));
          begun.push(...names.map((name) => ({ ...begin, name: `Name of ${name}` })));
          note();
        }
        world.slack.failWith(undefined);
        await world.pass(10 * MINUTE);
        note();
        const messageOf = (name: string) =>
          world.slack.messages.find(
            ({ card }) =>
              textOf(card).includes(`${name}: `) || `${card.title} `.includes(`${name} `),
          )?.id ?? '';
        for (const { name, atMs, lastMs } of begun) {
          const posted = postedAtMs.get(messageOf(name)) ?? 0;
          expect({ name, isPosted: posted > 0 }).toEqual({ name, isPosted: true });
          if (atMs - lastMs <= MINUTE) continue;
          expect({ name, isNew: posted >= atMs }).toEqual({ name, isNew: true });
        }
        for (const { atMs, stream } of begun) {
          const within = begun.filter(
            (one) => one.stream === stream && one.atMs >= atMs && one.atMs - atMs <= MINUTE,
          );
          const messages = new Set(within.map(({ name }) => messageOf(name)));
          const posted = [...messages].filter((id) => (postedAtMs.get(id) ?? 0) >= atMs);
          expect(posted.length).toBeLessThanOrEqual(2);
        }
        await world.close();
      }),
      { numRuns: long ? 300 : 10 },
    );
  }, 600_000);

  test('a second outage soon after the first is alone in its message until a third comes', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see({ m0: 'DOWN' });
    await world.pass(10 * SECOND);
    await world.see({ m1: 'DOWN' });
    expect(world.titles()).toEqual(['Name of m0 is down', 'Name of m1 is down']);
    await world.pass(20 * SECOND);
    await world.see({ m2: 'DOWN' });
    await world.pass(MINUTE);
    expect(world.titles()).toEqual(['Name of m0 is down', '2 services are down']);
    await world.close();
  });

  test('a monitor that is removed while down is shown as no longer watched, never as recovered', async () => {
    const world = await openWorld();
    await world.see(all(6, 'UP'));
    await world.see(all(2, 'DOWN'));
    await world.see({ m0: 'DEGRADED', m1: 'DEGRADED' });
    await world.pass(15 * SECOND);
    expect(world.titles()).toEqual(['2 services are degraded']);
    await world.remove('m0');
    await world.see({ m1: 'UP' });
    await world.pass(10 * SECOND);
    expect(world.titles()).toEqual(['2 services: 1 recovered, 1 no longer listed']);
    // One soon after others is alone in a group of its own.
    await world.see({ m2: 'DOWN' });
    await world.remove('m2');
    await world.pass(10 * SECOND);
    expect(world.state.current()?.alerts.filter(({ kind }) => kind === 'group')).toHaveLength(2);
    expect(world.titles().at(-1)).toBe('Name of m2 is no longer listed');
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
    expect(world.titles()).toContain('Name of m4 is down');
    await world.close();
  });
});
