import { expect, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { nextFor } from '../../../src/bot/incidents/delivery.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { messagesOf } from '../../helpers/bot/messages-of-monitor.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const SLACK = { platform: 'slack', channel: 'C1' } as const;
const DISCORD = { platform: 'discord', channel: 'D1' } as const;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const LOOK_MS = 15 * SECOND;

const NAMES = Array.from({ length: 10 }, (_, at) => `shop${at}`);

/** The poller, the sender and two platforms, with a hand-driven clock. */
async function openWorld() {
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
  const state = await openWatchState(store);
  const [slack, discord] = [createScriptedPlatform('slack'), createScriptedPlatform('discord')];
  const statuses = new Map(NAMES.map((name) => [name, 'UP']));
  const clock = createHandClock(1_800_000_000_000);
  let made = 0;
  const places = [SLACK, DISCORD];
  const sender = createSender({ state, alertPlaces: places, clock, random: () => 0.5, log });
  sender.start([slack, discord]);

  const isTold = (place: typeof SLACK | typeof DISCORD) =>
    !nextFor(state.current(), placeKey(place), clock.nowMs());
  /** After a failure, Slack isn't tried again for a while. */
  const idle = () => eventually(() => isTold(DISCORD) && (isTold(SLACK) || clock.isAwaited()));
  async function pollNow() {
    const monitors = [...statuses].map(
      ([name, status]): Monitor => ({
        ...{ id: name, name, check_type: 'HTTP', target: `https://${name}.example`, status },
        interval_seconds: 60,
      }),
    );
    const around = {
      nowMs: clock.nowMs(),
      newId: () => `id-${++made}`,
      placesFor: () => places.map(placeKey),
    };
    await state.update((watching) => applyPoll(watching, monitors, around).watching);
    sender.wake();
    await idle();
  }
  await pollNow();
  return {
    slack,
    discord,
    state,
    set(names: readonly string[], status: 'UP' | 'DOWN') {
      for (const name of names) statuses.set(name, status);
    },
    /** Lets time go by, with a poll at the usual times. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= LOOK_MS) {
        clock.goOn(Math.min(left, LOOK_MS));
        await pollNow();
      }
    },
    goAway: () => slack.failWith(() => new DeliveryError('away', { permanent: false })),
    comeBack: () => slack.failWith(undefined),
    async close() {
      await sender.stop();
      await store.close();
    },
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** Outages per monitor. Twenty take an hour. */
const TIMES = long ? 20 : 8;

/** Time in which each goes down so often. */
const HOURS: Record<string, (world: World) => Promise<void>> = {
  async 'all together'(world) {
    for (let flap = 0; flap < TIMES; flap += 1) {
      world.set(NAMES, 'DOWN');
      await world.pass(MINUTE);
      world.set(NAMES, 'UP');
      await world.pass(2 * MINUTE);
    }
  },
  async 'one after another'(world) {
    // Each is down for as long as the next ones begin, so that never all are up.
    for (let step = 0; step < TIMES * NAMES.length; step += 1) {
      const [now, before] = [NAMES[step % 10] ?? '', NAMES[(step + 5) % 10] ?? ''];
      world.set([now], 'DOWN');
      if (step >= 5) world.set([before], 'UP');
      await world.pass(LOOK_MS);
    }
    world.set(NAMES, 'UP');
    await world.pass(LOOK_MS);
  },
  async 'in halves that change'(world) {
    for (let flap = 0; flap < 2 * TIMES; flap += 1) {
      const half = NAMES.filter(
        (_, at) => Math.floor(at / (1 + (Math.floor(flap / 2) % 3))) % 2 === flap % 2,
      );
      world.set(half, 'DOWN');
      await world.pass(45 * SECOND);
      world.set(half, 'UP');
      await world.pass(45 * SECOND);
    }
  },
};

test.each(Object.keys(HOURS).filter((how) => long || how === 'one after another'))(
  'a time without Slack, in which ten monitors go down many times each %s, is one true line a monitor',
  async (how) => {
    const world = await openWorld();
    world.goAway();
    await HOURS[how]?.(world);
    // Flapping has ended by now.
    await world.pass(16 * MINUTE);
    expect(world.slack.messages).toEqual([]);
    world.comeBack();
    await world.pass(3 * MINUTE);
    const told = NAMES.map((name) => ({
      name,
      said: messagesOf(world.slack, name).map(({ outages, isDown }) => ({ outages, isDown })),
    }));
    expect(told).toEqual(
      NAMES.map((name) => ({ name, said: [{ outages: TIMES, isDown: false }] })),
    );
    for (const { card, titles } of world.slack.messages) {
      // Nobody saw an outage, so nothing recovers.
      expect(new Set(titles)).toEqual(new Set([card.title]));
      expect(card.title).toMatch(/^(shop\d|\d+ services) (was|were) down/);
    }
    if (how === 'all together') expect(world.slack.messages).toHaveLength(1);
    await world.close();
  },
);
