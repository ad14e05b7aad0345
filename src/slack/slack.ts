import type { RequestListener } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { App, HTTPReceiver, webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import {
  type Bot,
  type Claims,
  type Collection,
  createEncryption,
  type Platform,
} from '../bot/platform.ts';
import { type Card, hasChart, withoutCharts } from '../bot/shared/card.ts';
import { DeliveryError } from '../bot/shared/errors.ts';
import type { Interrupted } from '../bot/shared/invocation.ts';
import { openPlatformLimits, type PlatformLimits } from '../bot/shared/platform-limits.ts';
import { FileError } from '../bot/shared/shared-file.ts';
import { createOrigins } from './answers/origin.ts';
import { createBoltLog } from './api/bolt-log.ts';
import { deliveryError } from './api/call-failure.ts';
import { gatedFetch } from './api/gated-fetch.ts';
import type { Paces } from './api/paces.ts';
import { rateLimitedFetch } from './api/rate-limited-fetch.ts';
import { acknowledgeEvents, httpRefusals, refuseEnvelope } from './events/acknowledge.ts';
import { listen } from './events/listen.ts';
import { guardRequests } from './events/request-guards.ts';
import { BOT_SCOPES } from './manifest.ts';
import type { Content } from './render/blocks.ts';
import { renderCard, renderLine } from './render/render-card.ts';
import { createInstallRoutes, type InstallRoute } from './workspaces/install.ts';
import {
  type EncryptedInstallation,
  InstalledWorkspaces,
} from './workspaces/installed-workspaces.ts';
import { createSocket } from './workspaces/socket.ts';
import type { Workspace } from './workspaces/workspace.ts';
import { onlyWorkspace, type Workspaces } from './workspaces/workspaces.ts';

/** Slack, as the composition root sees it. */
export interface Slack extends Platform {
  /** Events over HTTP, and the pages that install the app. */
  routes: InstallRoute[];
}

/** Several workspaces install the app. */
export interface SlackInstall {
  clientId: string;
  clientSecret: string;
  /** Scopes in addition to the manifest's. */
  moreScopes?: string[];
  installations: Collection<EncryptedInstallation>;
  /** The states of installations, each used once. */
  usedStates: Claims<never>;
}

interface SlackOptions {
  botToken?: string;
  install?: SlackInstall;
  appToken?: string;
  signingSecret?: string;
  /** Base of the Web API, such as `https://slack.com/api/`. */
  apiUrl: string;
  log: Logger;
  /** Called if Slack ends the access after the start, such as by revoking a token. */
  onFatal(error: Error): void;
  /** False before this process holds the bot, and after it lost it: then nothing is shown. */
  isHeld(): boolean;
  paces?: Paces;
  /** The rate limits that Slack named earlier. */
  limits?: PlatformLimits;
}

const PACES: Paces = {
  editMs: 1_300,
  appendMs: 1_200,
  streamMs: 210_000,
  alertMs: 1_000,
  retryMs: 1_000,
  storeMs: 2_000,
  drainMs: 3_000,
};

/** A user group, or a person after @. Source: Slack docs, "Usergroup object", "User object". */
const CALLED = /^(?:S[A-Z0-9]{2,20}|@[UW][A-Z0-9]{1,29})$/;

/**
 * Slack, not connected yet: over Socket Mode with an app token, over HTTP with a signing secret; in the one workspace of a bot
 * token, or in the ones that install the app.
 */
export async function createSlack(options: SlackOptions): Promise<Slack> {
  const log = options.log.child({ platform: 'slack' });
  const limits = options.limits ?? (await openPlatformLimits({ platform: 'slack', log }));
  return new SlackPlatform({ ...options, limits, log });
}

/**
 * States: new, until `start` has connected; started; stopped. In `new` and `stopped` requests over HTTP get a 503. `ended` is
 * set by the first refusal that ends the access, which is reported once.
 */
class SlackPlatform implements Slack {
  readonly name = 'slack';
  readonly routes: InstallRoute[];
  private readonly options: SlackOptions;
  private readonly log: Logger;
  private readonly paces: Paces;
  private readonly workspaces: Workspaces;
  private readonly origins: ReturnType<typeof createOrigins>;
  private readonly socket: ReturnType<typeof createSocket> | undefined;
  private readonly app: App;
  private readonly acknowledged: (withinMs: number) => Promise<void>;
  private readonly stopping = new AbortController();
  private bot: Bot | undefined;
  private state: 'new' | 'started' | 'stopped' = 'new';
  private hasEnded = false;

  constructor(options: SlackOptions & { limits: PlatformLimits }) {
    const {
      botToken,
      install,
      appToken,
      signingSecret = '',
      apiUrl,
      isHeld,
      limits,
      log,
    } = options;
    const paces = options.paces ?? PACES;
    const boltLog = createBoltLog(log);
    const fetch = gatedFetch(isHeld);
    const onAccessEnded = (error: Error) => this.endForGood(error);
    // Bolt's defaults repeat posts whose answer was lost, delay all channels because of one, and wait without a limit.
    const clientOptions: webApi.WebClientOptions = {
      slackApiUrl: apiUrl,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: 10_000,
      // A channel that hangs must not delay the others.
      maxRequestConcurrency: 1_000,
      logger: boltLog,
      fetch: rateLimitedFetch(fetch, limits, 'app'),
    };
    const clientOf = (token: string | undefined, teamId: string) =>
      new webApi.WebClient(token, {
        ...clientOptions,
        allowAbsoluteUrls: false,
        fetch: rateLimitedFetch(fetch, limits, teamId),
      });
    const shared = { fetch, paces, log };
    const installed =
      install &&
      new InstalledWorkspaces({
        ...shared,
        installations: install.installations,
        clientSecret: install.clientSecret,
        clientOf,
        forgetAll: async (teamId) => {
          await this.bot?.forgetAll({ platform: 'slack', channels: [], prefix: `${teamId}/` });
        },
      });
    this.options = options;
    this.log = log;
    this.paces = paces;
    this.workspaces =
      installed ?? onlyWorkspace({ ...shared, client: clientOf(botToken, ''), onAccessEnded });
    const secret = install?.clientSecret ?? botToken ?? '';
    this.origins = createOrigins(createEncryption(secret, 'askwatch slack invocations'));
    this.socket =
      appToken === undefined
        ? undefined
        : createSocket({
            ...{ appToken, clientOptions, boltLog, log, retryMs: paces.retryMs },
            onError: refuseEnvelope,
            onRefused: onAccessEnded,
          });
    const receiver =
      this.socket?.receiver ??
      new HTTPReceiver({ signingSecret, logger: boltLog, ...httpRefusals(log) });
    this.app = this.createApp(receiver, { clientOptions, boltLog });
    this.acknowledged = acknowledgeEvents(this.app, log);
    const routes: InstallRoute[] = [];
    if (receiver instanceof HTTPReceiver) {
      const handle = guardRequests(receiver.requestListener, { signingSecret, log });
      routes.push({ method: 'POST', path: '/slack/events', handle });
    }
    if (installed && install) {
      const { moreScopes = [], ...app } = install;
      const scopes = [...BOT_SCOPES, ...moreScopes];
      const add = installed.install.bind(installed);
      const pages = { ...app, scopes, apiUrl, clientOptions, boltLog, log, install: add };
      routes.push(...createInstallRoutes(pages));
    }
    this.routes = routes.map((route) => ({ ...route, handle: this.whenStarted(route.handle) }));
  }

  async start(bot: Bot): Promise<void> {
    const { workspaces, origins, paces, log } = this;
    this.bot = bot;
    await workspaces.open(this.stopping.signal);
    listen(this.app, { workspaces, bot, origins, paces, log });
    await this.socket?.open();
    if (this.state === 'new') this.state = 'started';
  }

  /** Closes the socket once all its events are acknowledged: Slack sends a command only once. */
  async pause(): Promise<void> {
    if (!this.socket) return;
    if (this.options.isHeld()) await this.acknowledged(this.paces.storeMs);
    await this.socket.close();
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
    this.stopping.abort();
    const late = pause(this.paces.drainMs, undefined, { ref: false });
    await this.pause();
    // Without the lease nothing can be shown.
    if (this.options.isHeld()) await Promise.race([this.workspaces.drained(), late]);
    this.workspaces.close();
  }

  async post(post: Parameters<Platform['post']>[0]) {
    const { channel: name, under, card, id, attempted, landsInMs } = post;
    const thread = under?.thread;
    const alert = { id, goesOn: card.goesOn, attempted, landsInMs };
    const shown = under ? { ...card, mention: undefined } : card;
    return await this.deliver(name, async ({ messages, showCard }, channel) => {
      const send = (content: Content) => messages.postAlert({ channel, thread }, content, alert);
      const { ts, goesOn } = hasChart(shown)
        ? await showCard(shown, send)
        : await send(this.renderAlert(shown));
      return { message: ts, thread: thread ?? ts, goesOn };
    });
  }

  async update(...[name, { message, thread }, card]: Parameters<Platform['update']>) {
    const kind = thread === message ? 'alert' : 'below';
    await this.deliver(name, ({ messages }, channel) =>
      messages.update(channel, message, this.renderAlert(card), kind),
    );
  }

  async announce(line: Parameters<Platform['announce']>[0]): Promise<void> {
    const { channel: name, posted, card, mention, id, attempted } = line;
    await this.deliver(name, ({ messages }, channel) => {
      const to = { channel, thread: posted.thread, broadcast: true };
      const content = renderLine(card, this.calledBy({ mention }));
      return messages.postAlert(to, content, { id, attempted });
    });
  }

  async linkTo(...[name, { message }]: Parameters<NonNullable<Platform['linkTo']>>) {
    return await this.deliver(name, async ({ client }, channel) => {
      const { permalink } = await client.chat.getPermalink({ channel, message_ts: message });
      return permalink;
    });
  }

  async *readFile(...[file, { channel, signal }]: Parameters<NonNullable<Platform['readFile']>>) {
    const { workspace } = await this.workspaces.at(channel).catch((error: unknown) => {
      if (!(error instanceof DeliveryError)) throw error;
      throw new FileError(error.message, { cause: error });
    });
    yield* workspace.readFile(file, signal);
  }

  async endAnswer(left: Interrupted): Promise<void> {
    const origin = this.origins.of(left);
    await this.deliver(left.channel, ({ endAnswer }, channel) => endAnswer(channel, left, origin));
  }

  async readAround(...[name, around, limits]: Parameters<NonNullable<Platform['readAround']>>) {
    return await this.deliver(name, ({ people }, channel) => people.read(channel, around, limits));
  }

  private createApp(
    receiver: NonNullable<ConstructorParameters<typeof App>[0]>['receiver'],
    {
      clientOptions,
      boltLog,
    }: { clientOptions: webApi.WebClientOptions; boltLog: ReturnType<typeof createBoltLog> },
  ): App {
    const app = new App({
      receiver,
      // By default Bolt asks Slack about the token with each event.
      authorize: async ({ teamId }) => {
        const workspace = await this.workspaces.of(teamId);
        // Handled without a token, so that a command gets an answer that says so.
        if (!workspace) return {};
        return { botToken: workspace.client.token ?? '', botUserId: workspace.self.userId };
      },
      logger: boltLog,
      clientOptions: { ...clientOptions },
      convoStore: false,
    });
    app.error(async (error) => this.log.error({ err: error }, 'could not handle a Slack event'));
    return app;
  }

  private endForGood(error: Error): void {
    if (this.hasEnded || this.state === 'stopped') return;
    this.hasEnded = true;
    this.options.onFatal(error);
  }

  /**
   * An alert with its mention and without charts, which some workspaces refuse. Slack notifies only when a message is posted,
   * not when it is edited. Source: jenkinsci/slack-plugin issue 706.
   */
  private renderAlert(alert: Card): Content {
    const card = withoutCharts(alert);
    return renderCard(card, this.calledBy(card));
  }

  private calledBy({ mention }: { mention?: string }): string | undefined {
    if (mention === undefined || CALLED.test(mention)) return mention;
    const reason = 'not a Slack user group id (S…) or person id (@U…); mentioning nobody';
    this.log.warn({ mention }, reason);
    return undefined;
  }

  /** Does something in a channel's workspace. Throws a `DeliveryError`. */
  private async deliver<T>(
    name: string,
    send: (workspace: Workspace, channel: string) => Promise<T>,
  ): Promise<T> {
    const { workspace, channel } = await this.workspaces.at(name);
    try {
      return await send(workspace, channel);
    } catch (error) {
      await workspace.checkAccess(error);
      throw deliveryError(error);
    }
  }

  private whenStarted(handle: RequestListener): RequestListener {
    return (request, response) => {
      // Slack sends the event again within a minute; people read the sentence.
      if (this.state === 'started') handle(request, response);
      else response.writeHead(503).end('Askwatch is starting. Try again.');
    };
  }
}
