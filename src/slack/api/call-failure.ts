import { webApi } from '@slack/bolt';
import { DeliveryError, PlatformStartError } from '../../bot/shared/errors.ts';
import { NotHeldError } from './gated-fetch.ts';

/**
 * A failed call: refused or limited by Slack; with an unknown outcome (timeout, lost connection, 5xx); or not sent, because
 * this process doesn't hold the bot.
 */
export interface CallFailure {
  kind: 'refused' | 'limited' | 'unknown' | 'not held';
  /** Slack's error code, or `http_503`, `no_answer`, `not_held`. */
  code: string;
  retryAfterMs?: number;
}

/** The wait after a limit without a time. */
const LIMIT_MS = 30_000;

/** Codes of Slack's own failures. Source: Slack docs, "chat.postMessage", errors. */
const SLACK_FAILED = new Set([
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
  'unknown_error',
]);

/** Codes that end the bot's access. */
const ACCESS_ENDED = new Set([
  'account_inactive',
  'invalid_auth',
  'not_authed',
  'team_access_not_granted',
  'team_disabled',
  'token_expired',
  'token_revoked',
  'user_removed_from_team',
]);

/**
 * Codes about the channel, or the bot in it, not about a message: people can open the channel to the bot. Source: Slack docs,
 * "chat.postMessage" and "chat.update", errors.
 */
const CHANNEL_CLOSED = new Set([
  'access_denied',
  'channel_not_found',
  'ekm_access_denied',
  'is_archived',
  'is_inactive',
  'messages_tab_disabled',
  'missing_scope',
  'no_permission',
  'not_in_channel',
  'org_login_required',
  'restricted_action',
  'restricted_action_read_only_channel',
  'restricted_action_thread_only_channel',
]);

export function readFailure(error: unknown): CallFailure {
  if (error instanceof webApi.WebAPIRateLimitedError) {
    return { kind: 'limited', code: 'ratelimited', retryAfterMs: error.retryAfter * 1000 };
  }
  if (error instanceof webApi.WebAPIPlatformError) {
    const code = String(error.data.error);
    if (code === 'ratelimited' || code === 'rate_limited') {
      return { kind: 'limited', code, retryAfterMs: LIMIT_MS };
    }
    // Other text is another program's page, so nothing was done.
    return { kind: SLACK_FAILED.has(code) ? 'unknown' : 'refused', code };
  }
  if (error instanceof webApi.WebAPIHTTPError) {
    const code = `http_${error.statusCode}`;
    return { kind: error.statusCode >= 500 ? 'unknown' : 'refused', code };
  }
  const cause = error instanceof webApi.WebAPIRequestError ? error.original : error;
  if (cause instanceof NotHeldError) return { kind: 'not held', code: 'not_held' };
  return { kind: 'unknown', code: 'no_answer' };
}

export const isAccessEnded = (code: string) => ACCESS_ENDED.has(code);

const INVITE = 'Invite the bot there: /invite @Askwatch.';

const REFUSALS: Record<string, string> = {
  cannot_reply_to_message: 'Slack accepts no replies to this message; it may have been deleted.',
  cant_update_message: 'The bot can’t change this message because it isn’t its own.',
  channel_not_found: `The channel doesn’t exist, or the bot is not in it. ${INVITE}`,
  edit_window_closed: 'This workspace doesn’t allow edits to messages this old.',
  is_archived: 'The channel is archived. Unarchive it, or choose another channel.',
  is_inactive: 'The channel is archived. Unarchive it, or choose another channel.',
  message_not_found: 'The message was deleted.',
  msg_blocks_too_long: 'The message is too long for Slack.',
  msg_too_long: 'The message is too long for Slack.',
  not_in_channel: `The bot is not in this channel. ${INVITE}`,
  restricted_action:
    'The workspace doesn’t let the bot post here. Ask a workspace admin to allow it.',
  restricted_action_non_threadable_channel: 'This channel has no threads.',
  restricted_action_read_only_channel:
    'Only some people can post in this channel. Ask a workspace admin to let the bot post.',
  restricted_action_thread_locked: 'An admin locked the thread.',
  restricted_action_thread_only_channel: 'This channel allows only replies in threads.',
  thread_not_found: 'The thread was deleted.',
  user_not_in_channel: 'The person is not in this channel.',
};

export function explainFailure(error: unknown): string {
  const { kind, code } = readFailure(error);
  if (kind === 'limited') return 'Slack is rate limiting the bot.';
  if (kind === 'unknown') return `Slack didn’t answer correctly (${code}).`;
  if (kind === 'not held') return 'Askwatch is handing over to another of its processes.';
  if (code === 'missing_scope') return missingScope(error);
  if (isAccessEnded(code)) {
    return `Slack no longer accepts the bot’s token (${code}). Reinstall the app; if SLACK_BOT_TOKEN is set, change it to the new token.`;
  }
  return REFUSALS[code] ?? `Slack refused the message (${shown(code)}).`;
}

function missingScope(error: unknown): string {
  const data: object = error instanceof webApi.WebAPIPlatformError ? error.data : {};
  const scope = 'needed' in data ? `the scope ${data.needed}` : 'a scope';
  return `The Slack app lacks ${scope}. Add it under "OAuth & Permissions" and reinstall the app.`;
}

const shown = (code: string) =>
  /^[a-z0-9_]{1,80}$/.test(code) ? code : 'an answer without a reason';

export function deliveryError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const failure = readFailure(error);
  return new DeliveryError(explainFailure(error), {
    permanent: failure.kind === 'refused',
    closed: CHANNEL_CLOSED.has(failure.code) || isAccessEnded(failure.code),
    cause: error,
    retryAfterMs: failure.retryAfterMs,
  });
}

export type TokenSetting = 'SLACK_BOT_TOKEN' | 'SLACK_APP_TOKEN';

/**
 * The sentence with which the program ends if Slack refuses a token. `undefined` if Slack refused nothing, so that a retry can
 * help.
 */
export function startError(error: unknown, setting: TokenSetting): PlatformStartError | undefined {
  if (error instanceof PlatformStartError) return error;
  const failure = readFailure(error);
  if (failure.kind !== 'refused') return undefined;
  const sentence = startSentence(failure.code, setting, error);
  return new PlatformStartError(sentence, { cause: error });
}

function startSentence(code: string, setting: TokenSetting, error: unknown): string {
  const where =
    setting === 'SLACK_BOT_TOKEN'
      ? 'the app\'s page "OAuth & Permissions" (it starts with xoxb-)'
      : 'the app\'s page "Basic Information", "App-Level Tokens" (it starts with xapp-)';
  if (code === 'missing_scope') {
    return setting === 'SLACK_APP_TOKEN'
      ? `${setting}: the token lacks the scope connections:write. Create a new app-level token with it and use that.`
      : `${setting}: ${missingScope(error)}`;
  }
  if (code === 'not_allowed_token_type') {
    return `${setting}: this is the wrong type of token. Copy the right one from ${where}.`;
  }
  if (code.startsWith('http_') || shown(code) !== code) {
    return `SLACK_API_URL: this address does not speak Slack's API (${shown(code)}). Correct it or unset it.`;
  }
  if (isAccessEnded(code)) {
    return `${setting}: Slack rejected this token (${code}). Copy it again from ${where}.`;
  }
  return `${setting}: Slack refused to start the app (${code}). Check that Socket Mode is on, and copy the token again from ${where}.`;
}
