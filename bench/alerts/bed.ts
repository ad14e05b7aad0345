import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { createChannels } from '../../src/bot/channels/channels.ts';
import { openWatchState } from '../../src/bot/watch/watch-store.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { type Monitor, MonitorCreate } from '../../src/contracts/monitoring.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { type ModelProvider, startModelProvider } from '../../test/fakes/model-provider.ts';
import { type PreparedData, prepareData } from '../monitoring/data.ts';
import type { BenchContext } from '../shared/area.ts';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';
import { type AlertPlatform, startPlatforms } from './platforms.ts';
import { type AlertTarget, startTarget } from './target.ts';

/** The number of monitors, their interval, and the subscribed channels of each platform. */
export interface AlertPlan {
  monitors: number;
  intervalSeconds: number;
  /** A channel for each monitor alone, where an alert is never put together with another. */
  hasOwnChannels: boolean;
  /** Channels that receive every alert. */
  sharedChannels: number;
  /** All outages in own channels are investigated, by a model that takes two seconds. */
  isInvestigated?: boolean;
}

/** A platform and its channels. */
export interface AlertStage {
  platform: AlertPlatform;
  /** By the number of the monitor. */
  own: string[];
  shared: string[];
}

/** The program at work, on new data and with its monitors good. */
export interface AlertBed {
  stages: AlertStage[];
  target: AlertTarget;
  /** The monitors by their numbers, as the service lists them now. */
  list(): Promise<Monitor[]>;
  /** Waits; throws when it takes too long, or the program has ended. */
  until(what: string, condition: () => boolean | Promise<boolean>): Promise<void>;
  /** Stops the program, and gives by the number of the monitor when the bot noted that it is down. */
  stop(): Promise<number[]>;
}

// This runs from dist/bench/, beside the program that it measures.
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));
const READY = /Services +http:\S+?:(\d+)\/v1 /;

const STEP_MS = 200;
const LIMIT_MS = 120_000;

/** The first fact is the outage. */
const CONCLUSION = JSON.stringify({
  ...{ cause: 'The page answers with an error', confidence: 'high', evidence: [{ fact: 'F1' }] },
});

const log = pino({ level: 'silent' });

/** Starts everything and waits until all monitors are checked and each platform has a first alert. */
export async function startAlertBed(context: BenchContext, plan: AlertPlan): Promise<AlertBed> {
  const { folder, cores, profile } = context;
  const target = await startTarget();
  const platforms = await startPlatforms();
  const model = await startModelProvider();
  model.answerWith(Array<string>(40).fill(' ').with(0, CONCLUSION), { chunkMs: 50 });
  const name = `alerts-${Date.now()}`;
  const definitions = definitionsOf(target, plan);
  const data = await prepareData({ parent: folder, name, definitions });
  const { stages, firsts } = await openStages(data, platforms, plan);
  const server = await startProcess({
    name: 'Askwatch',
    args: [...(profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []), PROGRAM],
    ready: READY,
    core: cores.target,
    // A working folder without an .env file.
    cwd: data.folder,
    env: {
      ...Object.assign({}, ...platforms.map(({ env }) => env)),
      ...{ DATA_DIR: data.folder, PORT: '0', MONITOR_ALLOW_PRIVATE: '127.0.0.0/8' },
      ...{ GATEWAY_BASE_URL: model.url, GATEWAY_API_KEY: model.apiKey, LOG_LEVEL: 'warn' },
    },
  });
  const bed = bedOf({ target, platforms, model, data, stages, server });
  await bed.until('all to be checked', () => target.asked() === definitions.length);
  target.turn(plan.monitors, 'bad');
  await bed.until('the first alert', () =>
    platforms.every((platform, at) =>
      platform.arrivals().some(({ channel }) => channel === firsts[at]),
    ),
  );
  return bed;
}

/**
 * The monitors, and one more that tells when the bot is at work. A failure is not checked a second time: the service
 * gives the time of the first one, and then that is also when it says DOWN.
 */
const definitionsOf = (target: AlertTarget, { monitors, intervalSeconds }: AlertPlan) =>
  Array.from({ length: monitors + 1 }, (_, number) =>
    MonitorCreate.parse({
      check_type: 'HTTP',
      name: number === monitors ? 'first' : `page ${number}`,
      target: target.url(number),
      config: { interval_seconds: intervalSeconds, confirm_down: 1 },
    }),
  );

/** Makes the channels and lets them hear the monitors; `firsts` hear the one that is one too many. */
async function openStages(
  { folder, gridded }: PreparedData,
  platforms: readonly AlertPlatform[],
  { monitors, hasOwnChannels, sharedChannels, isInvestigated = false }: AlertPlan,
) {
  const store = await openLowdbStore({ folder, log });
  const channels = createChannels(store);
  const stages: AlertStage[] = [];
  const firsts: string[] = [];
  for (const platform of platforms) {
    const own: string[] = [];
    for (const { id, number } of gridded) {
      if (!hasOwnChannels && number !== monitors) continue;
      const channel = platform.addChannel();
      const monitor = { id, name: String(number), target: '' };
      const place = { platform: platform.name, channel };
      await channels.add(place, monitor);
      const investigate = { afterMs: 1, tokensPerDay: 1_000_000_000 };
      if (isInvestigated) await channels.change(place, { settings: { investigate } });
      own[number] = channel;
    }
    firsts.push(...own.splice(monitors));
    const shared = Array.from({ length: sharedChannels }, platform.addChannel);
    for (const channel of shared) {
      const hearing = { on: true, filter: { text: 'page ' } };
      await channels.change({ platform: platform.name, channel }, { hearing });
    }
    stages.push({ platform, own, shared });
  }
  await store.close();
  return { stages, firsts };
}

function bedOf(parts: {
  target: AlertTarget;
  platforms: readonly AlertPlatform[];
  model: ModelProvider;
  data: PreparedData;
  stages: AlertStage[];
  server: TargetProcess;
}): AlertBed {
  const { target, platforms, model, data, stages, server } = parts;
  const [apiKey = ''] = data.keys;
  const numbers = new Map(data.gridded.map(({ id, number }) => [id, number]));
  const numberOf = (id: string) => numbers.get(id) ?? Number.NaN;
  return {
    stages,
    target,
    async list() {
      const client = createMonitoringClient({
        ...{ baseUrl: `http://127.0.0.1:${server.port}`, apiKey, log },
      });
      const listed = await client.list();
      await client.close();
      const byNumber = listed.toSorted((a, b) => numberOf(a.id) - numberOf(b.id));
      return byNumber.slice(0, -1);
    },
    async until(what, condition) {
      const deadlineMs = performance.now() + LIMIT_MS;
      while (!(await condition())) {
        server.checkAlive();
        if (performance.now() > deadlineMs) throw new Error(`Waited in vain for ${what}.`);
        await pause(STEP_MS);
      }
    },
    async stop() {
      await server.stop();
      await Promise.all([
        target.close(),
        model.close(),
        ...platforms.map((platform) => platform.close()),
      ]);
      return await notedMs(data.folder, numberOf);
    },
  };
}

/** Reads from what the bot keeps when it noted each outage; what it sends comes after that. */
async function notedMs(folder: string, numberOf: (id: string) => number): Promise<number[]> {
  const store = await openLowdbStore({ folder, log });
  const { alerts = [] } = (await openWatchState(store)).current() ?? {};
  await store.close();
  const noted: number[] = [];
  for (const alert of alerts) {
    if (alert.kind === 'incident') noted[numberOf(alert.monitorId)] = alert.openedAtMs;
  }
  return noted;
}
