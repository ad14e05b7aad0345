import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Installation as BoltInstallation,
  type Logger as BoltLogger,
  HTTPReceiver,
  type webApi,
} from '@slack/bolt';
import type { Logger } from 'pino';
import { InstallError, installProblem } from './install-error.ts';
import { renderPage, sendPage, setPageHeaders } from './install-page.ts';
import { createInstallStates, STATE_LASTS_SECONDS } from './install-state.ts';
import type { Installation } from './installations.ts';

const INSTALL_PATH = '/slack/install';

/** A page that a browser opens. */
export interface PageRoute {
  method: 'GET';
  path: string;
  handle(request: IncomingMessage, response: ServerResponse): void;
}

interface InstallOptions {
  clientId: string;
  clientSecret: string;
  scopes: readonly string[];
  /** Base of the Web API; the page on which people consent is beside it. */
  apiUrl: string;
  clientOptions: webApi.WebClientOptions;
  boltLog: BoltLogger;
  log: Logger;
  /** Takes what a workspace gave. */
  install(installation: Installation): Promise<void>;
}

/**
 * The pages on which a workspace installs the app, by Bolt's own installer. No redirect address is sent to Slack, which
 * then takes the one that the app has configured: whatever stands before us needs no setting.
 * Source: Slack docs, "Installing with OAuth", `redirect_uri`; slackapi/bolt-js issue 1115.
 */
export function createInstallRoutes(options: InstallOptions): PageRoute[] {
  const { log } = options;
  const installer = createInstaller(options);

  async function begin(request: IncomingMessage, response: ServerResponse): Promise<void> {
    setPageHeaders(response);
    await installer.handleInstallPath(request, response, {}, { scopes: [...options.scopes] });
  }

  async function end(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await installer.handleCallback(request, response, {
      success: ({ team, appId = '' }) =>
        sendPage(response, 200, donePage({ team, appId, options })),
      failure: (error) => sendFailure(response, error, log),
    });
  }

  const route = (path: string, show: typeof begin): PageRoute => ({
    method: 'GET',
    path,
    handle(request, response) {
      show(request, response).catch((error: unknown) => {
        log.error({ err: error }, 'a page for installing could not be shown');
        if (response.headersSent) response.destroy();
        else sendFailure(response, error, log);
      });
    },
  });
  return [route(INSTALL_PATH, begin), route('/slack/oauth_redirect', end)];
}

function createInstaller(options: InstallOptions) {
  const { clientId, clientSecret, apiUrl, clientOptions, boltLog } = options;
  // Made for its installer alone: it is handed no request.
  const { installer } = new HTTPReceiver({
    signingSecret: '',
    signatureVerification: false,
    clientId,
    clientSecret,
    installationStore: {
      storeInstallation: (given) => takeInstallation(readInstallation(given), options),
      async fetchInstallation() {
        throw new Error('Bolt is told by our own authorize who is installed.');
      },
    },
    // What goes wrong is told by us; most of it is somebody's stale page.
    logger: { ...boltLog, error: boltLog.info },
    installerOptions: {
      stateStore: createInstallStates(),
      stateCookieName: 'askwatch-slack-install',
      stateCookieExpirationSeconds: STATE_LASTS_SECONDS,
      authorizationUrl: new URL('../oauth/v2/authorize', apiUrl).href,
      clientOptions: { ...clientOptions },
      renderHtmlForInstallPath: (url) => renderPage(beginPage(url)),
    },
  });
  if (!installer) throw new Error('Bolt made no installer.');
  return installer;
}

async function takeInstallation(
  installation: Installation,
  { install, log }: InstallOptions,
): Promise<void> {
  try {
    await install(installation);
  } catch (error) {
    log.error({ err: error, teamId: installation.teamId }, 'an installation could not be stored');
    throw new InstallError(
      'Askwatch could not store what Slack gave. Whoever runs Askwatch finds the reason in its log; begin again when it is mended.',
      { status: 500 },
    );
  }
}

/** Takes of an installation what is needed. Throws `InstallError` where it is none for one workspace. */
function readInstallation(given: BoltInstallation): Installation {
  const { team, bot, isEnterpriseInstall } = given;
  if (isEnterpriseInstall || !team) {
    throw new InstallError(
      'This was an installation for a whole organization, which Askwatch does not offer. Begin again, and choose one workspace at the top right of the page of Slack.',
    );
  }
  if (!/^T[A-Z0-9]{1,30}$/.test(team.id) || !bot?.token || !bot.userId) {
    throw new InstallError('Slack gave no access for a bot. Begin again in a minute.');
  }
  if (bot.refreshToken !== undefined) {
    throw new InstallError(
      'The Slack app rotates its tokens, which Askwatch does not follow. Whoever runs Askwatch has to make the app anew from the manifest, with token rotation off.',
    );
  }
  return { teamId: team.id, botToken: bot.token, botUserId: bot.userId };
}

function sendFailure(response: ServerResponse, error: unknown, log: Logger): void {
  const { status, title, sentence, reason } = installProblem(error);
  if (reason === undefined) log.debug({ sentence }, 'a workspace was not added');
  else log.warn({ reason, sentence }, 'a workspace could not be added');
  const link = { text: 'Begin again', url: INSTALL_PATH };
  sendPage(response, status, { title, sentences: [sentence], link });
}

const beginPage = (url: string) => ({
  title: 'Add Askwatch to Slack',
  sentences: [
    'Askwatch answers questions with /ask, watches services with /monitor, and tells your channels when one goes down.',
    'On the next page, Slack shows what Askwatch may do, and asks for the workspace.',
  ],
  link: { text: 'Add to Slack', url },
});

function donePage(done: {
  team: { id: string; name?: string } | undefined;
  appId: string;
  options: InstallOptions;
}) {
  const { team = { id: '' }, appId, options } = done;
  const url = new URL('/app_redirect', options.apiUrl);
  url.search = new URLSearchParams({ app: appId, team: team.id }).toString();
  return {
    title: 'Askwatch is installed',
    sentences: [
      `It is in the workspace ${team.name ?? team.id} now.`,
      'Next, in a channel where it should talk: /invite @Askwatch, then /ask or /monitor add.',
      `In ALERT_CHANNELS a channel of this workspace is named slack:${team.id}/C0123456789.`,
    ],
    link: { text: 'Open Slack', url: url.href },
  };
}
