import type { Logger } from 'pino';
import type { Bot } from '../bot/bot.ts';
import { fieldsOf, usageOf } from '../bot/command.ts';
import { DeliveryError } from '../bot/errors.ts';
import type { Collection, Person, Platform } from '../bot/platform.ts';
import { HttpError, notFound } from '../http/errors.ts';
import type { ServerKit } from '../http/server.ts';
import { type Account, addAccountRoutes } from './account.ts';
import { createAnswers } from './answers.ts';
import { createEventStreams } from './event-streams.ts';
import { listedOf, openHistory, postedMessageId } from './history.ts';
import { type LoginOptions, openLogin } from './login.ts';
import { addLoginRoutes } from './login-routes.ts';
import { addPageRoutes, BUILT_PAGE, type ConsolePage } from './page-files.ts';
import { addConsoleRoutes } from './routes.ts';
import { createGuards } from './safety.ts';
import { createSayings } from './sayings.ts';
import { addStatus, type StatusOptions } from './status.ts';
import type { ListedCommand, RootMessage, Snapshot } from './wire.ts';

export { consoleCollection } from './history.ts';
export { fingerprintCollection, sessionsCollection } from './login.ts';

const CHANNELS = ['general'];

const PAGES: readonly ConsolePage[] = [
  { path: '/', name: 'playground', title: 'Askwatch' },
  { path: '/status', name: 'status', title: 'Status', guard: 'statusPage' },
  { path: '/login', name: 'login', title: 'Log in to Askwatch', guard: 'loginPage' },
  { path: '/account', name: 'account', title: 'Account · Askwatch' },
];

/** Everyone who can open the console is the owner of this machine, or knows the one password. */
const PERSON: Person = { id: 'local', name: 'You' };

/** How long `stop` waits for answers under way before it cuts them. */
const ANSWER_GRACE_MS = 3_000;

/** The web console as a chat platform. */
export interface Console extends Platform {
  readonly name: 'console';
}

/**
 * Adds the console to the server: the page at `/` and what it talks to under `/console/`. Call before the server listens;
 * it takes what people say once it is started. Rejects when the page is not built.
 */
export async function createConsole(options: {
  kit: ServerKit;
  messages: Collection<RootMessage>;
  /** Who opens it has to log in; everyone on this machine may, and nobody else, when absent. */
  login?: LoginOptions;
  log: Logger;
  /** What the status page shows; there is none without. */
  status?: StatusOptions;
  /** What the account area manages; nothing when absent. */
  account?: Account;
  /** Folder of the built page; beside this module when absent. */
  pageFolder?: URL;
}): Promise<Console> {
  const { kit, messages, log, pageFolder = BUILT_PAGE, account = { keys: {} } } = options;
  const history = await openHistory(messages, log);
  let bot: Bot | undefined;
  let commands: ListedCommand[] = [];

  const streams = createEventStreams(
    (): Snapshot => ({
      kind: 'snapshot',
      person: PERSON,
      channels: CHANNELS,
      commands,
      messages: history.listed(),
    }),
  );
  const answers = createAnswers({ history, streams, log });
  const sayings = createSayings({ history, streams, answers, person: PERSON, log });

  const login = options.login && (await openLogin({ ...options.login, log }));
  const guards = createGuards({
    ...(login && { login }),
    statusPublic: options.status?.isPublic ?? false,
  });
  await addPageRoutes(kit.server, guards, pageFolder, PAGES);
  addLoginRoutes(kit.server, guards, login);
  addConsoleRoutes(kit.server, guards, {
    streams,
    isOpen: () => bot !== undefined,
    thread(id) {
      const root = history.get(id);
      return root && { listed: listedOf(root), replies: root.replies.map(answers.latest) };
    },
    async take(gesture) {
      if (!bot) throw new HttpError(503, 'not_open', 'Askwatch is stopping.');
      if (!CHANNELS.includes(gesture.channel)) throw notFound('There is no such channel.');
      return await sayings.take(bot, gesture);
    },
  });
  const status = options.status && addStatus(kit.server, guards, { ...options.status, log });
  addAccountRoutes(kit.server, guards, account, () => bot);
  // Whoever closes the server without stopping the console first would wait for streams that never end.
  kit.server.addHook('preClose', async () => {
    streams.close();
    await status?.close();
  });

  return {
    name: 'console',
    channelName: (channel) => (CHANNELS.includes(channel) ? channel : undefined),
    async start(started) {
      bot = started;
      commands = started.commands.map((command) => ({
        name: command.name,
        summary: command.summary,
        usage: usageOf(command),
        examples: command.examples,
        wholeLine: command.wholeLine ?? false,
        fields: fieldsOf(command),
      }));
    },
    async stop() {
      bot = undefined;
      await sayings.settle();
      await answers.finish(ANSWER_GRACE_MS);
      streams.close();
      login?.close();
    },
    async post({ channel, card, id }) {
      if (!CHANNELS.includes(channel)) {
        throw new DeliveryError(`The console has no channel '${channel}'; it has general.`, {
          permanent: true,
        });
      }
      const messageId = postedMessageId(id);
      const message = {
        id: messageId,
        author: { kind: 'askwatch' as const },
        atMs: Date.now(),
        body: { kind: 'card' as const, card },
      };
      const stored = await history
        .add({ channel, message, replies: [] })
        .catch(asDeliveryError('stored'));
      if (stored.added) streams.send({ kind: 'message', listed: listedOf(stored.root) });
      for (const gone of stored.removed) streams.send({ kind: 'removed', message: gone });
      const { body } = stored.root.message;
      const goesOn = body.kind === 'card' && (body.card.goesOn ?? false);
      return { message: messageId, thread: messageId, goesOn };
    },
    async update(_channel, posted, card) {
      const root = await history
        .change(posted.message, (message) => ({
          ...message,
          changedAtMs: Date.now(),
          body: { kind: 'card', card },
        }))
        .catch(asDeliveryError('changed'));
      if (!root) {
        throw messageGone();
      }
      streams.send({ kind: 'message', listed: listedOf(root) });
    },
    async announce({ posted, card: { tone, title }, id }) {
      const reply = {
        id: postedMessageId(id),
        author: { kind: 'askwatch' as const },
        atMs: Date.now(),
        body: { kind: 'card' as const, card: { tone, title, parts: [] } },
      };
      const root = await history.putReply(posted.thread, reply).catch(asDeliveryError('stored'));
      if (!root) throw messageGone();
      streams.send({ kind: 'reply', root: posted.thread, reply });
      streams.send({ kind: 'message', listed: listedOf(root) });
    },
  };
}

const messageGone = () =>
  new DeliveryError('The message is gone: it made room for newer ones.', { permanent: true });

function asDeliveryError(what: string) {
  return (cause: unknown): never => {
    throw new DeliveryError(`The console's message could not be ${what}.`, {
      permanent: false,
      cause,
    });
  };
}
