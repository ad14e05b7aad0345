import type { Logger } from 'pino';
import type { GatewayClient } from '../clients/gateway.ts';
import type { MonitoringClient } from '../clients/monitoring.ts';
import type { Store } from '../store/store.ts';
import { incidentFacts, incidentSummary } from './alerts/incident-facts.ts';
import { createSender } from './alerts/sender.ts';
import { createAsk } from './ask/ask.ts';
import { createCatalog } from './ask/catalog.ts';
import { createChannelDefaults } from './ask/channel-defaults.ts';
import { conversationKey, createConversations } from './ask/conversations.ts';
import { createShownAnswers } from './ask/shown-answers.ts';
import { openUnfinishedAnswers } from './ask/unfinished-answers.ts';
import { createUsageLog, type UsageLog } from './ask/usage-log.ts';
import { createChannels } from './channels/channels.ts';
import { createPersonPlaces } from './channels/person-places.ts';
import { actions, commands } from './commands/commands.ts';
import { createDispatch, createOpenForm } from './commands/dispatch.ts';
import { isIncidentQuestion } from './commands/incident-actions.ts';
import { createSuggest } from './commands/suggest.ts';
import { openForget } from './forget.ts';
import { createHomes } from './home/home.ts';
import { createIncidents, incidentOfThread } from './incidents/incident-service.ts';
import type { Bot, Platform } from './platform.ts';
import { systemClock } from './shared/clock.ts';
import { type Place, placeKey } from './shared/place.ts';
import type { PlatformTraits } from './shared/platform-traits.ts';
import { openSeenInvocations } from './shared/seen-invocations.ts';
import type { BotSettings } from './shared/settings.ts';
import { openLastPoll } from './watch/last-poll.ts';
import { createPoller } from './watch/poller.ts';
import { openWatchState } from './watch/watch-store.ts';

export interface BotOptions {
  store: Store;
  gateway: GatewayClient;
  monitoring: MonitoringClient;
  settings: BotSettings;
  /** What is known of platforms; of one that is not named here, that it has a name. */
  platforms?: readonly PlatformTraits[];
  /** Where something else reads who asked how much, too. */
  usageLog?: UsageLog;
  log: Logger;
}

const DAY_MS = 86_400_000;

/** Puts the bot together; it hears and says nothing until platforms hand it something and `start` is called. */
export async function createBot(options: BotOptions): Promise<Bot> {
  const { store, gateway, monitoring, settings, platforms = [], log } = options;
  const traitsOf = (name: string): PlatformTraits =>
    platforms.find((one) => one.name === name) ?? { name };
  const conversations = createConversations(store);
  const channels = createChannels(store);
  await channels.hideSecrets().catch((error: unknown) => {
    log.error(
      { err: error },
      'secrets in targets stay in the stored channels; the next start tries again',
    );
  });
  const channelDefaults = createChannelDefaults(store);
  const { usageLog = createUsageLog(store) } = options;
  const places = createPersonPlaces(store, {
    hasHomes: (platform) => traitsOf(platform).hasHomes ?? false,
    log,
  });
  const catalog = createCatalog({ gateway, standard: settings.askModel, log });
  const state = await openWatchState(store, log);
  const incidentAt = (place: Place, thread: string) =>
    incidentOfThread(state.current()?.alerts, placeKey(place), thread);
  const ask = createAsk({
    gateway,
    catalog,
    conversations,
    channelDefaults,
    usageLog,
    async contextOf(place, thread, signal) {
      const found = incidentAt(place, thread);
      if (!found) return undefined;
      return await incidentFacts(found, { monitoring, nowMs: Date.now(), signal });
    },
    withoutModel({ question, place }, thread) {
      const found = isIncidentQuestion(question) ? incidentAt(place, thread) : undefined;
      return found && incidentSummary(found);
    },
    settings,
    log,
  });
  const { alertPlaces, alertPollMs: pollMs } = settings;
  const timing = { clock: systemClock, random: Math.random };
  const lastPoll = await openLastPoll(store, { pollMs });
  const { settingsOf } = channels;
  const sender = createSender({ state, alertPlaces, settingsOf, ...timing, log });
  const poller = createPoller({
    monitoring,
    state,
    lastPoll,
    channels,
    alertPlaces,
    pollMs,
    ...timing,
    log,
    onChange: sender.wake,
  });

  const incidents = createIncidents({ state, nowMs: Date.now, onChange: sender.wake });
  const services = {
    commands,
    actions,
    incidents,
    settings,
    monitoring,
    ask,
    catalog,
    channels,
    channelDefaults,
    usageLog,
    conversations,
    traitsOf,
    log,
  };
  const seenInvocations = openSeenInvocations(store);
  const unfinished = await openUnfinishedAnswers(store, {
    conversations,
    seenInvocations,
    ...timing,
    log,
  });
  const shownAnswers = createShownAnswers(store);
  const forgetting = await openForget(store, {
    conversations,
    channels,
    channelDefaults,
    unfinished,
    others: [usageLog, places, shownAnswers],
    state,
    alertPlaces,
    log,
  });
  const dispatch = createDispatch(services, { seenInvocations, unfinished });
  const openForm = createOpenForm(services);
  const alerts = () => state.current()?.alerts;
  const homes = createHomes({ ...services, places, alerts, openForm });

  let started: readonly Platform[] = [];
  let tidying: NodeJS.Timeout | undefined;
  let tidied = Promise.resolve();
  const tidy = () => {
    tidied = Promise.all([conversations, usageLog, places].map((one) => one.forgetOld())).then(
      () => {},
      (error: unknown) => {
        log.error({ err: error }, 'what is old could not be forgotten');
      },
    );
  };

  return {
    commands,
    async dispatch(invocation) {
      const [reply] = await Promise.all([dispatch(invocation), places.note(invocation)]);
      return reply;
    },
    openForm,
    homes,
    ...forgetting,
    shownAnswers,
    suggest: createSuggest({ monitoring, catalog, log }),
    async isConversation(place, thread) {
      if (incidentAt(place, thread)) return true;
      return await conversations.isOpen(conversationKey(place, thread));
    },
    catalog,
    usageLog,
    platformTitle: (name) => traitsOf(name).title ?? name,
    channelName({ platform, channel }) {
      return started.find(({ name }) => name === platform)?.channelName?.(channel);
    },
    interrupt(platform) {
      ask.cutAll(platform);
      return unfinished.snapshot(platform);
    },
    async start(platforms) {
      started = platforms;
      sender.start(platforms);
      poller.start();
      unfinished.start(platforms);
      tidying = setInterval(tidy, DAY_MS);
      tidy();
    },
    async stop() {
      clearInterval(tidying);
      await Promise.all([ask.stop(), poller.stop(), sender.stop(), unfinished.stop(), tidied]);
    },
  };
}
