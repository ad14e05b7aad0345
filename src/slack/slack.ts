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
  installedWorkspaces,
} from './workspaces/installed-workspaces.ts';
import { createSocket } from './workspaces/socket.ts';
import type { Workspace } from './workspaces/workspace.ts';
import { onlyWorkspace } from './workspaces/workspaces.ts';

/** Slack, as the composition root sees it. */
export interface Slack extends Platform {
  /** To be mounted on the one server: events over HTTP, and the pages where workspaces install the app. */
  routes: InstallRoute[];
}

/** How workspaces install the app. */
export interface SlackInstall {
  clientId: string;
  clientSecret: string;
  /** Scopes besides those of the manifest. */
  moreScopes?: string[];
  installations: Collection<EncryptedInstallation>;
  /** The states of installations that were used, each once, for as long as they last. */
  usedStates: Claims<never>;
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
 * Slack, not connected yet: over Socket Mode with an app token, over HTTP with a signing secret; in the one workspace of a
 * bot token, or in those that install the app. `onFatal` is called when Slack ends our access as a whole for good after the start,
 * such as by revoking a token.
 */
export async function createSlack(options: {
  botToken?: string;
  install?: SlackInstall;
  appToken?: string;
  signingSecret?: string;
  /** Base of the Web API, such as `https://slack.com/api/`. */
  apiUrl: string;
  log: Logger;
  onFatal(error: Error): void;
  /** False before this process holds the bot, and after it lost it: then nothing is shown. */
  isHeld(): boolean;
  paces?: Paces;
  /** The rate limits that Slack named earlier. */
  limits?: PlatformLimits;
}): Promise<Slack> {
  const { botToken, install, appToken, signingSecret = '', apiUrl } = options;
  const { onFatal, isHeld, paces = PACES } = options;
  const log = options.log.child({ platform: 'slack' });
  const boltLog = createBoltLog(log);
  const fetch = gatedFetch(isHeld);
  const limits = options.limits ?? (await openPlatformLimits({ platform: 'slack', log }));
  // Without these Bolt repeats posts whose answer was lost, holds up every channel for one, and waits for ever.
  const clientOptions: webApi.WebClientOptions = {
    slackApiUrl: apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: 10_000,
    // Calls of a channel that hangs must not hold up those of others.
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
  const installed =
    install &&
    installedWorkspaces({
      installations: install.installations,
      clientSecret: install.clientSecret,
      ...{ clientOf, fetch, paces, log },
      async forgetAll(teamId) {
        await bot?.forgetAll({ platform: 'slack', channels: [], prefix: `${teamId}/` });
      },
    });
  const workspaces =
    installed ??
    onlyWorkspace({
      client: clientOf(botToken, ''),
      ...{ fetch, paces, log },
      onAccessEnded: endForGood,
    });
  const secret = install?.clientSecret ?? botToken ?? '';
  const origins = createOrigins(createEncryption(secret, 'askwatch slack invocations'));
  let bot: Bot | undefined;
  const stopping = new AbortController();
  let state: 'new' | 'started' | 'stopped' = 'new';
  let ended = false;

  const socket = appToken
    ? createSocket({
        appToken,
        clientOptions,
        boltLog,
        log,
        retryMs: paces.retryMs,
        onError: refuseEnvelope,
        onRefused: endForGood,
      })
    : undefined;
  const receiver =
    socket?.receiver ?? new HTTPReceiver({ signingSecret, logger: boltLog, ...httpRefusals(log) });
  const app = new App({
    receiver,
    // Answered from what the start learned: Bolt would ask Slack about the token again and again.
    authorize: async ({ teamId }) => {
      const workspace = await workspaces.of(teamId);
      // Handled all the same: whoever types a command there gets an answer that says so.
      if (!workspace) return {};
      return { botToken: workspace.client.token ?? '', botUserId: workspace.self.userId };
    },
    logger: boltLog,
    clientOptions: { ...clientOptions },
    convoStore: false,
  });
  const acknowledged = acknowledgeEvents(app, log);
  app.error(async (error) => log.error({ err: error }, 'could not handle a Slack event'));

  function endForGood(error: Error): void {
    if (ended || state === 'stopped') return;
    ended = true;
    onFatal(error);
  }

  /**
   * With the user group that the card calls. Slack calls it when the message is posted; in one that is changed it is only
   * shown. Source: jenkinsci/slack-plugin issue 706.
   */
  function renderAlert(alert: Card): Content {
    // An alert is worth more than a chart in it, which a workspace may not take.
    const card = withoutCharts(alert);
    return renderCard(card, calledBy(card));
  }

  /** Whom a card calls; what is no id is left out. */
  function calledBy({ mention }: { mention?: string }): string | undefined {
    if (mention === undefined || CALLED.test(mention)) return mention;
    log.warn({ mention }, 'not a Slack user group id (S…) or person id (@U…); mentioning nobody');
    return undefined;
  }

  /** Does something in the workspace of a channel; what goes wrong there is a `DeliveryError`. */
  async function deliver<T>(
    name: string,
    send: (workspace: Workspace, channel: string) => Promise<T>,
  ): Promise<T> {
    const { workspace, channel } = await workspaces.at(name);
    try {
      return await send(workspace, channel);
    } catch (error) {
      await workspace.checkAccess(error);
      throw deliveryError(error);
    }
  }

  const routes: InstallRoute[] = [];
  if (receiver instanceof HTTPReceiver) {
    const handle = guardRequests(receiver.requestListener, { signingSecret, log });
    routes.push({ method: 'POST', path: '/slack/events', handle });
  }
  if (installed && install) {
    const { clientId, clientSecret, usedStates, moreScopes = [] } = install;
    const scopes = [...BOT_SCOPES, ...moreScopes];
    const shared = {
      clientId,
      clientSecret,
      usedStates,
      scopes,
      apiUrl,
      clientOptions,
      boltLog,
      log,
    };
    routes.push(...createInstallRoutes({ ...shared, install: installed.install }));
  }

  return {
    name: 'slack',
    routes: routes.map((route) => ({ ...route, handle: whenStarted(route.handle) })),

    async start(given: Bot) {
      bot = given;
      await workspaces.open(stopping.signal);
      listen(app, { workspaces, bot: given, origins, paces, log });
      await socket?.open();
      if (state === 'new') state = 'started';
    },

    pause: stopReading,

    async stop() {
      state = 'stopped';
      stopping.abort();
      const late = pause(paces.drainMs, undefined, { ref: false });
      await stopReading();
      // Once the lease is lost, nothing of what is under way can be shown.
      if (isHeld()) await Promise.race([workspaces.drained(), late]);
      workspaces.close();
    },

    async post({ channel: name, card, id, attempted, landsInMs }) {
      const alert = { id, goesOn: card.goesOn, attempted, landsInMs };
      return await deliver(name, async ({ messages, showCard }, channel) => {
        const send = (content: Content) => messages.postAlert({ channel }, content, alert);
        const { ts, goesOn } = hasChart(card)
          ? await showCard(card, send)
          : await send(renderAlert(card));
        return { message: ts, thread: ts, goesOn };
      });
    },

    linkTo: (name, { message }) =>
      deliver(name, async ({ client }, channel) => {
        const { permalink } = await client.chat.getPermalink({ channel, message_ts: message });
        return permalink;
      }),

    async update(name, posted, card) {
      await deliver(name, ({ messages }, channel) =>
        messages.update(channel, posted.message, renderAlert(card), 'alert'),
      );
    },

    async *readFile(file, { channel: name, signal }) {
      const { workspace } = await workspaces.at(name).catch((error: unknown) => {
        if (!(error instanceof DeliveryError)) throw error;
        throw new FileError(error.message, { cause: error });
      });
      yield* workspace.readFile(file, signal);
    },

    async endAnswer(left) {
      await deliver(left.channel, ({ endAnswer }, channel) =>
        endAnswer(channel, left, origins.of(left)),
      );
    },

    readAround: (name, around, limits) =>
      deliver(name, (workspace, channel) => workspace.people.read(channel, around, limits)),

    async announce(said) {
      const { channel: name, posted, card, mention, id, attempted } = said;
      const { thread } = posted;
      await deliver(name, ({ messages }, channel) => {
        const to = { channel, thread, broadcast: true };
        const line = renderLine(card, calledBy({ mention }));
        return messages.postAlert(to, line, { id, attempted });
      });
    },
  };

  /**
   * Closes the socket, at a moment at which all that came over it is acknowledged: Slack sends a command only once, and tells
   * its person that it failed.
   */
  async function stopReading(): Promise<void> {
    if (!socket) return;
    if (isHeld()) await acknowledged(paces.storeMs);
    await socket.close();
  }

  function whenStarted(handle: RequestListener): RequestListener {
    return (request, response) => {
      // Slack sends it again, in a minute at the latest; a person reads it.
      if (state !== 'started') response.writeHead(503).end('Askwatch is starting. Try again.');
      else handle(request, response);
    };
  }
}
