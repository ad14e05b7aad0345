import type { Logger } from 'pino';
import type { Platform, Store } from '../bot/platform.ts';
import type { ServerKit } from '../http/server.ts';
import { type Account, addAccountRoutes, type BotFacts } from './account/account.ts';
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
  /** Opens the playground, for as long as this process holds the bot: its routes then lead to this one. */
  createPlatform(program: PlaygroundProgram): Promise<Platform>;
  close(): Promise<void>;
}

/**
 * Adds the console to the server: the page at `/` and what it talks to under `/console/`. Call before the server listens. Every
 * process serves the pages, the login, the status page and the account area; the playground needs the bot, and is 503
 * `not_open` until `createPlatform`. Rejects when the page is not built.
 */
export async function createConsole(options: {
  kit: ServerKit;
  store: Pick<Store, 'collection' | 'lease' | 'isShared'>;
  /** Channels that there have to be, such as those of `ALERT_CHANNELS`. */
  channels?: readonly string[];
  /** Who opens it has to log in; everyone on this machine may, and nobody else, when absent. */
  login?: LoginOptions | undefined;
  log: Logger;
  /** True if some process runs the bot; else there is no playground, and `/` leads to the status page. */
  hasBot?: boolean;
  /** Facts about the bot that the account area shows, whichever process holds it. */
  botFacts: BotFacts;
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
}): Promise<Console> {
  const { kit, store, channels: named = [], botFacts, log, pageFolder } = options;
  const { account = { keys: {} } } = options;
  let playground: Awaited<ReturnType<typeof openPlayground>> | undefined;

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
  addPlaygroundRoutes(kit.server, guards, () => {
    if (!playground) throw notOpen();
    return playground.require();
  });
  const status = options.status && addStatus(kit.server, guards, { ...options.status, log });
  // A process on data files has the playground itself.
  const stored = store.isShared ? store.collection(channelsCollection) : undefined;
  addAccountRoutes(kit.server, guards, account, {
    ...{ botFacts, store },
    consoleChannels: async () => playground?.channelNames() ?? (await storedChannels(stored)),
  });
  // Whoever closes the server without stopping the console first would wait for streams that never end.
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
