import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  type Installation as BoltInstallation,
  type Logger as BoltLogger,
  HTTPReceiver,
  type InstallProviderOptions,
  type webApi,
} from '@slack/bolt';
import type { Logger } from 'pino';
import type { Claims } from '../../bot/platform.ts';
import { readFailure } from '../api/call-failure.ts';
import { renderPage, sendPage, setPageHeaders } from './install-page.ts';
import type { Installation } from './installed-workspaces.ts';

const INSTALL_PATH = '/slack/install';

/** Time from our page to Slack's and back. */
const STATE_LASTS_SECONDS = 10 * 60;

export interface InstallRoute {
  method: 'GET' | 'POST';
  path: string;
  handle: RequestListener;
}

/** Shown to the person who installs: what happened and what to do next. */
class InstallError extends Error {
  override name = 'InstallError' as const;
  /** The HTTP status of the page. */
  readonly status: number;

  constructor(message: string, { status = 400 }: { status?: number } = {}) {
    super(message);
    this.status = status;
  }
}

const NOT_STORED =
  'Askwatch couldn’t save the installation. Your Askwatch admin can find the cause in the log. Start again when it is fixed.';

interface InstallOptions {
  clientId: string;
  clientSecret: string;
  /** The states that were used within the last ten minutes. */
  usedStates: Claims<never>;
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
export function createInstallRoutes(options: InstallOptions): InstallRoute[] {
  const { log } = options;
  const installer = createInstaller(options);

  const route = (
    path: string,
    show: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  ): InstallRoute => ({
    method: 'GET',
    path,
    handle(request, response) {
      show(request, response).catch((error: unknown) => {
        log.error({ err: error }, 'could not show an install page');
        if (response.headersSent) response.destroy();
        else sendFailure(response, error, log);
      });
    },
  });
  return [
    route(INSTALL_PATH, async (request, response) => {
      setPageHeaders(response);
      await installer.handleInstallPath(request, response, {}, { scopes: [...options.scopes] });
    }),
    route('/slack/oauth_redirect', (request, response) =>
      installer.handleCallback(request, response, {
        success: ({ team = { id: '' }, appId = '' }) =>
          sendPage(response, 200, donePage(team, appId, options)),
        failure: (error) => sendFailure(response, error, log),
      }),
    ),
  ];
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
        throw new Error('Bolt must not read installations: our own authorize does.');
      },
    },
    // We log errors ourselves; most come from an old page.
    logger: { ...boltLog, error: boltLog.info },
    installerOptions: {
      stateStore: createInstallStates(options),
      stateCookieName: 'askwatch-slack-install',
      stateCookieExpirationSeconds: STATE_LASTS_SECONDS,
      authorizationUrl: new URL('../oauth/v2/authorize', apiUrl).href,
      clientOptions: { ...clientOptions },
      renderHtmlForInstallPath: (url) => renderPage(beginPage(url)),
    },
  });
  if (!installer) throw new Error('Bolt created no installer.');
  return installer;
}

async function takeInstallation(
  installation: Installation,
  { install, log }: InstallOptions,
): Promise<void> {
  try {
    await install(installation);
  } catch (error) {
    log.error({ err: error, teamId: installation.teamId }, 'could not store an installation');
    throw new InstallError(NOT_STORED, { status: 500 });
  }
}

/** Throws `InstallError` unless it is an installation in one workspace. */
function readInstallation(given: BoltInstallation): Installation {
  const { team, bot, isEnterpriseInstall } = given;
  if (isEnterpriseInstall || !team) {
    throw new InstallError(
      'Askwatch can’t be installed for a whole organization. Start again and choose one workspace at the top right of Slack’s page.',
    );
  }
  if (!/^T[A-Z0-9]{1,30}$/.test(team.id) || !bot?.token || !bot.userId) {
    throw new InstallError('Slack returned no bot token. Start again in a minute.');
  }
  if (bot.refreshToken !== undefined) {
    throw new InstallError(
      'The Slack app has token rotation on, which Askwatch doesn’t support. Ask your Askwatch admin to create the app again from the manifest, with token rotation off.',
    );
  }
  return { teamId: team.id, botToken: bot.token, botUserId: bot.userId };
}

/**
 * States that need the client secret, each good for one installation, also across a restart. Bolt checks by a cookie that a
 * state belongs to the browser, but lets its own states be used again (@slack/oauth 4.0.0, `ClearStateStore`).
 */
function createInstallStates({
  clientSecret,
  usedStates,
  log,
}: InstallOptions): NonNullable<InstallProviderOptions['stateStore']> {
  const key = Buffer.from(
    hkdfSync('sha256', clientSecret, '', 'askwatch slack install states', 32),
  );
  const signatureOf = (text: string) => createHmac('sha256', key).update(text).digest('base64url');

  async function isNew(random: string): Promise<boolean> {
    try {
      if (!(await usedStates.claim(random))) return false;
      await usedStates.finish(random);
      return true;
    } catch (error) {
      log.error({ err: error }, 'could not record the start of an installation');
      throw new InstallError(NOT_STORED, { status: 500 });
    }
  }

  return {
    async generateStateParam(_options, now) {
      const untilMs = now.getTime() + STATE_LASTS_SECONDS * 1000;
      const text = `${untilMs.toString(36)}.${randomBytes(18).toString('base64url')}`;
      return `${text}.${signatureOf(text)}`;
    },
    async verifyStateParam(now, state) {
      const [until = '', random = ''] = state.split('.');
      const text = `${until}.${random}`;
      const isSigned = isEqual(state, `${text}.${signatureOf(text)}`);
      const isLate = Number.parseInt(until, 36) < now.getTime();
      if (!isSigned || isLate || !(await isNew(random))) throw new InstallError(STALE);
      // The redirect address is the app's own, so a state carries nothing.
      return { scopes: [] };
    },
  };
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** For a state that is invalid, used, too old, or another browser's. */
const STALE =
  'The installation was started in another browser, more than ten minutes ago, or not over https. Start again.';

/** A failed installation. */
interface Problem {
  status: number;
  title?: string;
  sentence: string;
  /** For the log; undefined where only the person can do something about it. */
  reason?: string;
}

/** Errors of Bolt's installer. Source: @slack/oauth 4.0.0, `ErrorCode`. */
const BY_INSTALLER: Record<string, Problem> = {
  slack_oauth_installer_authorization_error: {
    status: 200,
    title: 'Nothing was installed',
    sentence:
      'You cancelled the installation. Nothing has changed. To install Askwatch after all, start again.',
  },
  slack_oauth_missing_code: {
    status: 400,
    sentence:
      'Slack didn’t approve the installation. If your workspace requires an admin’s approval for apps, request it, then start again.',
  },
};

const OPERATOR = 'Ask your Askwatch admin to';

/** Refusals that the person who installs can't fix. Source: Slack docs, "oauth.v2.access", errors. */
const BY_SLACK: Record<string, string> = {
  bad_client_secret: `${OPERATOR} correct SLACK_CLIENT_SECRET ("Basic Information" of the Slack app).`,
  bad_redirect_uri: `${OPERATOR} correct the redirect URL ("OAuth & Permissions" of the Slack app).`,
  invalid_client_id: `${OPERATOR} correct SLACK_CLIENT_ID ("Basic Information" of the Slack app).`,
  invalid_team_for_non_distributed_app: `${OPERATOR} turn on distribution of the Slack app to other workspaces ("Manage Distribution").`,
};

/** Repeats nothing from the request. */
function problemOf(error: unknown): Problem {
  if (error instanceof InstallError) return { status: error.status, sentence: error.message };
  const oauth = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = BY_INSTALLER[oauth];
  if (known) return known;
  if (oauth.startsWith('slack_oauth_') && oauth.endsWith('_state')) {
    return { status: 400, sentence: STALE };
  }
  const { kind, code } = readFailure(error);
  const sentence =
    kind !== 'refused'
      ? 'Slack didn’t answer correctly. Start again in a minute.'
      : (BY_SLACK[code] ?? 'Slack didn’t accept this installation. Start again.');
  return { status: 502, sentence, reason: code };
}

function sendFailure(response: ServerResponse, error: unknown, log: Logger): void {
  const { status, title = 'Askwatch was not installed', sentence, reason } = problemOf(error);
  if (reason === undefined) log.debug({ sentence }, 'did not add a workspace');
  else log.warn({ reason, sentence }, 'could not add a workspace');
  const link = { text: 'Start again', url: INSTALL_PATH };
  sendPage(response, status, { title, sentences: [sentence], link });
}

const beginPage = (url: string) => ({
  title: 'Add Askwatch to Slack',
  sentences: [
    'Askwatch answers questions with /ask, watches services with /monitor, and alerts your channels when one goes down.',
    'On the next page, Slack lists the permissions and asks you to choose a workspace.',
  ],
  link: { text: 'Add to Slack', url },
});

function donePage(
  team: { id: string; name?: string },
  appId: string,
  { apiUrl }: Pick<InstallOptions, 'apiUrl'>,
) {
  const url = new URL('/app_redirect', apiUrl);
  url.search = new URLSearchParams({ app: appId, team: team.id }).toString();
  return {
    title: 'Askwatch is installed',
    sentences: [
      `It is now in the workspace ${team.name ?? team.id}.`,
      'Next, type /invite @Askwatch in a channel, then /ask or /monitor add.',
      `In ALERT_CHANNELS, write a channel of this workspace as slack:${team.id}/C0123456789.`,
    ],
    link: { text: 'Open Slack', url: url.href },
  };
}
