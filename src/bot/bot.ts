import type { Logger } from 'pino';
import type { GatewayClient } from '../clients/gateway.ts';
import type { MonitoringClient } from '../clients/monitoring.ts';
import type { Lease, Store } from '../store/store.ts';
import { incidentFacts, incidentSummary } from './alerts/incident-facts.ts';
import { createRetryClosed } from './alerts/retry-closed.ts';
import { createSender } from './alerts/sender.ts';
import { Ask } from './ask/ask.ts';
import { createBudgets } from './ask/budgets.ts';
import { createCatalog } from './ask/catalog.ts';
import { createChannelDefaults } from './ask/channel-defaults.ts';
import {
  type Conversations,
  conversationKey,
  createConversations,
  type Question,
} from './ask/conversations.ts';
import { PeopleReader } from './ask/people-messages.ts';
import { createShownAnswers } from './ask/shown-answers.ts';
import { ToolCalls } from './ask/tool-calls.ts';
import { openUnfinishedAnswers } from './ask/unfinished-answers.ts';
import { type Channels, createChannels } from './channels/channels.ts';
import { createPersonPlaces } from './channels/person-places.ts';
import { WEBHOOK } from './channels/webhook-address.ts';
import { createWebhooks } from './channels/webhooks.ts';
import { messageActions } from './commands/commands.ts';
import {
  createDispatch,
  createFormOfPress,
  createOpenForm,
  type Services,
} from './commands/dispatch.ts';
import { openFeatures, type SharedParts } from './commands/feature.ts';
import { isIncidentQuestion } from './commands/incident-actions.ts';
import type { BotCore, BotParts, OpenFeatures } from './commands/open-features.ts';
import { createKnown, createSuggest } from './commands/suggest.ts';
import { actions, features as allFeatures, commands, forms } from './features.ts';
import { createPdfReader } from './files/pdf.ts';
import { createFileReader } from './files/read-files.ts';
import { openForget } from './forget.ts';
import { createHomes } from './home/home.ts';
import {
  createIncidents,
  type Incidents,
  incidentOfThread,
  isPosting,
  waitForPosts,
} from './incidents/incident-service.ts';
import type { WatchState } from './incidents/watch-state.ts';
import type { OpenBot, Platform } from './platform.ts';
import { indexNames, type NameIndex } from './rules/rules.ts';
import { compact } from './shared/card.ts';
import { systemClock } from './shared/clock.ts';
import { type Place, placeKey } from './shared/place.ts';
import type { PlatformTraits } from './shared/platform-traits.ts';
import { requireRight } from './shared/rights.ts';
import { openPressed, openSeenInvocations } from './shared/seen-invocations.ts';
import type { BotSettings } from './shared/settings.ts';
import { FileError } from './shared/shared-file.ts';
import { withSharedList } from './tools/monitors.ts';
import { createProposals, type Proposals } from './tools/proposals.ts';
import { toolsByItself, toolsFor } from './tools/registry.ts';
import { reportsTo } from './tools/reported-alerts.ts';
import { createUsageLog, type UsageLog } from './usage/usage-log.ts';
import { openLastPoll } from './watch/last-poll.ts';
import { createPoller } from './watch/poller.ts';
import { openWatchState } from './watch/watch-store.ts';

export interface BotOptions {
  store: Store;
  /** Only the process that holds it sends anything. */
  lease: Pick<Lease, 'fence' | 'isHeld'>;
  gateway: GatewayClient;
  monitoring: MonitoringClient;
  settings: BotSettings;
  /** Facts about platforms; others have only a name. */
  platforms?: readonly PlatformTraits[];
  /** Opened by the program because its other parts use them, too; the bot's own if absent. */
  usageLog?: UsageLog;
  channels?: Channels;
  shared?: SharedParts;
  /** The built program that reads PDFs; the file next to this one when absent. */
  pdfProgram?: URL;
  log: Logger;
}

const DAY_MS = 86_400_000;

/** Names of monitors seldom change, and each question asks for them. */
const NAMES_FRESH_MS = 60_000;

/** Puts the bot together. It neither receives nor sends anything before `start` and before platforms call it. */
export async function createBot(options: BotOptions): Promise<OpenBot> {
  const { store, lease, settings, platforms = [], shared = new Map(), log } = options;
  const traitsOf = (name: string): PlatformTraits =>
    platforms.find((one) => one.name === name) ?? { name };
  const core = await openCore(options);
  const { state, channels, channelDefaults, conversations, usageLog, clock } = core;
  const { alertPlaces } = settings;
  const sender = createSender({ ...core, ...channels, alertPlaces, lease });
  const features = await openFeatures(allFeatures, { ...core, onChange: sender.wake }, shared);
  const changing = {
    state,
    nowMs: clock.nowMs,
    onChange() {
      sender.wake();
      for (const one of features.all) one.onAlertsChange?.();
    },
  };
  const incidents = createIncidents({
    ...changing,
    silenceFor: (incident) => features.first((one) => one.silenceFor?.(incident)),
  });
  const lastPoll = await openLastPoll(store, { pollMs: settings.alertPollMs });
  const poller = createPoller({
    ...core,
    lastPoll,
    alertPlaces,
    pollMs: settings.alertPollMs,
    onChange: sender.wake,
  });
  const threads = new Threads(state, conversations);
  const proposals = createProposals(store);
  const started: StartedPlatforms = { all: [] };
  const pdfs = createPdfReader({ program: options.pdfProgram, log });
  const botParts = createBotParts(core, { features, incidents, threads });
  const ask = createAsk(core, { features, incidents, threads, proposals, started, pdfs, botParts });
  const webhooks = createWebhooks(core, () => platformOf(started, WEBHOOK));
  const services: Services = {
    ...core,
    webhooks,
    commands,
    actions: [...actions, ...messageActions],
    incidents,
    ask,
    proposals,
    features,
    traitsOf,
  };
  const seenInvocations = openSeenInvocations(store);
  const unfinished = await openUnfinishedAnswers(store, { ...core, seenInvocations });
  const shownAnswers = createShownAnswers(store);
  const places = createPersonPlaces(store, {
    hasHomes: (platform) => traitsOf(platform).hasHomes ?? false,
    log,
  });
  const forgetting = await openForget(store, {
    conversations,
    channels,
    channelDefaults,
    unfinished,
    others: [usageLog, places, shownAnswers, proposals],
    features: features.all,
    state,
    alertPlaces,
    log,
  });
  const dispatch = createDispatch(services, {
    seenInvocations,
    pressed: openPressed(store),
    unfinished,
  });
  const openForm = createOpenForm(services);
  const tidying = new DailyTidying(
    [conversations, usageLog, places, proposals, ...features.all],
    log,
  );
  return {
    commands,
    forms,
    formOfPress: createFormOfPress(services, { forms, openForm }),
    async dispatch(invocation, onStored) {
      const { place, thread } = invocation;
      if (thread !== undefined && isPosting(state.current()?.alerts, placeKey(place))) {
        await threads.isOurs(place, thread);
      }
      const [reply] = await Promise.all([dispatch(invocation, onStored), places.note(invocation)]);
      return reply;
    },
    openForm,
    homes: createHomes({ ...services, places, alerts: () => state.current()?.alerts, openForm }),
    ...forgetting,
    webhookAddress: webhooks.addressOf,
    retryClosed: createRetryClosed(changing),
    shownAnswers,
    suggest: createSuggest(core),
    answersIn: async (place, thread) => unfinished.idsIn(place, thread),
    isConversation: (place, thread) => threads.isOurs(place, thread),
    incidents,
    features,
    interrupt(platform) {
      ask.cutAll(platform);
      return unfinished.snapshot(platform);
    },
    async start(running) {
      started.all = running;
      sender.start(running);
      poller.start();
      unfinished.start(running);
      for (const one of features.all) one.start?.(botParts);
      tidying.start();
    },
    async stop() {
      await Promise.all([
        ...[ask, sender, poller, unfinished, pdfs, tidying].map((part) => part.stop()),
        ...features.all.map((one) => one.stop?.()),
      ]);
      await Promise.all(features.all.map((one) => one.close?.()));
    },
  };
}

/** The parts on which features and everything else build. */
async function openCore(options: BotOptions): Promise<Omit<BotCore, 'onChange'>> {
  const { store, gateway, monitoring, settings, log } = options;
  const { channels = createChannels(store), usageLog = createUsageLog(store) } = options;
  const channelDefaults = createChannelDefaults(store);
  return {
    store,
    gateway,
    monitoring,
    settings,
    state: await openWatchState(store),
    channels,
    channelDefaults,
    catalog: createCatalog({ gateway, standard: settings.askModel, log }),
    budgets: createBudgets({ channelDefaults, usageLog }),
    usageLog,
    conversations: createConversations(store),
    clock: systemClock,
    random: Math.random,
    log,
  };
}

/** The platforms of the bot once it has started. */
interface StartedPlatforms {
  all: readonly Platform[];
}

const platformOf = ({ all }: StartedPlatforms, platform: string) =>
  all.find(({ name }) => name === platform);

/** The threads of incidents and conversations. */
class Threads {
  private readonly state: WatchState;
  private readonly conversations: Conversations;

  constructor(state: WatchState, conversations: Conversations) {
    this.state = state;
    this.conversations = conversations;
  }

  incidentAt(place: Place, thread: string) {
    return incidentOfThread(this.state.current()?.alerts, placeKey(place), thread);
  }

  /** Alerts from other systems in a channel. */
  reportsAt(place: Place) {
    return reportsTo(this.state.current(), placeKey(place));
  }

  /** True for a thread of the bot. It may be below an alert that is just being posted. */
  async isOurs(place: Place, thread: string): Promise<boolean> {
    if (this.incidentAt(place, thread)) return true;
    const kept = await this.conversations.stateOf(conversationKey(place, thread));
    if (kept === 'ours') return true;
    await waitForPosts(this.state, placeKey(place));
    return this.incidentAt(place, thread) !== undefined;
  }
}

function createAsk(
  core: Omit<BotCore, 'onChange'>,
  parts: {
    features: OpenFeatures;
    incidents: Incidents;
    threads: Threads;
    proposals: Proposals;
    started: StartedPlatforms;
    pdfs: ReturnType<typeof createPdfReader>;
    botParts: BotParts;
  },
): Ask {
  const { monitoring, conversations, channels, log } = core;
  const { features, threads, proposals, started, pdfs } = parts;
  return new Ask({
    ...core,
    proposals,
    people: new PeopleReader({
      conversations,
      isAlert: (place, thread) => threads.incidentAt(place, thread) !== undefined,
      read: (place, around, limits) =>
        platformOf(started, place.platform)?.readAround?.(place.channel, around, limits),
      log,
    }),
    files: createFileReader({
      open(place, file, signal) {
        const opened = platformOf(started, place.platform)?.readFile?.(file, {
          channel: place.channel,
          signal,
        });
        if (!opened) throw new FileError('Askwatch cannot read files here.');
        return opened;
      },
      readPdf: pdfs.read,
      log,
    }),
    keepCalls: parts.botParts.keepCalls,
    buttonsUnder: parts.botParts.buttonsUnder,
    async contextOf(place, thread, signal) {
      const found = threads.incidentAt(place, thread);
      if (!found) return undefined;
      const { firing } = threads.reportsAt(place);
      return await incidentFacts(found, { monitoring, firing, nowMs: Date.now(), signal });
    },
    documentFor(question, thread) {
      const { place } = question;
      const found = threads.incidentAt(place, thread);
      if (!found) return undefined;
      const at = { place: placeKey(place), thread };
      return features.first((one) => one.documentFor?.(question, at, found));
    },
    async withoutModel({ question, place }, thread, signal) {
      const found = isIncidentQuestion(question) ? threads.incidentAt(place, thread) : undefined;
      if (!found) return undefined;
      const facts = await features.first((one) => one.factsAbout?.(found, place, signal));
      return compact(incidentSummary(found), facts).join('\n\n');
    },
    toolsFor: (question, thread) => createToolCalls(question, thread, { core, ...parts }),
    monitorNames: createKnownNames(monitoring, log),
    async zoneOf(place) {
      const { quiet, report } = await channels.settingsOf(placeKey(place));
      return quiet?.zone ?? report?.zone ?? 'UTC';
    },
    subjectsOf(place, thread) {
      const found = threads.incidentAt(place, thread);
      return (found?.all ?? []).map(({ monitorId }) => monitorId);
    },
  });
}

function createBotParts(
  core: Omit<BotCore, 'onChange'>,
  parts: { features: OpenFeatures; incidents: Incidents; threads: Threads },
): BotParts {
  const { features } = parts;
  return {
    toolsByItself({ place, thread, id, person }) {
      const handling = { answer: id, putOff: async () => {} };
      return createToolCalls({ place, person, handling }, thread, {
        core,
        ...parts,
        byItself: true,
      });
    },
    buttonsUnder: (answer, shown) =>
      features.all.flatMap((one) => one.buttonsUnder?.(answer, shown) ?? []),
    async keepCalls(at, answer, calls) {
      for (const one of features.all) await one.keepCalls?.(at, answer, calls);
    },
  };
}

/** Names of monitors, to find them in questions. */
function createKnownNames(monitoring: MonitoringClient, log: Logger): () => Promise<NameIndex> {
  const known = createKnown(
    async () => {
      const monitors = await monitoring.list();
      return [indexNames(monitors.map((one) => ({ ...one, kind: 'monitor' as const })))];
    },
    log,
    NAMES_FRESH_MS,
  );
  const none = indexNames([]);
  return async () => (await known())[0] ?? none;
}

/** The tools of one question. */
async function createToolCalls(
  { place, person, handling }: Pick<Question, 'place' | 'person' | 'handling'>,
  thread: string | undefined,
  parts: {
    core: Omit<BotCore, 'onChange'>;
    features: OpenFeatures;
    incidents: Incidents;
    threads: Threads;
    byItself?: boolean;
  },
): Promise<ToolCalls> {
  const { core, features, incidents, threads, byItself = false } = parts;
  const { channels, usageLog, settings, log } = core;
  const monitoring = withSharedList(core.monitoring);
  const offers = await Promise.all(features.all.map((one) => one.toolsIn?.(place, { byItself })));
  const offered = offers.filter((one) => one !== undefined);
  return new ToolCalls({
    tools: [
      ...(byItself ? toolsByItself : toolsFor({ hasPlace: true })),
      ...offered.flatMap(({ tools }) => tools),
    ],
    missing: offered.flatMap(({ missing }) => missing),
    contextOf: (signal) => ({
      monitoring,
      channels,
      usageLog,
      incidents,
      alertPlaces: settings.alertPlaces,
      place,
      reported: () => threads.reportsAt(place),
      thread,
      person,
      idempotencyKey: handling.answer,
      nowMs: Date.now(),
      signal,
      log,
    }),
    requireRight: (right) => requireRight(right, { person, place, settings }),
    pageUrl: (page) => settings.pagesUrl && `${settings.pagesUrl}${page}`,
    nowMs: Date.now(),
    log,
  });
}

/** Deletes expired data, at the start and once a day. */
class DailyTidying {
  private readonly parts: ReadonlyArray<{ forgetOld?(): Promise<unknown> }>;
  private readonly log: Logger;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();

  constructor(parts: ReadonlyArray<{ forgetOld?(): Promise<unknown> }>, log: Logger) {
    this.parts = parts;
    this.log = log;
  }

  start(): void {
    this.timer = setInterval(() => this.tidy(), DAY_MS);
    this.tidy();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  private tidy(): void {
    this.running = Promise.all(this.parts.map((one) => one.forgetOld?.())).then(
      () => {},
      (error: unknown) => {
        this.log.error({ err: error }, 'could not delete expired data');
      },
    );
  }
}
