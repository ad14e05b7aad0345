// The watch and the sender of the bot, looking at a service of the bench and telling a platform that takes everything in
// two places. Started by the bench with a port, a folder, what is measured, how many monitors change, how often, and
// `changes` where the service tells those; prints its readings.
import { pino } from 'pino';
import { createSender } from '../../src/bot/alerts/sender.ts';
import { createChannels } from '../../src/bot/channels/channels.ts';
import { isDelivered } from '../../src/bot/incidents/incidents.ts';
import type { WatchState } from '../../src/bot/incidents/watch-state.ts';
import { type Clock, systemClock } from '../../src/bot/shared/clock.ts';
import type { Place } from '../../src/bot/shared/place.ts';
import { openLastPoll } from '../../src/bot/watch/last-poll.ts';
import { createPoller } from '../../src/bot/watch/poller.ts';
import { openWatchState } from '../../src/bot/watch/watch-store.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { createScriptedPlatform } from '../../test/helpers/bot/scripted-platform.ts';
import { startReading } from './meter.ts';
import type { WatchReading } from './readings.ts';

/** Between two passes: outages that are further apart are not told together. */
const APART_MS = 3_600_000;
const POLL_MS = APART_MS;

const PLACES: Place[] = [
  { platform: 'slack', channel: 'C1' },
  { platform: 'discord', channel: 'D1' },
];

const [port, folder = '', what = '', changed, passes, by] = process.argv.slice(2);
/** Before the whole list is read again. */
const APART_WITH_CHANGES_MS = 30_000;
const apartMs = by === 'changes' ? APART_WITH_CHANGES_MS : APART_MS;
const baseUrl = `http://127.0.0.1:${port}`;
const log = pino({ level: 'warn' }, pino.destination(2));
const store = await openLowdbStore({ folder, log });
const state = toldState(await openWatchState(store));
const monitoring = createMonitoringClient({ baseUrl, apiKey: 'bench' });
let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const random = () => 0.5;
const sender = createSender({
  ...{ state, alertPlaces: PLACES, random, log },
  clock: { ...systemClock, nowMs },
});
const polls = gate();
const watch = createPoller({
  lastPoll: await openLastPoll(store, { pollMs: POLL_MS }),
  ...{ monitoring, state, channels: createChannels(store), alertPlaces: PLACES, random, log },
  pollMs: POLL_MS,
  clock: { nowMs, pause: polls.pause },
  onChange: sender.wake,
});

sender.start(PLACES.map(({ platform }) => createScriptedPlatform(platform)));
const readings = what === 'first' ? [await firstPoll()] : await laterPolls();
process.stdout.write(`${JSON.stringify(readings)}\n`);
await Promise.all([watch.stop(), sender.stop(), polls.open()]);
await Promise.all([monitoring.close(), store.close()]);

/** The first poll of a new process without state. */
async function firstPoll(): Promise<WatchReading> {
  await have(Number(changed));
  const end = startReading();
  watch.start();
  await polls.ended();
  await state.told();
  return end();
}

/** All go back and forth; measured is the way that is asked for. */
async function laterPolls(): Promise<WatchReading[]> {
  await have(0);
  watch.start();
  await polls.ended();
  const readings: WatchReading[] = [];
  // The first pass warms up.
  for (let pass = 0; pass <= Number(passes); pass += 1) {
    // Each pass takes other monitors down, because the same ones would flap.
    const from = by === 'changes' ? pass * Number(changed) : 0;
    const down = await readingOf(Number(changed), from);
    const back = await readingOf(0, 0);
    if (pass > 0) readings.push(what === 'back' ? back : down);
  }
  return readings;
}

async function readingOf(down: number, from: number): Promise<WatchReading> {
  aheadMs += apartMs;
  await have(down, from);
  const end = startReading();
  await pollAndDeliver();
  return end();
}

async function have(down: number, from = 0) {
  await fetch(`${baseUrl}/down?count=${down}&from=${from}`, { method: 'POST' });
}

async function pollAndDeliver() {
  await polls.open();
  await polls.ended();
  await state.told();
}

/** Lets one check through at a time. */
function gate() {
  let open = () => {};
  let ended = () => {};
  let isEnded = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const pause: Clock['pause'] = async (_ms, signal) => {
    ended();
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      open = resolve;
    });
  };
  return {
    pause,
    ended: () => isEnded,
    async open() {
      isEnded = new Promise<void>((resolve) => {
        ended = resolve;
      });
      open();
    },
  };
}

/** A state that resolves when all its alerts are delivered. */
function toldState(inner: WatchState) {
  let onUpdate = () => {};
  const isAllTold = () =>
    (inner.current()?.alerts ?? []).every((alert) =>
      alert.deliveries.every((delivery) => isDelivered(alert, delivery)),
    );
  return {
    current: inner.current,
    async update(change: Parameters<WatchState['update']>[0]) {
      await inner.update(change);
      onUpdate();
    },
    async told() {
      while (!isAllTold()) {
        await new Promise<void>((resolve) => {
          onUpdate = resolve;
        });
      }
    },
  };
}
