import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { isAccessEnded, readFailure } from './call-failure.ts';
import { type Conversation, createConversation } from './conversation.ts';
import { createEditPace } from './edit-pace.ts';
import type { Self } from './hear.ts';
import { createMessages, type Messages } from './messages.ts';
import { createRights, type Rights } from './rights.ts';
import { createSendQueue } from './send-queue.ts';

/** The paces at which Slack is spoken to, in milliseconds. */
export interface Paces {
  /**
   * Between two edits of answers being written, all of the workspace together: 48 of the 50 a minute of `chat.update`, so
   * that alerts and the ends of answers find room. Source: Slack docs, "Rate limits", "Web API rate limits by tier", tier 3.
   */
  editMs: number;
  /** Between two alerts of a channel. Source: the same page, "Posting messages": one per second and channel. */
  alertMs: number;
  /** Before a second attempt to connect; doubled with each further one. */
  retryMs: number;
}

/** One workspace, spoken to with the token it gave: Slack's limits count for each by itself. */
export interface Workspace {
  self: Self;
  client: webApi.WebClient;
  messages: Messages;
  rights: Rights;
  conversation: Conversation;
  /** Ends the access when Slack says, and confirms, that the token is no longer good. */
  checkAccess(error: unknown): Promise<void>;
  /** Ends all waiting. */
  close(): void;
}

/** A workspace that let us in as `self`. `onRefused` hears the refusal when the token is no longer good. */
export function createWorkspace(options: {
  client: webApi.WebClient;
  self: Self;
  paces: Paces;
  log: Logger;
  onRefused(refusal: unknown): void;
}): Workspace {
  const { client, self, paces, log, onRefused } = options;
  const edits = createEditPace(paces);
  const queue = createSendQueue({ paceMs: paces.alertMs, edits });
  const messages = createMessages(client, queue);

  async function checkAccess(error: unknown): Promise<void> {
    const { kind, code } = readFailure(error);
    if (kind !== 'refused' || !isAccessEnded(code)) return;
    try {
      await client.auth.test();
    } catch (refusal) {
      onRefused(refusal);
    }
  }

  return {
    ...{ self, client, messages, checkAccess },
    rights: createRights({ client, self, log }),
    conversation: createConversation({ messages, log, edits, checkAccess }),
    close() {
      queue.close();
      edits.close();
    },
  };
}
