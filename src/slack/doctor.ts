import { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { type Finding, ok, problem, shortName, warning } from '../bot/shared/finding.ts';
import { createBoltLog } from './api/bolt-log.ts';
import { explainFailure, readFailure, startError, type TokenSetting } from './api/call-failure.ts';
import { OPTIONAL_SCOPES, slackManifest } from './manifest.ts';

export interface SlackSetup {
  /** The token of the one workspace; absent if several install the app. */
  botToken?: string;
  appToken?: string;
  apiUrl: string;
  channels: readonly string[];
  /** True if settings name user groups, which need a scope that isn't in the manifest. */
  usesGroups: boolean;
  fetch: typeof fetch;
  log: Logger;
}

interface CheckedSlack extends SlackSetup {
  client: webApi.WebClient;
}

/** Source: Slack docs, "Conversation object", "id". */
const CHANNEL = /^[CGD][A-Z0-9]{2,20}$/;

/** The newest message of an archived channel. Source: Slack docs, "message event", subtypes. */
const ARCHIVED = new Set(['channel_archive', 'group_archive']);

const REINSTALL =
  'Replace the app\'s manifest ("App Manifest") with manifests/slack.json and reinstall the app ("Install App").';

/** Checks tokens, scopes and channels. Posts nothing, and opens no connection for events. */
export async function checkSlack(setup: SlackSetup): Promise<Finding[]> {
  const { appToken, botToken, apiUrl, fetch, log } = setup;
  const client = new webApi.WebClient(botToken, {
    slackApiUrl: apiUrl,
    allowAbsoluteUrls: false,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logger: createBoltLog(log),
    fetch,
  });
  const checked = { ...setup, client };
  const [bot, app] = await Promise.all([
    botToken === undefined ? [severalWorkspaces()] : checkBot(checked),
    appToken === undefined ? signingSecret() : checkApp(appToken, checked),
  ]);
  return [...bot, app];
}

/** The tokens are encrypted in the data folder, which a running program may use. */
const severalWorkspaces = () =>
  ok(
    'Slack bot',
    'each workspace that installs the app has its own token; doctor tests none of them',
  );

async function checkBot(checked: CheckedSlack): Promise<Finding[]> {
  const check = 'Slack bot';
  const { client, channels, usesGroups } = checked;
  try {
    const { user = '', team = '', response_metadata } = await client.auth.test();
    return [
      ok(check, `signed in as @${shortName(user)} in ${shortName(team)}`),
      checkScopes(response_metadata?.scopes, usesGroups),
      ...(await Promise.all(channels.map((channel) => checkChannel(channel, checked)))),
    ];
  } catch (error) {
    return [failed(check, error, 'SLACK_BOT_TOKEN', checked)];
  }
}

function checkScopes(granted: readonly string[] | undefined, usesGroups: boolean): Finding {
  const check = 'Slack scopes';
  if (!granted) return warning(check, 'Slack did not report the app’s scopes.');
  const asked = slackManifest([]).oauth_config.scopes.bot;
  const lacks = (scope: string) => !granted.includes(scope);
  const missing = asked.filter((scope) => lacks(scope) && !(scope in OPTIONAL_SCOPES));
  if (missing.length > 0) {
    return problem(check, `The app lacks ${missing.join(', ')}. ${REINSTALL}`);
  }
  if (usesGroups && !granted.includes('usergroups:read')) {
    const text =
      'WHO_MAY_ADD and WHO_MAY_MANAGE name user groups, but the app lacks usergroups:read. Add it under "OAuth & Permissions" and reinstall the app.';
    return problem(check, text);
  }
  const left = Object.entries(OPTIONAL_SCOPES).filter(([scope]) => lacks(scope));
  if (left.length > 0) {
    const effects = left.map(([scope, effect]) => `${scope} (${effect})`).join(', ');
    return warning(check, `The app lacks ${effects}. ${REINSTALL}`);
  }
  return ok(check, `all ${asked.length} scopes that Askwatch uses`);
}

/** A ticket for a connection is requested and not used. */
async function checkApp(token: string, checked: CheckedSlack): Promise<Finding> {
  const check = 'Slack app token';
  try {
    await checked.client.apps.connections.open({ token });
    return ok(check, 'accepted (Socket Mode)');
  } catch (error) {
    return failed(check, error, 'SLACK_APP_TOKEN', checked);
  }
}

const signingSecret = () =>
  ok(
    'Slack over HTTP',
    'Only a request from Slack shows whether SLACK_SIGNING_SECRET is correct. Under "Event Subscriptions", the Request URL must be verified.',
  );

/**
 * If the bot can read a channel's newest message, it is in the channel and may post. Slack's method for channels needs another
 * scope. Source: Slack docs, "conversations.history", "chat.postMessage", errors.
 */
async function checkChannel(channel: string, { client, apiUrl }: CheckedSlack): Promise<Finding> {
  const check = `Slack ${shortName(channel)}`;
  if (!CHANNEL.test(channel)) {
    const text =
      'ALERT_CHANNELS: this isn’t a channel id (C…). Copy it from the bottom of the channel’s details in Slack.';
    return problem(check, text);
  }
  try {
    const { messages } = await client.conversations.history({ channel, limit: 1 });
    const [newest] = messages ?? [];
    if (!ARCHIVED.has(newest?.subtype ?? '')) return ok(check, 'the bot is in it');
    return problem(
      check,
      'The channel is archived. Unarchive it, or remove it from ALERT_CHANNELS.',
    );
  } catch (error) {
    const { kind } = readFailure(error);
    if (kind === 'unknown') return unanswered(check, error, apiUrl);
    if (kind === 'limited') return limited(check);
    return problem(check, explainFailure(error));
  }
}

function failed(
  check: string,
  error: unknown,
  setting: TokenSetting,
  { apiUrl }: CheckedSlack,
): Finding {
  const refusal = startError(error, setting);
  if (refusal) return problem(check, refusal.message);
  return readFailure(error).kind === 'limited' ? limited(check) : unanswered(check, error, apiUrl);
}

const limited = (check: string) =>
  warning(check, 'Slack is rate limiting, so this was not checked. Try again in a minute.');

function unanswered(check: string, error: unknown, apiUrl: string): Finding {
  const { code } = readFailure(error);
  const why = error instanceof webApi.WebAPIRequestError ? error.original.message : code;
  const text = `Slack did not answer at ${apiUrl} (${why}). Check the network, or SLACK_API_URL.`;
  return problem(check, text);
}
