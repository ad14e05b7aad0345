import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { type Banner, printBanner } from './app/banner.ts';
import { BotHolder } from './app/bot-holder.ts';
import { programFeatures } from './app/features.ts';
import { internalUrl } from './app/internal-url.ts';
import { createLog, createRedaction } from './app/log.ts';
import { type OpenedStore, openStore } from './app/open-store.ts';
import {
  createPlatformSupervisor,
  type PlatformSupervisor,
  type SupervisedPlatform,
} from './app/platform-supervisor.ts';
import { consolePlatform } from './app/platforms/console.ts';
import { platforms } from './app/platforms.ts';
import type { OpenProgramFeature, Program } from './app/program.ts';
import { ServiceClients } from './app/service-clients.ts';
import { isLoopback, readSettings, readToolServers, type Settings } from './app/settings.ts';
import { startupSentence } from './app/startup-errors.ts';
import type { ConnectingPlatforms } from './app/tenure.ts';
import { createCatalog } from './bot/ask/catalog.ts';
import { createBot } from './bot/bot.ts';
import { type Channels, createChannels } from './bot/channels/channels.ts';
import { commands, forms } from './bot/features.ts';
import {
  openPlatformLimits,
  type PlatformLimits,
  platformLimitsCollection,
} from './bot/shared/platform-limits.ts';
import { createUsageLog, type UsageLog } from './bot/usage/usage-log.ts';
import { secretsOf } from './clients/tool-server-values.ts';
import type { ToolServerSettings } from './config/tool-servers.ts';
import { createConsole } from './console/console.ts';
import { isPlaygroundPath } from './console/playground/paths.ts';
import { readCatalog } from './gateway/catalog/catalog.ts';
import { createGateway } from './gateway/gateway.ts';
import { readOpenFilesLimit } from './http/connections.ts';
import { openControl } from './http/control.ts';
import { openKeys } from './http/keys.ts';
import { createPublicAddress } from './http/public-address.ts';
import { createServer } from './http/server.ts';
import { createMonitoring } from './monitoring/monitoring.ts';
import type { Monitors } from './monitoring/monitors/monitors.ts';
import type { Store } from './store/store.ts';

/** Time limit of a stop after SIGTERM. */
const STOP_LIMIT_MS = 10_000;

/** The first minutes of a process, in which several also divide among them what is to be done. */
const COMPACTED_MS = 3 * 60_000;

const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

await run();

/**
 * A start with many monitors leaves a fragmented heap. V8 compacts a few pages with each garbage collection for a while; permanent
 * compaction would need a fifth more CPU.
 */
function compactHeapAtFirst(): void {
  setFlagsFromString('--optimize-for-size');
  setTimeout(() => setFlagsFromString('--no-optimize-for-size'), COMPACTED_MS).unref();
}

/** The program: starts, and stops at a signal or when a platform ends for good. */
async function run(): Promise<void> {
  const stops: Stop[] = [];
  try {
    // Variables already set win over the file.
    if (existsSync('.env')) process.loadEnvFile('.env');
    const settings = readSettings(process.env);
    const toolServers = settings.roles.has('bot')
      ? await readToolServers(settings.mcpConfigFile, process.env)
      : [];
    const secrets = [...settings.secrets, ...toolServers.flatMap(secretsOf)];
    const { logLevel: level, logFormat: format } = settings;
    const log = createLog({ level, format, secrets });
    const { end, endingSinceMs } = endOnce(stops, log);
    const supervisor = createPlatformSupervisor({ log });
    process.once('SIGTERM', () => void end());
    process.once('SIGINT', () => void end());
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (error: unknown) => {
        if (supervisor.take(error)) return;
        log.fatal({ err: error }, event);
        void end(error);
      });
    }
    const redact = createRedaction(secrets);
    const run = { settings, toolServers, log, redact, stops, end, endingSinceMs, supervisor };
    await start(run).catch(end);
  } catch (error) {
    process.stderr.write(`${startupSentence(error)}\n`);
    process.exitCode = 1;
  }
}

/** A part that is stopped, by the name that the log gives it. */
type Stop = readonly [part: string, stop: () => Promise<unknown>];

/** Ends the program: without an error with code 0, else with its sentence and code 1. */
type End = (error?: unknown) => Promise<void>;

/** One run of the program, from its settings to its end. */
interface ProgramRun {
  settings: Settings;
  toolServers: readonly ToolServerSettings[];
  log: Logger;
  /** Replaces secrets in a text. */
  redact: (text: string) => string;
  /** Called in reverse order. */
  stops: Stop[];
  end: End;
  endingSinceMs: () => number | undefined;
  supervisor: PlatformSupervisor;
}

/** The state of a start that parts opened earlier read later. */
interface Startup {
  url: string;
  isReady: boolean;
  monitors?: Monitors;
  holder?: BotHolder;
}

/** Settings → store → services → features → console → bot and platforms. What was started is stopped in reverse. */
async function start(run: ProgramRun): Promise<void> {
  const { settings, stops, endingSinceMs } = run;
  if (settings.database) compactHeapAtFirst();
  const startup: Startup = { url: '', isReady: false };
  const { program, ofStore } = await openProgram(run, startup);
  const { kit, runs } = program;
  const features = await openProgramFeatures(program);
  const services = await openServices(program, { ofStore, features, stops });
  startup.monitors = services.monitoring?.monitors;
  for (const one of features) stops.push([one.name, async () => await one.close?.()]);
  await openControlSocket(program, { services, features, stops });
  // Both services still answer here, because a load balancer sends requests until it notices the stop.
  stops.push(['the wait for load balancers', () => kit.drain(endingSinceMs())]);
  const clients = new ServiceClients(program);
  stops.push(['the clients of the services', () => clients.close()]);
  const forBot = {
    usageLog: createUsageLog(program.store),
    channels: createChannels(program.store),
  };
  const webConsole = runs('console')
    ? await openConsole(program, { startup, services, features, clients, ...forBot })
    : undefined;
  stops.push(['the console', async () => await webConsole?.close()]);
  const holder = program.knowsBot
    ? await openHolder(program, { run, features, clients, webConsole, ...forBot })
    : undefined;
  startup.holder = holder;

  startup.url = await kit.listen(settings);
  services.monitoring?.start();
  if (holder) {
    stops.push(['the bot', () => holder.stop()]);
    await (runs('bot') ? holder.start() : holder.follow());
  }

  startup.isReady = true;
  // Ends the flags of app/start.ts: the heap may now grow with the work, and garbage is collected sooner.
  setFlagsFromString('--semi-space-growth-factor=2');
  setFlagsFromString('--heap-growing-percent=15');
  printBanner({
    version,
    settings,
    url: program.addressFor(),
    listeningUrl: startup.url,
    models: services.gateway?.answering(),
    running: holder?.platforms ?? [],
    isStandingBy: runs('bot') && holder?.bot === undefined,
    ...(await firstKeysOf(program)),
  });
}

/** Opens the store and the server. */
async function openProgram(run: ProgramRun, startup: Startup) {
  const { settings, toolServers, log, redact, stops, endingSinceMs, supervisor } = run;
  const { store, ...ofStore } = await openStore(settings, { version, log });
  stops.push(['the store', () => store.close()]);
  const keys = {
    gateway: await openKeys(store, 'gateway'),
    monitoring: await openKeys(store, 'monitoring'),
  };
  const { trustedProxies } = settings;
  const kit = await createServer({ log, version, trustedProxies, openFiles: readOpenFilesLimit() });
  stops.push(['the server', () => kit.close()]);
  kit.addReadyCheck('start', () => {
    if (!startup.isReady) throw new Error('still starting');
  });
  kit.addReadyCheck('stop', () => {
    if (endingSinceMs() !== undefined) throw new Error('stopping');
  });
  kit.addReadyCheck('store', () => store.check());
  kit.metrics.counters(
    'askwatch_platform_faults_total',
    "Uncaught errors in a chat platform's library. Each one restarts the platform.",
    ['platform'],
    supervisor.faults,
  );
  const program: Program = {
    settings,
    toolServers,
    version,
    log,
    redact,
    store,
    kit,
    keys,
    addressFor: createPublicAddress({
      publicUrl: settings.publicUrl,
      isOpen: !isLoopback(settings.host),
      listening: () => startup.url,
    }),
    url: () => startup.url,
    monitors: () => startup.monitors ?? { all: () => [] },
    bot: () => startup.holder?.bot,
    runs: (role) => settings.roles.has(role),
    // Another process on the same database may have it.
    knowsBot: settings.roles.has('bot') || settings.database !== undefined,
  };
  return { program, ofStore };
}

/** The two services, where they run in this process. */
async function openServices(
  program: Program,
  {
    ofStore,
    features,
    stops,
  }: { ofStore: Omit<OpenedStore, 'store'>; features: OpenedFeatures; stops: Stop[] },
) {
  const { settings, kit, keys, store, runs, addressFor, log } = program;
  const gateway = runs('gateway')
    ? await createGateway({
        kit,
        keys: keys.gateway,
        catalog: await readCatalog(settings.catalogFile),
        providers: settings.providers,
        store,
        log,
      })
    : undefined;
  if (gateway) stops.push(['the gateway', () => gateway.close()]);
  const monitoring = runs('monitoring')
    ? await createMonitoring({
        kit,
        keys: keys.monitoring,
        store,
        ...ofStore,
        allowPrivate: settings.allowPrivate,
        networkAnchors: settings.networkAnchors,
        openFiles: features.find((one) => one.openFiles)?.openFiles,
        addressFor,
        version,
        log,
      })
    : undefined;
  if (monitoring) stops.push(['the monitoring service', () => monitoring.close()]);
  return { gateway, monitoring };
}

type RunningServices = Awaited<ReturnType<typeof openServices>>;

type OpenedFeatures = ReadonlyArray<OpenProgramFeature & { name: string }>;

async function openProgramFeatures(program: Program): Promise<OpenedFeatures> {
  return await Promise.all(
    programFeatures.map(async (one) => ({ ...(await one.open(program)), name: one.name })),
  );
}

/** Opens the control socket. With a database the command line finds everything there itself. */
async function openControlSocket(
  { settings, keys, url, log }: Program,
  {
    services: { gateway },
    features,
    stops,
  }: { services: RunningServices; features: OpenedFeatures; stops: Stop[] },
): Promise<void> {
  if (settings.database) return;
  const control = await openControl({
    folder: settings.dataDir,
    keys,
    usage: gateway?.usage,
    ...Object.assign({}, ...features.map((one) => one.control)),
    listeningUrl: url,
    log,
  });
  stops.push(['the control socket', () => control.close()]);
}

/** Parts of the bot that other parts of the program use, too. */
interface PartsForBot {
  features: OpenedFeatures;
  clients: ServiceClients;
  usageLog: UsageLog;
  channels: Channels;
}

async function openConsole(
  program: Program,
  parts: PartsForBot & { startup: Startup; services: RunningServices },
) {
  const { settings, kit, store, keys, addressFor, log } = program;
  const { startup, services, features, clients, usageLog, channels } = parts;
  const { gateway, monitoring } = services;
  const { consolePassword: password, publicUrl } = settings;
  const { alertPlaces } = settings.bot;
  return await createConsole({
    kit,
    store,
    log,
    hasBot: program.knowsBot,
    botFacts: {
      usageLog,
      catalog: createCatalog({ gateway: { models: () => clients.gateway().models() }, log }),
      platformTitle: (name) => platforms.find((one) => one.name === name)?.title ?? name,
      channelName: ({ platform, channel }) =>
        startup.holder?.platforms.find(({ name }) => name === platform)?.channelName?.(channel),
      alertedPlaces: async () => [...alertPlaces, ...(await channels.places())],
    },
    channels: alertPlaces.flatMap(({ platform, channel }) =>
      platform === consolePlatform.name ? [channel] : [],
    ),
    login: password === undefined ? undefined : { password },
    publicUrl,
    version,
    pageFolder: new URL('./console/page/', import.meta.url),
    status: {
      // A remote service's limit of 120 requests per minute must also cover other requests.
      pollMs: Math.max(3_000, settings.bot.alertPollMs),
      isPublic: settings.statusPublic,
      addressFor,
      // Asked for once the server listens.
      monitoring: () => clients.openMonitoring('console'),
    },
    account: {
      keys: {
        gateway: gateway && keys.gateway,
        monitoring: monitoring && keys.monitoring,
      },
      usage: gateway?.usage,
      asksElsewhere: settings.gateway !== undefined,
      ...Object.assign({}, ...features.map((one) => one.account)),
    },
  });
}

/** Opens what holds the bot and its platforms, and their routes. */
async function openHolder(
  program: Program,
  parts: PartsForBot & {
    run: ProgramRun;
    webConsole: Awaited<ReturnType<typeof createConsole>> | undefined;
  },
): Promise<BotHolder> {
  const { settings, kit, store, url, addressFor, log } = program;
  const { run, features, clients, webConsole, usageLog, channels } = parts;
  const holder = new BotHolder(
    {
      known: { commands, forms },
      load: () => Promise.all([...settings.platforms.values()].map(({ load }) => load())),
      createPlatforms: (tenure) => createPlatforms(run, tenure),
      createConsole: async (tenure) => await webConsole?.createPlatform({ ...tenure, log }),
      createBot: async (tenure) =>
        await createBot({
          ...tenure,
          gateway: clients.gateway(),
          monitoring: clients.monitoring(),
          settings: { ...settings.bot, hooksUrl: addressFor() },
          platforms,
          channels,
          usageLog,
          shared: new Map(features.map(({ name, shared }) => [name, shared])),
          log,
        }),
    },
    { store, ownUrl: () => internalUrl(settings.internalUrl, url()), onFatal: run.end, log },
  );
  addPlatformRoutes(program, holder);
  if (store.isShared) {
    kit.addForwarding({
      concerns: (path) =>
        path.startsWith('/slack/') ||
        isPlaygroundPath(path) ||
        features.some((one) => one.isForBot?.(path)),
      where: () => holder.where(),
      changed: (signal) => holder.changed(signal),
      secret: await store.key.make(),
    });
  }
  return holder;
}

function addPlatformRoutes({ settings, kit }: Program, holder: BotHolder): void {
  for (const [name, { routes = [] }] of settings.platforms) {
    for (const { method, path } of routes) {
      kit.addRawRoute(method, path, (request, response) => {
        const route = holder.platforms
          .find((platform) => platform.name === name)
          ?.routes?.find((one) => one.method === method && one.path === path);
        if (route) route.handle(request, response);
        else
          response.writeHead(503, { 'retry-after': '2' }).end('Askwatch is starting. Try again.');
      });
    }
  }
}

/** Creates the first keys, on a terminal only: elsewhere standard output is kept, such as by a container's log. */
async function firstKeysOf({
  keys,
  runs,
}: Program): Promise<Pick<Banner, 'firstKeys' | 'lacksKeys'>> {
  const firstKeys: Banner['firstKeys'] = {};
  let lacksKeys = false;
  for (const service of ['gateway', 'monitoring'] as const) {
    if (!runs(service)) continue;
    const created = process.stdout.isTTY ? await keys[service].createFirst('first key') : undefined;
    if (created !== undefined) firstKeys[service] = created;
    lacksKeys ||= keys[service].list().length === 0;
  }
  return { firstKeys, lacksKeys };
}

/**
 * The chat platforms that are configured. Their libraries are loaded only then, in any order: uploads to Discord do not
 * depend on whose undici was there first, see `make-request.ts`.
 */
async function createPlatforms(
  { settings, log, end, supervisor }: ProgramRun,
  { store, isHeld }: { store: Store; isHeld(): boolean },
): Promise<ConnectingPlatforms> {
  const { allowPrivate } = settings;
  const collection = store.collection(platformLimitsCollection);
  const made: SupervisedPlatform[] = [];
  const allLimits: PlatformLimits[] = [];
  for (const [platform, configured] of settings.platforms) {
    const limits = await openPlatformLimits({ platform, collection, log });
    const one = await supervisor.supervise(
      (onFatal) => configured.create({ store, isHeld, limits, allowPrivate, log, onFatal }),
      (error) => void end(error),
    );
    allLimits.push(limits);
    made.push(one);
  }
  return { platforms: made, refresh: () => Promise.all(allLimits.map((limits) => limits.read())) };
}

/** `endingSinceMs` is on the clock of `performance`. */
function endOnce(
  stops: Stop[],
  log: Logger,
): { end: End; endingSinceMs: () => number | undefined } {
  let sinceMs: number | undefined;
  const end: End = async (error) => {
    if (sinceMs !== undefined) return;
    sinceMs = performance.now();
    if (error !== undefined) {
      process.stderr.write(`${startupSentence(error)}\n`);
      log.debug({ err: error }, 'stopping because of this error');
    }
    const tookMs: Record<string, number> = {};
    let stopping: string | undefined;
    const limit = setTimeout(() => {
      log.error({ stopping, tookMs }, 'stopping took too long; exiting anyway');
      process.exit(1);
    }, STOP_LIMIT_MS);
    let failed = error !== undefined;
    for (const [part, stop] of stops.splice(0).reverse()) {
      stopping = part;
      const beganMs = performance.now();
      try {
        await stop();
      } catch (cause) {
        failed = true;
        log.error({ err: cause, part }, 'a part did not stop cleanly');
      }
      tookMs[part] = Math.round(performance.now() - beganMs);
    }
    log.debug({ tookMs }, 'stopped');
    clearTimeout(limit);
    if (!failed && process.stdout.isTTY) process.stdout.write('Stopped.\n');
    process.exit(failed ? 1 : 0);
  };
  return { end, endingSinceMs: () => sinceMs };
}
