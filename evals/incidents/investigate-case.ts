import { createBudgets } from '../../src/bot/ask/budgets.ts';
import { createCatalog } from '../../src/bot/ask/catalog.ts';
import { createChannelDefaults } from '../../src/bot/ask/channel-defaults.ts';
import { conversationKey, createConversations } from '../../src/bot/ask/conversations.ts';
import { ToolCalls } from '../../src/bot/ask/tool-calls.ts';
import { createChannels } from '../../src/bot/channels/channels.ts';
import { openFeatures } from '../../src/bot/commands/feature.ts';
import type { BotCore, BotParts, OpenFeatures } from '../../src/bot/commands/open-features.ts';
import { createIncidents } from '../../src/bot/incidents/incident-service.ts';
import type { Investigation } from '../../src/bot/incidents/watch-state.ts';
import { startedCard } from '../../src/bot/investigations/investigation-card.ts';
import { runInvestigation } from '../../src/bot/investigations/run-investigation.ts';
import { placeKey } from '../../src/bot/shared/place.ts';
import { toolServers } from '../../src/bot/tool-servers/feature.ts';
import { createOtherTools } from '../../src/bot/tool-servers/other-tools.ts';
import { withSharedList } from '../../src/bot/tools/monitors.ts';
import { toolsByItself } from '../../src/bot/tools/registry.ts';
import { reportsTo } from '../../src/bot/tools/reported-alerts.ts';
import { createUsageLog } from '../../src/bot/usage/usage-log.ts';
import { openWatchState } from '../../src/bot/watch/watch-store.ts';
import { createGatewayClient, type GatewayClient } from '../../src/clients/gateway.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { createToolServer } from '../../src/clients/tool-server.ts';
import type { ChatRequest } from '../../src/contracts/gateway.ts';
import type { Store } from '../../src/store/store.ts';
import { createMemoryData, openMemoryStore } from '../../test/helpers/memory-store/memory-store.ts';
import { recordingLog } from '../../test/helpers/recording-log.ts';
import { recordGateway, type Used } from '../run/recorded-gateway.ts';
import { plannedChecks } from '../week/planned-checks.ts';
import { NOW_MS } from '../week/planned-monitor.ts';
import { writeHistory } from '../week/write-week.ts';
import type { Models } from '../world/models.ts';
import { startServiceAt } from '../world/service.ts';
import { standAt } from '../world/standing-clock.ts';
import { type IncidentCase, TEAM_TOOLS } from './case.ts';
import { type Noise, noiseOf } from './noise.ts';
import { startTeamTools } from './team-tools.ts';
import { PLACE, POSTMORTEM_TURN, type ScriptedWorld, worldOf } from './world.ts';

/** One investigation with everything that it read and sent. */
export interface InvestigatedCase {
  /** The message that people see. */
  card: Investigation['card'];
  /** Requests to the model. */
  requests: readonly ChatRequest[];
  /** Requests to the monitoring service, such as `GET /api/v1/public/monitors`. */
  serviceRequests: string[];
  /** Names of the team's tools that were called. */
  teamCalls: string[];
  used: Used;
  tookMs: number;
}

/** Returns the result of a tool of the team's server. */
export type CallTeamTool = (name: string, input: Record<string, unknown>) => string;

/** A model that sends nothing for this long has stalled. */
const STALL_MS = 120_000;

/** A tool of the team's server that changes something, so an investigation may not use it. */
export const WRITING_TEAM_TOOL = 'restart_service';

const DESCRIPTIONS: Record<(typeof TEAM_TOOLS)[number], string> = {
  find_deployments: 'Finds recent deployments and configuration changes of services.',
  search_logs: 'Searches recent log lines of services.',
  search_issues: 'Searches issues and announcements of the team.',
};

const TEAM_SERVER_TOOLS = [
  ...TEAM_TOOLS.map((name) => ({
    name,
    description: DESCRIPTIONS[name],
    inputSchema: { type: 'object', properties: { service: { type: 'string' } } },
    annotations: { readOnlyHint: true },
  })),
  { name: WRITING_TEAM_TOOL, description: 'Restarts a service.', inputSchema: { type: 'object' } },
];

/** Investigates cases one after another with one model, each in a bot of its own. */
export async function openInvestigator({ model, models }: { model: string; models: Models }) {
  const { log } = recordingLog();
  const team = await startTeamTools(TEAM_SERVER_TOOLS);
  const gateway = createGatewayClient(models);

  async function investigateWorld(
    world: ScriptedWorld,
    callTool: CallTeamTool,
  ): Promise<InvestigatedCase> {
    team.call = callTool;
    team.calls.length = 0;
    const restoreClock = standAt(NOW_MS);
    const createServers = () => [serverOf(team.url)];
    const store = await writtenStore(world, createServers());
    const service = await startServiceAt(NOW_MS, store, plannedChecks());
    const serviceRequests: string[] = [];
    service.onRequest((method, path) => serviceRequests.push(`${method} ${path}`));
    const monitoring = createMonitoringClient({
      baseUrl: service.url,
      apiKey: service.createKey(),
    });
    const recorded = recordGateway(gateway);
    const core = await openCore({ store, monitoring, gateway: recorded.client, model, log });
    const shared = new Map([[toolServers.name, createServers]]);
    const features = await openFeatures([toolServers], core, shared);
    try {
      const fromMs = performance.now();
      const { card } = await runInvestigation(INVESTIGATION, {
        core,
        bot: partsOf(core, features),
        signal: new AbortController().signal,
        onSteps() {},
      });
      return {
        ...{ card, serviceRequests, requests: recorded.requests, used: recorded.used() },
        ...{ teamCalls: [...team.calls], tookMs: performance.now() - fromMs },
      };
    } finally {
      await Promise.all(features.all.map((one) => one.close?.()));
      await monitoring.close();
      await service.close();
      await store.close();
      restoreClock();
    }
  }

  return {
    investigateWorld,
    /** `index` chooses the noise. The team's tools return the entries of the case by default. */
    async investigate(
      one: IncidentCase,
      index: number,
      callTool?: CallTeamTool,
    ): Promise<InvestigatedCase> {
      const noise = noiseOf(one, index);
      const call = callTool ?? ((tool) => resultOf(one, noise, tool));
      return await investigateWorld(worldOf(one, noise), call);
    },
    async close() {
      await gateway.close();
      await team.close();
    },
  };
}

const INVESTIGATION: Investigation = {
  kind: 'investigation',
  ...{ id: 'investigation', version: 1, openedAtMs: NOW_MS, deliveries: [], of: 'alert' },
  ...{ place: placeKey(PLACE), under: { message: 'alert', thread: 'alert' }, monitorIds: [] },
  ...{ state: 'running', startedAtMs: NOW_MS, card: startedCard(), actions: [] },
};

const serverOf = (url: string) => ({
  client: createToolServer({ name: 'team', url, headers: {} }, { version: '0' }),
  tools: [...TEAM_TOOLS, WRITING_TEAM_TOOL],
  investigate: [...TEAM_TOOLS, WRITING_TEAM_TOOL],
  ...{ writes: undefined, channels: undefined },
});

/** A store in which the service and the bot have run until now. It is closed in between: data may be open only once. */
async function writtenStore(
  { monitors, watching, postmortems }: ScriptedWorld,
  servers: ReturnType<typeof serverOf>[],
): Promise<Store> {
  const data = createMemoryData();
  const store = openMemoryStore({ data });
  await writeHistory(store, monitors);
  await (await openWatchState(store)).update(() => watching);
  const investigate = { afterMs: 1, tokensPerDay: 10_000_000 };
  await createChannels(store).change(PLACE, { settings: { investigate } });
  const conversations = createConversations(store);
  for (const { place, thread, answer } of postmortems) {
    await conversations.add(conversationKey(place, thread), { ...POSTMORTEM_TURN, answer });
  }
  // Reads the server's list, whose tools are offered from then on.
  const otherTools = createOtherTools({ servers, store, log: recordingLog().log });
  await otherTools.states();
  await otherTools.stop();
  await store.close();
  return openMemoryStore({ data });
}

async function openCore({
  model,
  ...given
}: Pick<BotCore, 'store' | 'monitoring' | 'log'> & {
  gateway: GatewayClient;
  model: string;
}): Promise<BotCore> {
  const { store } = given;
  const usageLog = createUsageLog(store);
  const channelDefaults = createChannelDefaults(store);
  const nowMs = () => NOW_MS;
  return {
    ...given,
    ...{ usageLog, channelDefaults },
    settings: {
      ...{ askStallMs: STALL_MS, feedbackDays: 0, alertPlaces: [], alertPollMs: 30_000 },
      ...{ mayAdd: 'everyone', mayManage: 'everyone', pagesUrl: 'https://askwatch.example' },
    },
    state: await openWatchState(store),
    channels: createChannels(store),
    catalog: createCatalog({ ...given, standard: model }),
    budgets: createBudgets({ channelDefaults, usageLog, nowMs }),
    conversations: createConversations(store),
    clock: { nowMs, pause: async () => {} },
    random: Math.random,
    onChange() {},
  };
}

/** The parts that the bot gives to an investigation. */
function partsOf(core: BotCore, features: OpenFeatures): BotParts {
  return {
    async toolsByItself({ place, person, id }) {
      const offer = await features.first((one) => one.toolsIn?.(place, { byItself: true }));
      const { tools = [], missing } = offer ?? {};
      const { monitoring, state, settings, log } = core;
      const context = {
        ...core,
        monitoring: withSharedList(monitoring),
        incidents: createIncidents({ ...core, nowMs: core.clock.nowMs }),
        ...{ alertPlaces: [], place, person, idempotencyKey: id, nowMs: NOW_MS },
        reported: () => reportsTo(state.current(), placeKey(place)),
      };
      return new ToolCalls({
        tools: [...toolsByItself, ...tools],
        missing,
        contextOf: (signal) => ({ ...context, signal }),
        requireRight: () => Promise.reject(new Error('Nobody asked for a change.')),
        pageUrl: (page) => `${settings.pagesUrl}${page}`,
        ...{ nowMs: NOW_MS, log },
      });
    },
    buttonsUnder: () => [],
    async keepCalls() {},
  };
}

/** The lines of a case between the noise. */
function resultOf({ found }: IncidentCase, noise: Noise, tool: string): string {
  const name = TEAM_TOOLS.find((one) => one === tool);
  if (name === undefined) throw new Error(`There is no tool ${tool}.`);
  const [first, ...others] = noise.found[name];
  return [first, ...(found?.[name] ?? []), ...others].join('\n');
}
