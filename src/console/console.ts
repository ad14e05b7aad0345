import type { Logger } from 'pino';
import type { Bot, Platform, Store } from '../bot/platform.ts';
import { HttpError } from '../http/errors.ts';
import type { ServerKit } from '../http/server.ts';
import { type Account, addAccountRoutes } from './account/account.ts';
import { createGuards, guarded } from './login/guards.ts';
import { type LoginOptions, openLogin } from './login/login.ts';
import { addLoginRoutes } from './login/routes.ts';
import { addPageRoutes, PAGES } from './page-files.ts';
import { createAnswers } from './playground/answers.ts';
import { channelsCollection, openChannels } from './playground/channels.ts';
import { listedCommand, shownSuggestions } from './playground/commands.ts';
import { createEventStreams } from './playground/event-streams.ts';
import { historyCollection, openHistory } from './playground/history.ts';
import { createMessageIntake } from './playground/message-intake.ts';
import { openPeople, peopleCollection } from './playground/people.ts';
import { createPosting } from './playground/posting.ts';
import { createPrivateMessages } from './playground/private-messages.ts';
import { addPlaygroundRoutes } from './playground/routes.ts';
import type { ListedCommand, Snapshot } from './shared/api-types.ts';
import { addStatus, type StatusOptions } from './status/status.ts';

/** How long `stop` waits for answers under way before it cuts them. */
const ANSWER_GRACE_MS = 3_000;

/**
 * Adds the console to the server: the page at `/` and what it talks to under `/console/`. Call before the server listens;
 * as a chat platform it takes what people say once it is started. Rejects when the page is not built.
 */
export async function createConsole(options: {
  kit: ServerKit;
  store: Pick<Store, 'collection'>;
  /** Channels that there have to be, such as those of `ALERT_CHANNELS`. */
  channels?: readonly string[];
  /** Who opens it has to log in; everyone on this machine may, and nobody else, when absent. */
  login?: LoginOptions | undefined;
  log: Logger;
  /** Whether `start` will be called; without a bot there is no playground, and `/` leads to the status page. */
  hasBot?: boolean;
  /** What the status page shows; there is none without. */
  status?: StatusOptions;
  /** What the account area manages; nothing when absent. */
  account?: Account;
  /** Where others reach the program; where the browser is when absent. */
  publicUrl?: string | undefined;
  /** Where `npm run build:page` wrote the pages. */
  pageFolder: URL;
}): Promise<Platform> {
  const { kit, store, channels: named = [], log, pageFolder } = options;
  const { account = { keys: {} } } = options;
  const streams = createEventStreams((person) => snapshotFor(person));
  const history = await openHistory(store.collection(historyCollection), { streams, log });
  const privates = createPrivateMessages(streams);
  const channels = await openChannels(store.collection(channelsCollection), { named, streams });
  const people = await openPeople(store.collection(peopleCollection), { streams, log });
  let bot: Bot | undefined;
  let commands: ListedCommand[] = [];

  function openBot(): Bot {
    if (bot) return bot;
    throw new HttpError(503, 'not_open', 'Askwatch is starting or stopping. Try again.', {
      headers: { 'retry-after': '1' },
    });
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
      commands,
      messages: [...messages, ...own].sort((a, b) => a.message.atMs - b.message.atMs),
      older,
    };
  }

  const answers = createAnswers({ history, privates, streams, log });
  const intake = createMessageIntake({ history, privates, answers, log });

  const login = options.login && (await openLogin({ ...options.login, store, log }));
  const guards = createGuards({
    ...(login && { login }),
    statusPublic: options.status?.isPublic ?? false,
  });
  const { hasBot = true } = options;
  const pages = PAGES.filter(({ path }) => hasBot || path !== '/');
  await addPageRoutes(kit.server, guards, pageFolder, pages, options.publicUrl);
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
    intake,
    openBot,
    suggest: async (input, typed) => shownSuggestions((await bot?.suggest(input, typed)) ?? []),
  });
  const status = options.status && addStatus(kit.server, guards, { ...options.status, log });
  addAccountRoutes(kit.server, guards, account, openBot);
  // Whoever closes the server without stopping the console first would wait for streams that never end.
  kit.server.addHook('preClose', async () => {
    streams.close();
    await status?.close();
  });

  return {
    name: 'console',
    channelName: (channel) => (channels.has(channel) ? channel : undefined),
    async start(started) {
      bot = started;
      commands = started.commands.map(listedCommand);
    },
    async stop() {
      bot = undefined;
      await intake.settle();
      await answers.finish(ANSWER_GRACE_MS);
      streams.close();
      login?.close();
    },
    ...createPosting({ history, channels }),
  };
}
