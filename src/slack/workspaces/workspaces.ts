import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { startError } from '../api/call-failure.ts';
import type { Paces } from '../api/paces.ts';
import { signIn } from './sign-in.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

/** The workspaces that let us in. */
export interface Workspaces {
  /** Signs in where that is needed. Throws `PlatformStartError` when Slack refuses. */
  open(signal: AbortSignal): Promise<void>;
  /** The workspace of an event, by Slack's id of it; undefined where the app is not installed, or no longer. */
  of(teamId: string | undefined): Promise<Workspace | undefined>;
  /** The workspace of a channel as the bot names it, and Slack's id of the channel. Throws `DeliveryError`. */
  at(channel: string): Promise<{ workspace: Workspace; channel: string }>;
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
  paces: Paces;
  log: Logger;
  onAccessEnded(error: Error): void;
}): Workspaces {
  const { client, paces, log, onAccessEnded } = options;
  // Who we are there is known once it let us in.
  const only = createWorkspace({
    client,
    paces,
    log,
    self: { userId: '', teamId: '', name: 'Askwatch' },
    onRefused(refusal) {
      const sentence = startError(refusal, 'SLACK_BOT_TOKEN');
      if (sentence) onAccessEnded(sentence);
    },
  });
  return {
    async open(signal) {
      const retryMs = 5 * paces.retryMs;
      Object.assign(only.self, await signIn({ client, log, retryMs, signal }));
    },
    of: async () => only,
    at: async (channel) => ({ workspace: only, channel }),
    nameOf: (_workspace, name) => name,
    async drained() {
      only.conversation.hurry();
      await only.conversation.drained();
    },
    close: only.close,
  };
}
