import type { Logger } from 'pino';
import type { GatewayClient } from '../clients/gateway.ts';
import type { MonitoringClient } from '../clients/monitoring.ts';
import type { Store } from '../store/store.ts';
import { incidentFacts, incidentSummary, toldIn } from './alerts/incident-facts.ts';
import { createSender } from './alerts/sender.ts';
import { type Ask, createAsk } from './ask/ask.ts';
import { type Catalog, createCatalog } from './ask/catalog.ts';
import { type ChannelsAsking, createChannelsAsking } from './ask/channel-defaults.ts';
import { type Conversations, conversationKey, createConversations } from './ask/conversations.ts';
import { createShownAnswers, type ShownAnswers } from './ask/shown-answers.ts';
import { openUnfinishedAnswers } from './ask/unfinished-answers.ts';
import { type AskedBook, createAskedBook } from './ask/usage-log.ts';
import { type Channels, createChannels } from './channels/channels.ts';
import { createPersonPlaces } from './channels/person-places.ts';
import type { Command, FormBegin } from './commands/command.ts';
import { actions, commands } from './commands/commands.ts';
import { createHandle, createOpenForm } from './commands/dispatch.ts';
import { isIncidentQuestion } from './commands/incident-actions.ts';
import { createPresses } from './commands/press-claims.ts';
import { createSeen } from './commands/seen-invocations.ts';
import { createSuggest, type Suggest } from './commands/suggest.ts';
import { type Gone, openForget } from './forget.ts';
import { createHomes, type Homes } from './home/home.ts';
import { createIncidents, type Incidents } from './incidents/incident-service.ts';
import {
  type Invocation,
  type Person,
  type Place,
  type Platform,
  type PlatformName,
  placeKey,
  type Reply,
} from './platform.ts';
import type { Card } from './shared/card.ts';
import { systemClock } from './shared/clock.ts';
import type { Who } from './shared/rights.ts';
import { openLastLook } from './watch/last-poll.ts';
import { createWatch } from './watch/poller.ts';
import { openWatchState } from './watch/watch-store.ts';

/** What the bot may be told by the operator. */
export interface BotSettings {
  /** Model of `/ask` when none is named; the catalog's first text model when undefined. */
  askModel: string | undefined;
  askSystemPrompt: string | undefined;
  /** An answer with no new text for so long is ended with a note. */
  askStallMs: number;
  /** Channels that hear every alert. */
  alertPlaces: Place[];
  alertPollMs: number;
  /** Who may add monitors. */
  mayAdd: Who;
  /** Who may pause and remove monitors, and change how a channel is told and answered. */
  mayManage: Who;
}

export interface Bot {
  readonly commands: readonly Command[];
  /** The one door: checks, refuses repeats, runs the command. Never throws; every error becomes a card. */
  handle(invocation: Invocation): Promise<Reply>;
  /** How the form of a command begins for somebody; a card says why they get none. Never throws. */
  openForm(
    command: Command,
    where: { place: Place; person: Person },
  ): Promise<{ begin: FormBegin } | { card: Card }>;
  /** What each person sees of it all, where the platform has a page for that. */
  homes: Homes;
  /** Whether a thread is one of ours, so that a plain message in it is a question. */
  isConversation(place: Place, thread: string): Promise<boolean>;
  /** For platforms: a thread was deleted, or without one the channel, and all that was kept for it goes. */
  forget(place: Place, thread?: string): Promise<void>;
  /**
   * For platforms: Askwatch is no longer in a workspace or server, and all that was kept for its channels goes. What a kill
   * interrupts of it is done at the next start.
   */
  forgetAll(gone: Gone): Promise<void>;
  /** For platforms that may find out that some are gone: the channels for which something is kept. */
  keptChannels(platform: PlatformName): Promise<string[]>;
  /** For platforms: the conversations of answers that are shown outside of a thread. */
  readonly shownAnswers: ShownAnswers;
  /** What to offer somebody who types into an input. */
  readonly suggest: Suggest;
  /** The gateway's models, for who wants to see them all. */
  readonly catalog: Pick<Catalog, 'models'>;
  /** Who asked how much, in all channels together. */
  readonly asked: Pick<AskedBook, 'everywhere'>;
  /** What a platform that was started calls one of its channels, where it knows. */
  channelName(place: Place): string | undefined;
  /**
   * For whoever makes a platform anew: cuts the answers that it shows with a note. What it returns is to be called once the
   * new one runs, which then ends those whose end the old one could not show.
   */
  interrupt(platform: PlatformName): () => void;
  /** Starts watching and sending alerts through these platforms, which are started. */
  start(platforms: readonly Platform[]): Promise<void>;
  /** Lets answers under way end or cuts them with a note, and stops watching and sending; takes at most 4 s. */
  stop(): Promise<void>;
}

/** What a command's `run` is given besides its input. */
export interface Call {
  invocation: Invocation;
  place: Place;
  person: Person;
  commands: readonly Command[];
  /** What buttons can do besides. */
  actions: readonly Command[];
  incidents: Incidents;
  settings: BotSettings;
  monitoring: MonitoringClient;
  ask: Ask;
  catalog: Catalog;
  channels: Channels;
  asking: ChannelsAsking;
  asked: AskedBook;
  conversations: Conversations;
  log: Logger;
}

export interface BotOptions {
  store: Store;
  gateway: GatewayClient;
  monitoring: MonitoringClient;
  settings: BotSettings;
  log: Logger;
}

const DAY_MS = 86_400_000;

/** Puts the bot together; it hears and says nothing until platforms hand it something and `start` is called. */
export async function createBot(options: BotOptions): Promise<Bot> {
  const { store, gateway, monitoring, settings, log } = options;
  const conversations = createConversations(store);
  const channels = createChannels(store);
  await channels.hideSecrets().catch((error: unknown) => {
    log.error(
      { err: error },
      'secrets in targets stay in the stored channels; the next start tries again',
    );
  });
  const asking = createChannelsAsking(store);
  const asked = createAskedBook(store);
  const places = createPersonPlaces(store, { log });
  const catalog = createCatalog({ gateway, standard: settings.askModel, log });
  const state = await openWatchState(store, log);
  const toldAt = (place: Place, thread: string) =>
    toldIn(state.current()?.topics, placeKey(place), thread);
  const ask = createAsk({
    gateway,
    catalog,
    conversations,
    asking,
    book: asked,
    async contextOf(place, thread, signal) {
      const told = toldAt(place, thread);
      if (!told) return undefined;
      return await incidentFacts(told, { monitoring, nowMs: Date.now(), signal });
    },
    withoutModel({ question, place }, thread) {
      const told = isIncidentQuestion(question) ? toldAt(place, thread) : undefined;
      return told && incidentSummary(told);
    },
    settings,
    log,
  });
  const { alertPlaces, alertPollMs: pollMs } = settings;
  const timing = { clock: systemClock, random: Math.random };
  const lastLook = await openLastLook(store, { pollMs });
  const { settingsOf } = channels;
  const sender = createSender({ state, alertPlaces, settingsOf, ...timing, log });
  const watch = createWatch({
    ...{ monitoring, state, lastLook, channels, alertPlaces, pollMs, ...timing, log },
    onNews: sender.wake,
  });

  const incidents = createIncidents({ state, nowMs: Date.now, onNews: sender.wake });
  const services = {
    ...{ commands, actions, incidents, settings },
    ...{ monitoring, ask, catalog, channels, asking, asked, conversations, log },
  };
  const seen = createSeen(store);
  const unfinished = await openUnfinishedAnswers(store, { conversations, seen, ...timing, log });
  const shownAnswers = createShownAnswers(store);
  const forgetting = await openForget(store, {
    ...{ conversations, channels, asking, asked, places, shownAnswers, unfinished, state },
    ...{ alertPlaces, log },
  });
  const handle = createHandle(services, { seen, presses: createPresses(seen), unfinished });
  const openForm = createOpenForm(services);
  const topics = () => state.current()?.topics;
  const homes = createHomes({ ...services, places, topics, openForm });

  let started: readonly Platform[] = [];
  let tidying: NodeJS.Timeout | undefined;
  let tidied = Promise.resolve();
  const tidy = () => {
    tidied = Promise.all([conversations, asked, places].map((one) => one.forgetOld())).then(
      () => {},
      (error: unknown) => {
        log.error({ err: error }, 'what is old could not be forgotten');
      },
    );
  };

  return {
    commands,
    async handle(invocation) {
      const [reply] = await Promise.all([handle(invocation), places.note(invocation)]);
      return reply;
    },
    openForm,
    homes,
    ...forgetting,
    shownAnswers,
    suggest: createSuggest({ monitoring, catalog, log }),
    async isConversation(place, thread) {
      if (toldAt(place, thread)) return true;
      return await conversations.isOpen(conversationKey(place, thread));
    },
    catalog,
    asked,
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
      watch.start();
      unfinished.start(platforms);
      tidying = setInterval(tidy, DAY_MS);
      tidy();
    },
    async stop() {
      clearInterval(tidying);
      await Promise.all([ask.stop(), watch.stop(), sender.stop(), unfinished.stop(), tidied]);
    },
  };
}
