import { setTimeout as pause } from 'node:timers/promises';
import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { PlatformStartError } from '../../bot/shared/errors.ts';
import { readFailure, startError } from '../api/call-failure.ts';
import type { Paces } from '../api/paces.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

/** The workspaces that let us in. */
export interface Workspaces {
  /** Signs in. Throws `PlatformStartError` if Slack refuses the bot token or the app lacks the scope to post. */
  open(signal: AbortSignal): Promise<void>;
  /** The workspace of an event, by Slack's id of it; undefined where the app is not installed, or no longer. */
  of(teamId: string | undefined): Promise<Workspace | undefined>;
  /** The workspace of a channel as the bot names it, and Slack's id of the channel. Throws `DeliveryError`. */
  at(channel: string): Promise<{ workspace: Workspace; channel: string }>;
  /** Slack says that a workspace removed the app, or took its token away. Absent for the one workspace of a token. */
  removed?(teamId: string): Promise<void>;
  /** How the bot names what Slack names within a workspace, such as a channel. */
  nameOf(workspace: Workspace, name: string): string;
  /** Resolves when every reply under way is shown; none comes after them. */
  drained(): Promise<void>;
  /** Ends all waiting. */
  close(): void;
}

/** The one workspace that a token is of; the bot names its channels as Slack does. */
export function onlyWorkspace(options: {
  client: webApi.WebClient;
  fetch: typeof fetch;
  paces: Paces;
  log: Logger;
  onAccessEnded(error: Error): void;
}): Workspaces {
  const { client, fetch, paces, log, onAccessEnded } = options;
  // The bot's identity is known after sign-in.
  const only = createWorkspace({
    ...{ client, fetch, paces, log },
    self: { userId: '', teamId: '', name: 'Askwatch' },
    onRefused(refusal) {
      const sentence = startError(refusal, 'SLACK_BOT_TOKEN');
      if (sentence) onAccessEnded(sentence);
    },
  });
  return {
    /** Asks Slack who we are, until there is an answer. */
    async open(signal) {
      for (;;) {
        try {
          const {
            user_id = '',
            team_id = '',
            user = 'Askwatch',
            ...more
          } = await client.auth.test();
          checkScopes(more.response_metadata?.scopes ?? [], log);
          Object.assign(only.self, { userId: user_id, teamId: team_id, name: user });
          return;
        } catch (error) {
          const refusal = startError(error, 'SLACK_BOT_TOKEN');
          if (refusal) throw refusal;
          // While Slack is away, if it names no time itself.
          const { code, retryAfterMs = 5 * paces.retryMs } = readFailure(error);
          log.warn({ reason: code }, 'could not reach Slack; retrying');
          await pause(retryAfterMs, undefined, { signal }).catch((cause: unknown) => {
            throw new PlatformStartError('Slack was stopped before it was connected.', { cause });
          });
        }
      }
    },
    of: async () => only,
    at: async (channel) => ({ workspace: only, channel }),
    nameOf: (_workspace, name) => name,
    async drained() {
      only.hurry();
      await only.conversation.drained();
    },
    close: only.close,
  };
}

/** Without `chat:write` nothing works; each other scope affects one feature. */
function checkScopes(granted: string[], log: Logger): void {
  if (granted.length === 0) return;
  const wanted = [
    ...['chat:write', 'commands', 'app_mentions:read', 'channels:history', 'im:history'],
    'files:read',
  ];
  const missing = wanted.filter((scope) => !granted.includes(scope));
  const advice = 'add them under "OAuth & Permissions" and reinstall the app';
  if (missing.includes('chat:write')) {
    throw new PlatformStartError(
      `SLACK_BOT_TOKEN: the Slack app lacks scopes (${missing.join(', ')}); ${advice}.`,
    );
  }
  if (missing.length > 0) log.warn({ missing }, `the Slack app lacks scopes; ${advice}`);
}
