import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { eventually } from '../eventually.ts';
import { createRandom } from '../random.ts';
import { recordingLog } from '../recording-log.ts';
import { seed } from '../seed.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type AlertMessage, CLEAN, judge, type WatchedMonitor } from './alert-verdict.ts';
import { spawnAskwatch, startAskwatch } from './askwatch-process.ts';

/** Faults of a call. The name says whether it took effect. */
export const FAULTS = [
  'limited',
  'error, not done',
  'error, done',
  'lost, not done',
  'lost, done',
  'no answer, not done',
  'no answer, done',
] as const;
export type FaultKind = (typeof FAULTS)[number];
export type FaultyCall = 'post' | 'edit' | 'history';
/** Calls that fail, in rotation; calls that change messages fail more often. */
const CALLS: FaultyCall[] = ['post', 'edit', 'post', 'history', 'post', 'edit'];

/** A platform's fake as the storm needs it; it survives every kill. */
export interface StormPlatform {
  name: string;
  env: Record<string, string>;
  addChannel(name: string): string;
  /** The next such call goes wrong. */
  fail(call: FaultyCall, kind: FaultKind): void;
  /** The program was killed. */
  killed(): void;
  /** Calls that went wrong so far. */
  faulted(): number;
  /** The number of calls. */
  count(call: FaultyCall): number;
  /** Alert messages in a channel, in their current form. */
  alerts(channel: string): AlertMessage[];
  /** The ids of the short lines under them. */
  lines(channel: string): string[];
  /** Presses the button with this label under the channel's newest message that has one. */
  press(channel: string, label: string): Press;
}

/** A press of a button. */
export interface Press {
  isAcknowledged(): boolean;
  /** Private replies to the press. */
  notes(): string[];
}

/** A team's channel hears so many monitors: a message about them names each. */
const TEAM = 8;
/** More outages within 15 minutes count as flapping. */
const MAX_OUTAGES = 2;

/** Monitors in teams; each team has a channel, and its first monitor one more for itself. */
async function openWorld(platform: StormPlatform, teams: number) {
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  const dataDir = await temporaryFolder();
  const store = await openLowdbStore({ folder: `${dataDir}/data`, log: recordingLog().log });
  const channels = createChannels(store);
  const monitors: WatchedMonitor[] = [];
  async function listen(name: string, filter: string) {
    const channel = platform.addChannel(name);
    const place = { platform: platform.name, channel };
    await channels.change(place, { hearing: { on: true, filter: { text: filter } } });
    return channel;
  }
  for (let team = 0; team < teams; team += 1) {
    const shared = await listen(`team${team}`, `Team${team}x`);
    for (let at = 0; at < TEAM; at += 1) {
      const { id, name } = service.add({ name: `Team${team}x${at}x` });
      const own = at === 0 ? [await listen(`own${team}`, name)] : [];
      const heard = [shared, ...own];
      monitors.push({ id, name, team, channels: heard, outages: 0, isDown: false, changedAt: 0 });
    }
  }
  await store.close();
  const env = {
    ...platform.env,
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    // No questions are asked, so the program's own gateway needn't start.
    GATEWAY_BASE_URL: service.url,
    GATEWAY_API_KEY: 'unused-gateway-key',
    ALERT_POLL_SECONDS: '1',
    LOG_LEVEL: 'error',
  };
  return { service, monitors, options: { dataDir, env } };
}

/**
 * Kills the built program with -9 at random moments while monitors go down and recover and some platform calls fail. In the end, every
 * outage must have one alert and every message must be true.
 */
export async function storm(platform: StormPlatform, { kills }: { kills: number }): Promise<void> {
  const random = createRandom(seed());
  const upTo = (count: number) => Math.floor(random() * count);
  const teams = Math.max(2, Math.ceil(kills / 15));
  const { service, monitors, options } = await openWorld(platform, teams);
  const injected = new Map<string, number>();
  let lifeBegan = 0;
  let usualStartMs = 1_000;

  /**
   * A poll's result is certainly stored when the same process polls again. Until then a kill may lose it, so the monitor keeps its
   * status.
   */
  const isSure = ({ changedAt }: WatchedMonitor) => changedAt === 0;
  function noteSure() {
    for (const monitor of monitors) {
      const looks = service.requests.length - Math.max(monitor.changedAt, lifeBegan);
      if (monitor.changedAt > 0 && looks >= 2) monitor.changedAt = 0;
    }
  }
  function turnOver(monitor: WatchedMonitor) {
    monitor.isDown = !monitor.isDown;
    if (monitor.isDown) monitor.outages += 1;
    monitor.changedAt = service.requests.length;
    service.setStatus(monitor.id, monitor.isDown ? 'DOWN' : 'UP');
  }
  /** Changes some monitors of the teams whose turn it is. */
  function turnSome(count: number, progress: number) {
    noteSure();
    const team = Math.floor(progress * (teams - 1));
    for (let left = count; left > 0; left -= 1) {
      const able = monitors.filter(
        (one) =>
          Math.abs(one.team - team) <= 1 &&
          isSure(one) &&
          (one.isDown || one.outages < MAX_OUTAGES),
      );
      const chosen = able[upTo(able.length)];
      if (chosen) turnOver(chosen);
    }
  }
  /** Few wait for their call at any time, so that the end is soon without. */
  function injectFaults() {
    const waiting = sum(injected.values()) - platform.faulted();
    for (let left = 1 + upTo(2) - Math.floor(waiting / 2); left > 0; left -= 1) {
      const call = CALLS[sum(injected.values()) % CALLS.length] ?? 'post';
      const kind = FAULTS[upTo(FAULTS.length)] ?? 'limited';
      injected.set(`${call} ${kind}`, (injected.get(`${call} ${kind}`) ?? 0) + 1);
      platform.fail(call, kind);
    }
  }

  /** One life of the program, from its start to its kill. */
  async function live(life: number) {
    lifeBegan = service.requests.length;
    const startMs = performance.now();
    const child = spawnAskwatch(options);
    if (life > 1 && random() < 0.1) {
      // While it starts.
      await pause(random() * usualStartMs);
    } else {
      const looks = life === 1 ? 2 : 1;
      await eventually(() => child.exited() || service.requests.length >= lifeBegan + looks, {
        withinMs: 60_000,
      });
      if (child.exited()) throw new Error(`Askwatch ended by itself:\n${child.output()}`);
      usualStartMs = performance.now() - startMs;
      // On a slow machine everything takes longer.
      const slowness = Math.min(Math.max(usualStartMs / 1_000, 1), 4);
      // In the midst of what the first look brings, or of what comes after it.
      const [leastMs, mostMs] =
        random() < 0.5 ? [0, 400 * slowness] : [900, 1_100 + 400 * slowness];
      await pause((random() * mostMs) / 2);
      if (life > 1) turnSome(upTo(3), life / kills);
      await pause(leastMs + (random() * (mostMs - leastMs)) / 2);
    }
    child.signal('SIGKILL');
    await child.exit;
    platform.killed();
    // The killed process's requests are read before the next process starts.
    for (let turns = 0; turns < 10; turns += 1) await turn();
    noteSure();
  }

  const verdict = () => judge(platform, monitors);
  const allSeen = () =>
    eventually(() => monitors.every((one) => isSure(one)) || void noteSure(), { withinMs: 60_000 });
  async function expectTruth() {
    await eventually(() => expect(verdict()).toMatchObject(CLEAN) ?? true, {
      withinMs: kills > 10 ? 180_000 : 60_000,
      what: 'every outage to be told once and every message to be true',
    });
  }

  for (let life = 1; life <= kills; life += 1) {
    if (life > 1) {
      turnSome(random() < 0.3 ? 2 + upTo(5) : upTo(3), life / kills);
      injectFaults();
    }
    await live(life);
    if (life % 25 === 0) process.stdout.write(`${platform.name}: killed ${life} times\n`);
  }
  lifeBegan = service.requests.length;
  const last = await startAskwatch(options);
  await allSeen();
  // An ongoing group is updated only once a minute.
  if (kills > 10) await expectTruth();
  for (const monitor of monitors) if (monitor.isDown) turnOver(monitor);
  await allSeen();
  await expectTruth();
  expect(await last.stop()).toBe(0);
  expect(verdict()).toMatchObject(CLEAN);
  expect(service.unhandled).toEqual([]);
  const outages = sum(monitors.map((one) => one.outages));
  expect(outages).toBeGreaterThan(0);
  const calls = { posts: platform.count('post'), edits: platform.count('edit') };
  const report = {
    ...{ seed: seed(), kills, outages, ...verdict(), ...calls, lookUps: platform.count('history') },
    faulted: platform.faulted(),
    faults: Object.fromEntries(injected),
  };
  process.stdout.write(`${platform.name}: ${JSON.stringify(report)}\n`);
}

const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, one) => total + one, 0);
