import type { Logger } from 'pino';
import type { Platform, Store } from '../bot/platform.ts';
import type { ServerKit } from '../http/server.ts';
import { type AccountServices, addAccountRoutes, type BotFacts } from './account/account.ts';
import { createGuards, guarded } from './login/guards.ts';
import { type LoginOptions, openLogin } from './login/login.ts';
import { addLoginRoutes } from './login/routes.ts';
import { addPageRoutes, PAGES } from './page-files.ts';
import { channelsCollection, storedChannels } from './playground/channels.ts';
import { notOpen, openPlayground, type PlaygroundProgram } from './playground/playground.ts';
import { addPlaygroundRoutes } from './playground/routes.ts';
import { addStatus, type StatusOptions } from './status/status.ts';

/** The console of this process. */
export interface Console {
  /** Opens the playground, for as long as this process holds the bot. */
  createPlatform(program: PlaygroundProgram): Promise<Platform>;
  close(): Promise<void>;
}

/**
 * Adds the console to the server: its pages, and their requests under `/console/`. Call it before the server listens. Every
 * process serves the login, the status page and the account area. The playground needs the bot, and answers 503 `not_open`
 * until `createPlatform`. Rejects if the pages aren't built.
 */
export async function createConsole(options: {
  kit: ServerKit;
  store: Pick<Store, 'collection' | 'windows' | 'isShared'>;
  /** Channels to create, such as the ones in `ALERT_CHANNELS`. */
  channels?: readonly string[];
  /** The login. Without one, the console is open to everyone on this machine, and to no one else. */
  login?: LoginOptions;
  log: Logger;
  /** False if no process runs the bot: then `/` leads to the status page. */
  hasBot?: boolean;
  /** Facts about the bot for the account area, in every process. */
  botFacts: BotFacts;
  status?: StatusOptions;
  account?: AccountServices;
  /** The program's public address; the browser's own address if absent. */
  publicUrl?: string;
  /** The version that members see. */
  version?: string;
  /** The built pages. */
  pageFolder: URL;
}): Promise<Console> {
  const { kit, store, channels: named = [], botFacts, log, pageFolder } = options;
  const { account = { keys: {} } } = options;
  let playground: Awaited<ReturnType<typeof openPlayground>> | undefined;

  const login = options.login && (await openLogin({ ...options.login, store, log }));
  const guards = createGuards({
    login,
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
  const status = options.status && addStatus(kit.server, guards, { ...options.status, log });
  addPlaygroundRoutes(
    kit.server,
    guards,
    () => {
      if (!playground) throw notOpen();
      return playground.require();
    },
    () => status?.refresh(),
  );
  // With data files, the only process has the playground.
  const stored = store.isShared ? store.collection(channelsCollection) : undefined;
  addAccountRoutes(kit.server, guards, account, {
    botFacts,
    consoleChannels: async () => playground?.channelNames() ?? (await storedChannels(stored)),
  });
  // The server's close would wait forever for open streams.
  kit.server.addHook('preClose', async () => {
    playground?.closeStreams();
    await status?.close();
  });

  return {
    async createPlatform(program) {
      playground = await openPlayground(program, { named });
      return playground.platform;
    },
    close: async () => await login?.close(),
  };
}
