import { setTimeout as pause } from 'node:timers/promises';
import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { PlatformStartError } from '../../bot/shared/errors.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { readFailure, startError } from '../api/call-failure.ts';

interface SignIn {
  client: webApi.WebClient;
  log: Logger;
  /** Between two attempts while Slack is away, if it names no time itself. */
  retryMs: number;
  signal: AbortSignal;
}

/**
 * Asks Slack who we are, until there is an answer.
 * Throws `PlatformStartError` when Slack refuses the bot token or the app lacks the scope to post.
 */
export async function signIn(options: SignIn): Promise<BotIdentity> {
  for (;;) {
    const identity = await identify(options);
    if ('self' in identity) return identity.self;
    try {
      await pause(identity.retryAfterMs, undefined, { signal: options.signal });
    } catch (cause) {
      throw new PlatformStartError('Slack was stopped before it was connected.', { cause });
    }
  }
}

async function identify({
  client,
  log,
  retryMs,
}: SignIn): Promise<{ self: BotIdentity } | { retryAfterMs: number }> {
  try {
    const {
      user_id: userId = '',
      team_id: teamId = '',
      user: name = 'Askwatch',
      ...more
    } = await client.auth.test();
    checkScopes(more.response_metadata?.scopes ?? [], log);
    return { self: { userId, teamId, name } };
  } catch (error) {
    if (error instanceof PlatformStartError) throw error;
    const refusal = startError(error, 'SLACK_BOT_TOKEN');
    if (refusal) throw refusal;
    const { code, retryAfterMs = retryMs } = readFailure(error);
    log.warn({ reason: code }, 'Slack cannot be reached; trying again');
    return { retryAfterMs };
  }
}

/** What the manifest asks for. Without `chat:write` nothing works at all; the rest is missed one by one. */
function checkScopes(granted: string[], log: Logger): void {
  if (granted.length === 0) return;
  const wanted = ['chat:write', 'commands', 'app_mentions:read', 'channels:history', 'im:history'];
  const missing = wanted.filter((scope) => !granted.includes(scope));
  const advice = 'add them under "OAuth & Permissions" and install the app again';
  if (missing.includes('chat:write')) {
    throw new PlatformStartError(
      `SLACK_BOT_TOKEN: the Slack app lacks scopes (${missing.join(', ')}); ${advice}.`,
    );
  }
  if (missing.length > 0) log.warn({ missing }, `the Slack app lacks scopes; ${advice}`);
}
