import type { Logger } from 'pino';
import type { GatewayClient } from '../clients/gateway.ts';
import type { MonitoringClient } from '../clients/monitoring.ts';
import type { Lease, Store } from '../store/store.ts';
import { incidentFacts, incidentSummary } from './alerts/incident-facts.ts';
import { postmortemAnswer } from './alerts/postmortem-answer.ts';
import { createRetryClosed } from './alerts/retry-closed.ts';
import { createSender } from './alerts/sender.ts';
import { Ask } from './ask/ask.ts';
import { createBudgets } from './ask/budgets.ts';
import { createCatalog } from './ask/catalog.ts';
import { createChannelDefaults } from './ask/channel-defaults.ts';
import { conversationKey, createConversations } from './ask/conversations.ts';
import { PeopleReader } from './ask/people-messages.ts';
import { createShownAnswers } from './ask/shown-answers.ts';
import { ToolCalls } from './ask/tool-calls.ts';
import { openUnfinishedAnswers } from './ask/unfinished-answers.ts';
import { type Channels, createChannels } from './channels/channels.ts';
import { createPersonPlaces } from './channels/person-places.ts';
import { actions, commands, forms, messageActions } from './commands/commands.ts';
import { createDispatch, createFormOfPress, createOpenForm } from './commands/dispatch.ts';
import { isIncidentQuestion, isPostmortemQuestion } from './commands/incident-actions.ts';
import { createKnown, createSuggest } from './commands/suggest.ts';
import { createFeedback, type Feedback } from './feedback/feedback.ts';
import { createPdfReader } from './files/pdf.ts';
import { createFileReader } from './files/read-files.ts';
import { openForget } from './forget.ts';
import { createHomes } from './home/home.ts';
import {
  createIncidents,
  incidentOfThread,
  isPosting,
  waitForPosts,
} from './incidents/incident-service.ts';
import { openAlertmanagers } from './intake/alertmanager-of.ts';
import { createIntake } from './intake/intake.ts';
import { createIntakes, type Intakes } from './intake/intakes.ts';
import { Silencer, silenceFor } from './intake/silences.ts';
import { createUpkeep } from './intake/upkeep.ts';
import type { OpenBot, Platform } from './platform.ts';
import { createReporter } from './reports/reporter.ts';
import { createReports } from './reports/reports.ts';
import { createNarrator } from './reports/sentences.ts';
import { systemClock } from './shared/clock.ts';
import { type Place, placeKey } from './shared/place.ts';
import type { PlatformTraits } from './shared/platform-traits.ts';
import { requireRight } from './shared/rights.ts';
import { openPressed, openSeenInvocations } from './shared/seen-invocations.ts';
import type { BotSettings } from './shared/settings.ts';
import { FileError } from './shared/shared-file.ts';
import { withSharedList } from './tools/monitors.ts';
import type { OtherServer } from './tools/others/known-server.ts';
import { createOtherTools } from './tools/others/other-tools.ts';
import { createProposals } from './tools/proposals.ts';
import { toolsFor } from './tools/registry.ts';
import { reportsTo } from './tools/reported-alerts.ts';
import { createUsageLog, type UsageLog } from './usage/usage-log.ts';
import { openLastPoll } from './watch/last-poll.ts';
import { createPoller } from './watch/poller.ts';
import { openWatchState } from './watch/watch-store.ts';

export interface BotOptions {
  store: Store;
  /** Under which this process alone speaks; once it is not held, nothing more is sent. */
  lease: Pick<Lease, 'fence' | 'isHeld'>;
  gateway: GatewayClient;
  monitoring: MonitoringClient;
  settings: BotSettings;
  /** What is known of platforms; of one that is not named here, that it has a name. */
  platforms?: readonly PlatformTraits[];
  /** Other people's servers whose tools may be used. */
  toolServers?: readonly OtherServer[];
  /** Where something else reads who asked how much, too. */
  usageLog?: UsageLog;
  /** The built program that reads PDFs; the file next to this one when absent. */
  pdfProgram?: URL;
  /** Shared with another reader of the alert subscriptions; the bot's own if absent. */
  channels?: Channels;
  /** Where something else reads how answers were rated, too. */
  feedback?: Feedback;
  /** Where something else knows of the intakes, too. */
  intakes?: Intakes;
  log: Logger;
}

const DAY_MS = 86_400_000;

/** Names of monitors seldom change, and each question asks for them. */
const NAMES_FRESH_MS = 60_000;

/** Puts the bot together; it hears and says nothing until platforms hand it something and `start` is called. */
export async function createBot(options: BotOptions): Promise<OpenBot> {
  const { store, lease, gateway, monitoring, settings, platforms = [], log } = options;
  const traitsOf = (name: string): PlatformTraits =>
    platforms.find((one) => one.name === name) ?? { name };
  const conversations = createConversations(store);
  const { channels = createChannels(store) } = options;
  const channelDefaults = createChannelDefaults(store);
  const { usageLog = createUsageLog(store) } = options;
  const { feedback = createFeedback(store, { days: settings.feedbackDays }) } = options;
  const { intakes = await createIntakes(store) } = options;
  const budgets = createBudgets({ channelDefaults, usageLog });
  const places = createPersonPlaces(store, {
    hasHomes: (platform) => traitsOf(platform).hasHomes ?? false,
    log,
  });
  const catalog = createCatalog({ gateway, standard: settings.askModel, log });
  const state = await openWatchState(store);
  const incidentAt = (place: Place, thread: string) =>
    incidentOfThread(state.current()?.alerts, placeKey(place), thread);
  /** What others report to a channel, which nobody is told of elsewhere. */
  const reportedTo = (place: Place) =>
    (state.current()?.reported ?? []).filter((one) => one.place === placeKey(place));
  const reportsAt = (place: Place) => reportsTo(state.current(), placeKey(place));
  /** Whether a thread is one of ours. An alert that is being posted to its channel may be the one above it. */
  async function isOurThread(place: Place, thread: string): Promise<boolean> {
    if (incidentAt(place, thread)) return true;
    if ((await conversations.stateOf(conversationKey(place, thread))) === 'ours') return true;
    await waitForPosts(state, placeKey(place));
    return incidentAt(place, thread) !== undefined;
  }
  const proposals = createProposals(store);
  let started: readonly Platform[] = [];
  const platformOf = ({ platform }: Place) => started.find(({ name }) => name === platform);
  const people = new PeopleReader({
    conversations,
    isAlert: (place, thread) => incidentAt(place, thread) !== undefined,
    read: (place, around, limits) => platformOf(place)?.readAround?.(place.channel, around, limits),
    log,
  });
  const pdfs = createPdfReader({ program: options.pdfProgram, log });
  const files = createFileReader({
    open(place, file, signal) {
      const opened = platformOf(place)?.readFile?.(file, { channel: place.channel, signal });
      if (!opened) throw new FileError('Askwatch cannot read files here.');
      return opened;
    },
    readPdf: pdfs.read,
    log,
  });
  const otherTools = createOtherTools({ servers: options.toolServers ?? [], store, log });
  const ask = new Ask({
    gateway,
    catalog,
    conversations,
    channelDefaults,
    budgets,
    usageLog,
    people,
    files,
    evidence: feedback.evidence,
    async contextOf(place, thread, signal) {
      const found = incidentAt(place, thread);
      if (!found) return undefined;
      const { firing } = reportsAt(place);
      return await incidentFacts(found, { monitoring, firing, nowMs: Date.now(), signal });
    },
    documentFor({ question, place }, thread) {
      const found = isPostmortemQuestion(question) ? incidentAt(place, thread) : undefined;
      return (
        found &&
        postmortemAnswer(found, {
          monitoring,
          place: placeKey(place),
          async questions() {
            const turns = await conversations.turns(conversationKey(place, thread));
            return turns.flatMap(({ question: text, atMs }) =>
              isIncidentQuestion(text) ? [] : [{ text, atMs }],
            );
          },
          nowMs: Date.now(),
        })
      );
    },
    withoutModel({ question, place }, thread) {
      const found = isIncidentQuestion(question) ? incidentAt(place, thread) : undefined;
      return found && incidentSummary(found);
    },
    async toolsFor({ place, person, handling }, thread) {
      const { tools, missing } = await otherTools.offerIn(place);
      const shared = withSharedList(monitoring);
      return new ToolCalls({
        tools: [...toolsFor({ hasPlace: true }), ...tools],
        missing,
        contextOf: (signal) => ({
          monitoring: shared,
          channels,
          usageLog,
          incidents,
          alertPlaces: settings.alertPlaces,
          place,
          reported: () => reportsAt(place),
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
    },
    monitorNames: createKnown(
      async () => (await monitoring.list()).map(({ name }) => name),
      log,
      NAMES_FRESH_MS,
    ),
    proposals,
    settings,
    log,
  });
  const { alertPlaces, alertPollMs: pollMs } = settings;
  const timing = { clock: systemClock, random: Math.random };
  const alertmanagers = openAlertmanagers({ intakes, urls: settings.alertmanagerUrls });
  const lastPoll = await openLastPoll(store, { pollMs });
  const { settingsOf } = channels;
  const narrate = createNarrator({ gateway, catalog, channelDefaults, budgets, usageLog, log });
  const reports = createReports({ monitoring, channels, alertPlaces, reportedTo, narrate });
  const watching = { state, ...timing, log };
  const sender = createSender({ ...watching, alertPlaces, settingsOf, lease });
  const silencer = new Silencer({
    ...{ ...watching, onChange: sender.wake },
    clientFor: alertmanagers.clientFor,
  });
  const onChange = () => {
    sender.wake();
    silencer.wake();
  };

  const telling = { state, nowMs: Date.now, onChange };
  const incidents = createIncidents({
    ...telling,
    silenceFor: (incident) =>
      silenceFor(incident, { hasAddress: alertmanagers.urlFor(incident) !== undefined }),
  });
  const intake = createIntake({ ...telling, intakes, channels, log });
  const alerting = [
    sender,
    createPoller({
      ...{ ...watching, onChange: sender.wake },
      ...{ monitoring, lastPoll, channels, alertPlaces, pollMs },
    }),
    createReporter({ ...watching, channels, reports, onChange: sender.wake }),
    createUpkeep({ ...watching, intakes, intake, channels, onChange: sender.wake }),
    silencer,
  ];
  const services = {
    commands,
    actions: [...actions, ...messageActions],
    incidents,
    settings,
    monitoring,
    ask,
    catalog,
    channels,
    channelDefaults,
    usageLog,
    conversations,
    proposals,
    otherTools,
    budgets,
    reports,
    feedback,
    intake,
    intakes,
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
    others: [usageLog, places, shownAnswers, proposals, feedback],
    feedback,
    intakes,
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
  const alerts = () => state.current()?.alerts;
  const homes = createHomes({ ...services, places, alerts, openForm });

  let tidying: NodeJS.Timeout | undefined;
  let tidied = Promise.resolve();
  const tidy = () => {
    const kept = [conversations, usageLog, places, proposals, feedback];
    tidied = Promise.all(kept.map((one) => one.forgetOld())).then(
      () => {},
      (error: unknown) => {
        log.error({ err: error }, 'could not delete expired data');
      },
    );
  };

  return {
    commands,
    forms,
    formOfPress: createFormOfPress(services, { forms, openForm }),
    async dispatch(invocation, onStored) {
      const { place, thread } = invocation;
      if (thread !== undefined && isPosting(state.current()?.alerts, placeKey(place))) {
        await isOurThread(place, thread);
      }
      const [reply] = await Promise.all([dispatch(invocation, onStored), places.note(invocation)]);
      return reply;
    },
    openForm,
    homes,
    ...forgetting,
    retryClosed: createRetryClosed(telling),
    shownAnswers,
    suggest: createSuggest({ monitoring, catalog, log }),
    answersIn: async (place, thread) => unfinished.idsIn(place, thread),
    isConversation: isOurThread,
    incidents,
    intake,
    interrupt(platform) {
      ask.cutAll(platform);
      return unfinished.snapshot(platform);
    },
    async start(platforms) {
      started = platforms;
      for (const part of alerting) part.start(platforms);
      unfinished.start(platforms);
      otherTools.start();
      tidying = setInterval(tidy, DAY_MS);
      tidy();
    },
    async stop() {
      clearInterval(tidying);
      const parts = [ask, intake, ...alerting, unfinished, pdfs];
      await Promise.all([...parts.map((part) => part.stop()), tidied]);
      await Promise.all([otherTools.stop(), alertmanagers.close()]);
    },
  };
}
