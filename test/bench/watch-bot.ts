// The watch and the sender of the bot, looking at a service of the bench and telling a platform that takes everything in
// two places. Started by the bench with a port, a folder, how many monitors change and how often; prints its readings.
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pino } from 'pino';
import { createChannels } from '../../src/bot/channels.ts';
import { type Clock, systemClock } from '../../src/bot/clock.ts';
import { isTold } from '../../src/bot/incidents.ts';
import { openLastLook } from '../../src/bot/last-look.ts';
import type { Place } from '../../src/bot/platform.ts';
import { createSender } from '../../src/bot/sender.ts';
import { createWatch } from '../../src/bot/watch.ts';
import type { WatchState } from '../../src/bot/watch-state.ts';
import { openWatchState } from '../../src/bot/watch-store.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { createScriptedPlatform } from '../bot/scripted-platform.ts';
import type { WatchReading } from './watch-readings.ts';

/** Between two passes: outages that are further apart are not told together. */
const APART_MS = 3_600_000;
/** So that a look after that time does not come late. */
const POLL_MS = APART_MS;

const PLACES: Place[] = [
  { platform: 'slack', channel: 'C1' },
  { platform: 'discord', channel: 'D1' },
];

const [port, folder = '', changed, passes] = process.argv.slice(2);
const baseUrl = `http://127.0.0.1:${port}`;
const log = pino({ level: 'warn' }, pino.destination(2));
const store = await openLowdbStore({ folder, log });
const state = toldState(await openWatchState(store, log));
const monitoring = createMonitoringClient({ baseUrl, apiKey: 'bench' });
let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const random = () => 0.5;
const sender = createSender({
  ...{ state, alertPlaces: PLACES, random, log },
  clock: { ...systemClock, nowMs },
});
const looks = gate();
const watch = createWatch({
  lastLook: await openLastLook(store, { pollMs: POLL_MS }),
  ...{ monitoring, state, channels: createChannels(store), alertPlaces: PLACES, random, log },
  pollMs: POLL_MS,
  clock: { nowMs, pause: looks.pause },
  onNews: sender.wake,
});

sender.start(PLACES.map(({ platform }) => createScriptedPlatform(platform)));
watch.start();
await looks.ended();
const readings: WatchReading[] = [];
// The first pass warms up.
for (let pass = 0; pass <= Number(passes); pass += 1) {
  aheadMs += APART_MS;
  await have(Number(changed));
  const end = startReading();
  await lookAndTell();
  if (pass > 0) readings.push(end());
  else end();
  aheadMs += APART_MS;
  await have(0);
  await lookAndTell();
}
process.stdout.write(`${JSON.stringify(readings)}\n`);
await Promise.all([watch.stop(), sender.stop(), looks.open()]);
await Promise.all([monitoring.close(), store.close()]);

async function have(down: number) {
  await fetch(`${baseUrl}/down?count=${down}`, { method: 'POST' });
}

async function lookAndTell() {
  await looks.open();
  await looks.ended();
  await state.told();
}

/** Lets one look through at a time. */
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

/** A state that says when everything in it is told. */
function toldState(inner: WatchState) {
  let onUpdate = () => {};
  const isAllTold = () =>
    (inner.current()?.topics ?? []).every((topic) =>
      topic.deliveries.every((delivery) => isTold(topic, delivery)),
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

function startReading(): () => WatchReading {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  const bytes = writtenBytes();
  const ownBlock = startOwnBlock();
  delay.enable();
  return () => {
    delay.disable();
    const { user, system } = process.cpuUsage(cpu);
    return {
      blockMs: delay.max / 1e6,
      ownBlockMs: ownBlock(),
      cpuMs: (user + system) / 1e3,
      writtenBytes: writtenBytes() - bytes,
      wallMs: performance.now() - startMs,
    };
  };
}

/** The most CPU time of the main thread from one turn of the loop to the next, as far as timers see them. */
function startOwnBlock(): () => number {
  let lastNs = mainThreadNs();
  let mostNs = 0;
  const look = () => {
    const nowNs = mainThreadNs();
    mostNs = Math.max(mostNs, nowNs - lastNs);
    lastNs = nowNs;
  };
  const ticker = setInterval(look, 1);
  return () => {
    look();
    clearInterval(ticker);
    return mostNs / 1e6;
  };
}

/** Source: Linux kernel documentation, "Scheduler Statistics", `/proc/<pid>/schedstat`. */
function mainThreadNs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]);
}

/** Bytes that this process has sent to the disk so far. Source: proc_pid_io(5), "write_bytes". */
function writtenBytes(): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}
