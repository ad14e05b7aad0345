import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { type Banner, printBanner } from './app/banner.ts';
import { BotHolder } from './app/bot-holder.ts';
import { addIntakeRoutes } from './app/intake-routes.ts';
import { internalUrl } from './app/internal-url.ts';
import { createLog, createRedaction } from './app/log.ts';
import { openStore } from './app/open-store.ts';
import {
  createPlatformSupervisor,
  type PlatformSupervisor,
  type SupervisedPlatform,
} from './app/platform-supervisor.ts';
import { consolePlatform } from './app/platforms/console.ts';
import { platforms } from './app/platforms.ts';
import {
  isLoopback,
  readSettings,
  readToolServers,
  type Settings,
  secretVariables,
} from './app/settings.ts';
import { startupSentence } from './app/startup-errors.ts';
import type { ConnectingPlatforms } from './app/tenure.ts';
import { createCatalog } from './bot/ask/catalog.ts';
import { createBot } from './bot/bot.ts';
import { createChannels } from './bot/channels/channels.ts';
import { commands, forms } from './bot/commands/commands.ts';
import { exportedLines } from './bot/feedback/export.ts';
import { createFeedback } from './bot/feedback/feedback.ts';
import { createIntakes } from './bot/intake/intakes.ts';
import {
  openPlatformLimits,
  type PlatformLimits,
  platformLimitsCollection,
} from './bot/shared/platform-limits.ts';
import { createUsageLog } from './bot/usage/usage-log.ts';
import { createGatewayClient, type GatewayClient } from './clients/gateway.ts';
import { createMonitoringClient, type MonitoringClient } from './clients/monitoring.ts';
import { createToolServer, secretsOf } from './clients/tool-server.ts';
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
import { addMcp, addMcpElsewhere } from './mcp/mcp.ts';
import { createMonitoring } from './monitoring/monitoring.ts';
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
    const log = createLog({ level: settings.logLevel, secrets });
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
    const program = { log, redact, stops, end, endingSinceMs, supervisor, toolServers };
    await start(settings, program).catch(end);
  } catch (error) {
    process.stderr.write(`${startupSentence(error)}\n`);
    process.exitCode = 1;
  }
}

type Stop = () => Promise<unknown>;

/** Ends the program: without an error with code 0, else with its sentence and code 1. */
type End = (error?: unknown) => Promise<void>;

/** Settings → store → services → clients → bot → platforms. What was started is stopped in reverse. */
async function start(
  settings: Settings,
  program: {
    log: Logger;
    /** Replaces secrets in a text. */
    redact: (text: string) => string;
    stops: Stop[];
    end: End;
    endingSinceMs: () => number | undefined;
    supervisor: PlatformSupervisor;
    toolServers: readonly ToolServerSettings[];
  },
): Promise<void> {
  const { log, redact, stops, end, endingSinceMs, supervisor, toolServers } = program;
  const runs = (role: Parameters<typeof settings.roles.has>[0]) => settings.roles.has(role);
  let ready = false;
  if (settings.database) compactHeapAtFirst();

  const { store, ...ofStore } = await openStore(settings, { version, log });
  stops.push(() => store.close());
  const keys = {
    gateway: await openKeys(store, 'gateway'),
    monitoring: await openKeys(store, 'monitoring'),
  };

  const { trustedProxies } = settings;
  const kit = await createServer({ log, version, trustedProxies, openFiles: readOpenFilesLimit() });
  stops.push(() => kit.close());
  kit.addReadyCheck('start', () => {
    if (!ready) throw new Error('still starting');
  });
  kit.addReadyCheck('stop', () => {
    if (endingSinceMs() !== undefined) throw new Error('stopping');
  });
  kit.addReadyCheck('store', () => store.check());

  let url = '';
  let holder: BotHolder | undefined;
  const addressFor = createPublicAddress({
    publicUrl: settings.publicUrl,
    isOpen: !isLoopback(settings.host),
    listening: () => url,
  });
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
  if (gateway) stops.push(() => gateway.close());
  const monitoring = runs('monitoring')
    ? await createMonitoring({
        kit,
        keys: keys.monitoring,
        store,
        ...ofStore,
        allowPrivate: settings.allowPrivate,
        networkAnchors: settings.networkAnchors,
        ...(settings.monitorsFile !== undefined && {
          monitorsFile: {
            path: settings.monitorsFile,
            taboo: secretVariables,
            platforms: platforms.map(({ name }) => name),
          },
        }),
        addressFor,
        version,
        log,
      })
    : undefined;
  if (monitoring) stops.push(() => monitoring.close());
  const hasMcp = monitoring !== undefined && settings.monitoring === undefined;
  if (hasMcp) {
    const mcp = addMcp({
      kit,
      keys: keys.monitoring,
      // Asked for once the server listens.
      serviceUrl: () => url,
      writes: settings.mcpWrites,
      incidents: runs('bot') ? () => holder?.bot?.incidents : undefined,
      publicUrl: settings.publicUrl,
      isOpen: !isLoopback(settings.host),
      version,
      log,
    });
    stops.push(() => mcp.close());
  } else {
    addMcpElsewhere({ kit, isElsewhere: settings.monitoring !== undefined });
  }
  const feedback = createFeedback(store, { days: settings.bot.feedbackDays });
  // In a database the command line finds the keys itself.
  const control = settings.database
    ? undefined
    : await openControl({
        folder: settings.dataDir,
        keys,
        ...(gateway && { usage: gateway.usage }),
        feedback: (query) => exportedLines(feedback, query, redact),
        ...(monitoring && {
          monitors: {
            standing: monitoring.standing,
            state: () => monitoring.provisioning?.state(),
            answer: async (answer) => await monitoring.provisioning?.answer(answer),
          },
        }),
        listeningUrl: () => url,
        log,
      });
  if (control) stops.push(() => control.close());
  // Both services still answer here, because a load balancer sends requests until it notices the stop.
  stops.push(async () => await kit.drain(endingSinceMs()));

  kit.metrics.counters(
    'askwatch_platform_faults_total',
    "Uncaught errors in a chat platform's library. Each one restarts the platform.",
    ['platform'],
    supervisor.faults,
  );
  const usageLog = createUsageLog(store);
  const intakes = await createIntakes(store);
  let openedGatewayClient: GatewayClient | undefined;
  /** To be asked for once the server listens. */
  const gatewayClient = () => {
    openedGatewayClient ??= createGatewayClient({
      ...(settings.gateway ?? { baseUrl: url, apiKey: keys.gateway.createTransient('bot') }),
      stallMs: settings.bot.askStallMs,
      log,
    });
    return openedGatewayClient;
  };
  stops.push(async () => await openedGatewayClient?.close());
  const openMonitoringClient = (name: string) =>
    createMonitoringClient({
      ...(settings.monitoring ?? { baseUrl: url, apiKey: keys.monitoring.createTransient(name) }),
      log,
    });
  const { consolePassword: password, publicUrl } = settings;
  const { alertPlaces } = settings.bot;
  const channels = createChannels(store);
  const webConsole = runs('console')
    ? await createConsole({
        kit,
        store,
        log,
        // Another process on the same database may have one.
        hasBot: runs('bot') || settings.database !== undefined,
        botFacts: {
          usageLog,
          catalog: createCatalog({ gateway: { models: () => gatewayClient().models() }, log }),
          platformTitle: (name) => platforms.find((one) => one.name === name)?.title ?? name,
          channelName: ({ platform, channel }) =>
            holder?.platforms.find(({ name }) => name === platform)?.channelName?.(channel),
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
          monitoring: () => openMonitoringClient('console'),
        },
        account: {
          keys: {
            gateway: gateway && keys.gateway,
            monitoring: monitoring && keys.monitoring,
          },
          usage: gateway?.usage,
          hasMcp,
          asksElsewhere: settings.gateway !== undefined,
          intakes: { intakes, addressFor },
        },
      })
    : undefined;
  stops.push(async () => await webConsole?.close());

  let monitoringClient: MonitoringClient | undefined;
  stops.push(async () => await monitoringClient?.close());
  if (runs('bot') || settings.database) {
    const held = new BotHolder(
      {
        known: { commands, forms },
        load: () => Promise.all([...settings.platforms.values()].map(({ load }) => load())),
        createPlatforms: (program) =>
          createPlatforms(settings, { ...program, log, end, supervisor }),
        createConsole: async (program) => await webConsole?.createPlatform({ ...program, log }),
        async createBot(program) {
          monitoringClient ??= openMonitoringClient('bot');
          return await createBot({
            ...program,
            gateway: gatewayClient(),
            monitoring: monitoringClient,
            settings: { ...settings.bot, hooksUrl: addressFor() },
            platforms,
            channels,
            toolServers: toolServers.map((server) => ({
              ...server,
              client: createToolServer(server, { version, log }),
            })),
            usageLog,
            feedback,
            intakes,
            log,
          });
        },
      },
      { store, ownUrl: () => internalUrl(settings.internalUrl, url), onFatal: end, log },
    );
    holder = held;
    addIntakeRoutes(kit, () => held.bot?.intake);
    for (const [name, { routes = [] }] of settings.platforms) {
      for (const { method, path } of routes) {
        kit.addRawRoute(method, path, (request, response) => {
          const route = held.platforms
            .find((platform) => platform.name === name)
            ?.routes?.find((one) => one.method === method && one.path === path);
          if (route) route.handle(request, response);
          else
            response.writeHead(503, { 'retry-after': '2' }).end('Askwatch is starting. Try again.');
        });
      }
    }
    if (store.isShared) {
      kit.addForwarding({
        concerns: (path) =>
          isBotPath(path) || isPlaygroundPath(path) || (path === '/mcp' && hasMcp && runs('bot')),
        where: () => held.where(),
        changed: (signal) => held.changed(signal),
        secret: await store.key.make(),
      });
    }
  }

  url = await kit.listen(settings);
  monitoring?.start();
  if (holder) {
    const held = holder;
    stops.push(() => held.stop());
    await (runs('bot') ? held.start() : held.follow());
  }

  ready = true;
  // Ends the flags of app/start.ts: the heap may now grow with the work, and garbage is collected sooner.
  setFlagsFromString('--semi-space-growth-factor=2');
  setFlagsFromString('--heap-growing-percent=15');
  // Elsewhere standard output is kept: by a container's log, or by whatever collects it.
  const isTerminal = process.stdout.isTTY;
  const firstKeys: Banner['firstKeys'] = {};
  let lacksKeys = false;
  for (const service of ['gateway', 'monitoring'] as const) {
    if (!runs(service)) continue;
    const made = isTerminal ? await keys[service].createFirst('first key') : undefined;
    if (made !== undefined) firstKeys[service] = made;
    lacksKeys ||= keys[service].list().length === 0;
  }
  printBanner({
    version,
    settings,
    url: addressFor(),
    listeningUrl: url,
    models: gateway?.answering(),
    running: holder?.platforms ?? [],
    isStandingBy: runs('bot') && holder?.bot === undefined,
    firstKeys,
    lacksKeys,
  });
}

/**
 * The chat platforms that are configured. Their libraries are loaded only then, in any order: uploads to Discord do not
 * depend on whose undici was there first, see `make-request.ts`.
 */
async function createPlatforms(
  settings: Settings,
  program: {
    store: Store;
    isHeld(): boolean;
    log: Logger;
    end: End;
    supervisor: PlatformSupervisor;
  },
): Promise<ConnectingPlatforms> {
  const { store, isHeld, log, end, supervisor } = program;
  const collection = store.collection(platformLimitsCollection);
  const made: SupervisedPlatform[] = [];
  const allLimits: PlatformLimits[] = [];
  for (const [platform, configured] of settings.platforms) {
    const limits = await openPlatformLimits({ platform, collection, log });
    const one = await supervisor.supervise(
      (onFatal) => configured.create({ store, isHeld, limits, log, onFatal }),
      (error) => void end(error),
    );
    allLimits.push(limits);
    made.push(one);
  }
  return { platforms: made, refresh: () => Promise.all(allLimits.map((limits) => limits.read())) };
}

/** True if a request with this path is for the bot or one of its platforms. */
function isBotPath(path: string): boolean {
  return path === '/v2/enqueue' || path.startsWith('/hooks/') || path.startsWith('/slack/');
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
    const limit = setTimeout(() => {
      log.error('stopping took too long; exiting anyway');
      process.exit(1);
    }, STOP_LIMIT_MS);
    let failed = error !== undefined;
    for (const stop of stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (cause) {
        failed = true;
        log.error({ err: cause }, 'a part did not stop cleanly');
      }
    }
    clearTimeout(limit);
    process.exit(failed ? 1 : 0);
  };
  return { end, endingSinceMs: () => sinceMs };
}
