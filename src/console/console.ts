import type { Logger } from 'pino';
import { commands } from '../bot/commands/commands.ts';
import type { Bot, Platform, Store } from '../bot/platform.ts';
import { DeliveryError } from '../bot/shared/errors.ts';
import { HttpError } from '../http/errors.ts';
import type { ServerKit } from '../http/server.ts';
import { type Account, addAccountRoutes, type BotFacts } from './account/account.ts';
import { createGuards, guarded } from './login/guards.ts';
import { type LoginOptions, openLogin } from './login/login.ts';
import { addLoginRoutes } from './login/routes.ts';
import { addPageRoutes, PAGES } from './page-files.ts';
import { createAnswers } from './playground/answers.ts';
import {
  handedOverClaims,
  handedOverEvents,
  openBotElsewhere,
} from './playground/bot-elsewhere.ts';
import { channelsCollection, openChannels } from './playground/channels.ts';
import { listedCommand, shownSuggestions } from './playground/commands.ts';
import {
  consoleEvents,
  createEventStreams,
  type StreamedEvent,
} from './playground/event-streams.ts';
import { createFiles, filesCollection, piecesCollection } from './playground/files.ts';
import { historyCollection, openHistory } from './playground/history.ts';
import { createMessageIntake } from './playground/message-intake.ts';
import { openPeople, peopleCollection } from './playground/people.ts';
import { createPosting } from './playground/posting.ts';
import { createPrivateMessages } from './playground/private-messages.ts';
import { addPlaygroundRoutes } from './playground/routes.ts';
import type { Interaction, Outcome, Snapshot, Someone } from './shared/api-types.ts';
import { addStatus, type StatusOptions } from './status/status.ts';

/** Between two removals of old files. */
const FILES_EVERY_MS = 15 * 60_000;

/** How long `stop` waits for answers under way before it cuts them. */
const ANSWER_GRACE_MS = 3_000;

/**
 * Adds the console to the server: the page at `/` and what it talks to under `/console/`. Call before the server listens;
 * as a chat platform it takes what people say once it is started. Rejects when the page is not built.
 */
export async function createConsole(options: {
  kit: ServerKit;
  store: Pick<Store, 'collection' | 'events' | 'lease' | 'claims'>;
  /** Channels that there have to be, such as those of `ALERT_CHANNELS`. */
  channels?: readonly string[];
  /** Who opens it has to log in; everyone on this machine may, and nobody else, when absent. */
  login?: LoginOptions | undefined;
  log: Logger;
  /** Whether there is a bot, here or elsewhere; without one there is no playground, and `/` leads to the status page. */
  hasBot?: boolean;
  /**
   * When other processes show the same console: what is known of the bot's affairs also while this one has none, and what
   * people do here is done by the bot of another one.
   */
  elsewhere?: BotFacts | undefined;
  /** What the status page shows; there is none without. */
  status?: StatusOptions;
  /** What the account area manages; nothing when absent. */
  account?: Account;
  /** Where others reach the program; where the browser is when absent. */
  publicUrl?: string | undefined;
  /** Version that pages behind the login show; none if absent. */
  version?: string;
  /** Where `npm run build:page` wrote the pages. */
  pageFolder: URL;
}): Promise<Platform> {
  const { kit, store, channels: named = [], log, pageFolder } = options;
  const { account = { keys: {} } } = options;
  const streams = createEventStreams(store.events(consoleEvents));
  const files = createFiles(store.collection(filesCollection), store.collection(piecesCollection));
  const history = await openHistory(store.collection(historyCollection), {
    streams,
    onRemoved: files.removeWith,
    log,
  });
  const removeOldFiles = () =>
    files
      .removeOld(Date.now())
      .catch((error: unknown) =>
        log.error({ err: error }, 'could not remove old files; trying again in 15 minutes'),
      );
  await removeOldFiles();
  const fileTimer = setInterval(removeOldFiles, FILES_EVERY_MS).unref();
  const privates = createPrivateMessages(streams);
  const channels = await openChannels(store.collection(channelsCollection), { named, streams });
  const people = await openPeople(store.collection(peopleCollection), { streams, log });
  let bot: Bot | undefined;
  let isStopped = false;

  function requireOpen() {
    if (isStopped) throw notOpen();
  }

  /** The bot of this process, or what is known of its affairs without it. */
  function botFacts(): BotFacts {
    const known = bot ?? (isStopped ? undefined : options.elsewhere);
    if (!known) throw notOpen();
    return known;
  }

  function snapshotFor(id: string): Snapshot {
    const { messages, older } = history.newest();
    const own = privates.listed(id).map(({ message, ...listed }) => ({
      ...listed,
      message: answers.latest(message),
    }));
    return {
      kind: 'snapshot',
      person: people.find(id) ?? { id, name: '' },
      people: people.all(),
      channels: channels.list(),
      commands: listedCommands,
      messages: [...messages, ...own].sort((a, b) => a.message.atMs - b.message.atMs),
      older,
    };
  }

  const answers = createAnswers({ history, privates, streams, log });
  const { has: hasChannel } = channels;
  const intake = createMessageIntake({ hasChannel, history, privates, answers, files, log });

  /** What the bot of this process makes of what somebody does; nothing while it has none. */
  function ownIntake() {
    const own = bot;
    return own && ((interaction: Interaction, by: Someone) => intake.accept(own, interaction, by));
  }

  const elsewhere =
    options.elsewhere &&
    (await openBotElsewhere(store.events(handedOverEvents), {
      claims: store.claims(handedOverClaims),
      accept: ownIntake,
      log,
    }));

  async function accept(interaction: Interaction, by: Someone): Promise<Outcome> {
    const take = ownIntake() ?? elsewhere?.accept;
    if (!take) throw notOpen();
    return await take(interaction, by);
  }

  /** Takes note of what other processes have told, so that what this one shows is at least as new. */
  async function heard(events: readonly StreamedEvent[]) {
    if (events.some(changesHistory)) await history.catchUp();
    const kinds = new Set(events.map(({ event }) => event.kind));
    if (kinds.has('channel')) await channels.read();
    if (kinds.has('person')) await people.read();
    for (const event of events) {
      privates.heard(event);
      answers.heard(event);
    }
  }

  await streams.follow({
    snapshot: snapshotFor,
    heard,
    async missed() {
      answers.forgetElsewhere();
      await Promise.all([history.catchUp(), channels.read(), people.read()]);
    },
  });

  const login = options.login && (await openLogin({ ...options.login, store, log }));
  const guards = createGuards({
    ...(login && { login }),
    statusPublic: options.status?.isPublic ?? false,
  });
  const { hasBot = true } = options;
  const pages = PAGES.filter(({ path }) => hasBot || path !== '/');
  const { publicUrl, version } = options;
  await addPageRoutes(kit.server, guards, pageFolder, { pages, publicUrl, version });
  if (!hasBot) {
    kit.server.get('/', guarded(guards.statusPage), (_request, reply) =>
      reply.redirect('/status', 303),
    );
  }
  addLoginRoutes(kit.server, guards, login);
  addPlaygroundRoutes(kit.server, guards, {
    streams,
    people,
    channels,
    history,
    privates,
    answers,
    files,
    requireOpen,
    accept,
    suggest: async (input, typed) => shownSuggestions((await bot?.suggest(input, typed)) ?? []),
  });
  const status = options.status && addStatus(kit.server, guards, { ...options.status, log });
  addAccountRoutes(kit.server, guards, account, {
    ...{ botFacts, store },
    consoleChannels: () => channels.list(),
  });
  // Whoever closes the server without stopping the console first would wait for streams that never end.
  kit.server.addHook('preClose', async () => {
    streams.close();
    await status?.close();
  });

  return {
    name: 'console',
    channelName: (channel) => (channels.list().includes(channel) ? channel : undefined),
    async start(started) {
      await history.endLeft(async (channel, thread) => {
        const answers = await started.answersIn({ platform: 'console', channel }, thread);
        return answers.length > 0;
      });
      bot = started;
      elsewhere?.takeUnanswered();
    },
    async stop() {
      bot = undefined;
      isStopped = true;
      clearInterval(fileTimer);
      await intake.settle();
      await answers.finish(ANSWER_GRACE_MS);
      elsewhere?.close();
      streams.close();
      history.close();
      await login?.close();
    },
    readFile: (file, { channel }) => files.read(file, channel),
    async takeOver(takenOver) {
      if (isStopped) throw new DeliveryError('The console has stopped.', { permanent: false });
      await intake.takeOver(takenOver);
    },
    ...createPosting({ history, channels, answers }),
  };
}

const listedCommands = commands.map(listedCommand);

const notOpen = () =>
  new HttpError(503, 'not_open', 'Askwatch is starting or stopping. Try again.', {
    headers: { 'retry-after': '1' },
  });

/** Whether a channel message or its thread has changed. */
const changesHistory = ({ event, person }: StreamedEvent) =>
  person === undefined && ['message', 'reply', 'removed'].includes(event.kind);
