import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { createAgent } from '../answers/agent.ts';
import { createShowCard } from '../answers/charts.ts';
import { createConversation } from '../answers/conversation.ts';
import { createEndAnswer } from '../answers/end-answer.ts';
import { createPeopleMessages } from '../answers/people-messages.ts';
import { createShownMessages } from '../answers/shown-messages.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { isAccessEnded, readFailure } from '../api/call-failure.ts';
import { createDocuments } from '../api/documents.ts';
import { createEditPace, type EditPace } from '../api/edit-pace.ts';
import { createReadFile } from '../api/files.ts';
import { createMessages } from '../api/messages.ts';
import type { Paces } from '../api/paces.ts';
import { createRespond } from '../api/response-url.ts';
import { createSendQueue } from '../api/send-queue.ts';
import { createStreams } from '../api/streams.ts';
import { createRights } from './rights.ts';

interface WorkspaceCounts {
  edits: EditPace;
  /** Slack takes as many of both. Source: Slack docs, "chat.delete", tier 3. */
  removals: EditPace;
}

/** One workspace, spoken to with the token it gave: Slack's limits count for each by itself. */
export type Workspace = ReturnType<typeof createWorkspace>;

/** A workspace that let us in as `self`. `onRefused` is called with the refusal when the token is no longer good. */
export function createWorkspace(options: {
  client: webApi.WebClient;
  /** Sends what goes to Slack elsewhere than to its Web API. */
  fetch: typeof fetch;
  self: BotIdentity;
  paces: Paces;
  log: Logger;
  onRefused(refusal: unknown): void;
  /** Those of an earlier installation. */
  counts?: WorkspaceCounts;
}) {
  const { client, fetch, self, paces, log, onRefused } = options;
  const counts = options.counts ?? {
    edits: createEditPace(paces),
    removals: createEditPace(paces),
  };
  const { edits, removals } = counts;
  const queue = createSendQueue({ paceMs: paces.alertMs, edits, removals });
  const messages = createMessages(client, queue);
  const streams = createStreams(client, queue, { self, begun: new Set() });
  const documents = createDocuments(client, queue, { self, fetch });
  const respond = createRespond(fetch);
  const shownMessages = createShownMessages({ client, queue, self });
  const agent = createAgent({ client, queue, log, minuteMs: 50 * paces.editMs });

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
    self,
    client,
    queue,
    messages,
    respond,
    /** Shows what Askwatch posts by itself, with its charts where the workspace takes them. */
    showCard: createShowCard(log),
    agent,
    /** What Slack counts of the whole workspace. */
    counts,
    /** Ends the access when Slack says, and confirms, that the token is no longer good. */
    checkAccess,
    /** Ends an answer that an earlier process left in a channel. */
    endAnswer: createEndAnswer({ shownMessages, messages, streams, agent, respond }),
    /** Streams a file that somebody sent there. */
    readFile: createReadFile(client),
    /** What people wrote. */
    people: createPeopleMessages({ client, queue, self, log }),
    rightsOf: createRights({ client, self, log }),
    conversation: createConversation({
      showing: { messages, streams, documents, agent, edits, paces, log },
      ...{ messages, respond, checkAccess },
    }),
    /** From now on ends of answers wait for nothing but limits that Slack named, since nothing comes after them. */
    hurry() {
      edits.hurry();
      removals.hurry();
    },
    /** Ends all waiting. */
    close() {
      queue.close();
      edits.close();
      removals.close();
    },
  };
}
