import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { Agent } from '../answers/agent.ts';
import { createShowCard } from '../answers/charts.ts';
import { createConversation } from '../answers/conversation.ts';
import { createEndAnswer } from '../answers/end-answer.ts';
import { createPeopleMessages } from '../answers/people-messages.ts';
import { createShownMessages } from '../answers/shown-messages.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { isAccessEnded, readFailure } from '../api/call-failure.ts';
import { Documents } from '../api/documents.ts';
import { EditPace } from '../api/edit-pace.ts';
import { createReadFile } from '../api/files.ts';
import { Messages } from '../api/messages.ts';
import type { Paces } from '../api/paces.ts';
import { createRespond } from '../api/response-url.ts';
import { SendQueue } from '../api/send-queue.ts';
import { createStreams } from '../api/streams.ts';
import { createRights } from './rights.ts';

interface WorkspaceCounts {
  edits: EditPace;
  /** The limits are equal. Source: Slack docs, "chat.delete", tier 3. */
  removals: EditPace;
}

/** One workspace with its own token. Slack's limits count per workspace. */
export type Workspace = ReturnType<typeof createWorkspace>;

/** `onRefused` is called with Slack's refusal when the token no longer works. */
export function createWorkspace(options: {
  client: webApi.WebClient;
  /** For requests outside the Web API. */
  fetch: typeof fetch;
  self: BotIdentity;
  paces: Paces;
  log: Logger;
  onRefused(refusal: unknown): void;
  /** The counts of an earlier installation. */
  counts?: WorkspaceCounts;
}) {
  const { client, fetch, self, paces, log, onRefused } = options;
  const counts = options.counts ?? { edits: new EditPace(paces), removals: new EditPace(paces) };
  const { edits, removals } = counts;
  const queue = new SendQueue({ paceMs: paces.alertMs, edits, removals });
  const messages = new Messages(client, queue);
  const streams = createStreams(client, queue, self);
  const documents = new Documents(client, queue, { self, fetch });
  const respond = createRespond(fetch);
  const showCard = createShowCard(log);
  const shownMessages = createShownMessages({ client, queue, self });
  const agent = new Agent({ client, queue, log, minuteMs: 50 * paces.editMs });

  /** Ends the access if Slack confirms that the token no longer works. */
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
    showCard,
    agent,
    counts,
    checkAccess,
    endAnswer: createEndAnswer({ shownMessages, messages, streams, agent, respond }),
    readFile: createReadFile(client),
    people: createPeopleMessages({ client, queue, self, log }),
    rightsOf: createRights({ client, self, log }),
    conversation: createConversation({
      showing: { messages, streams, documents, agent, edits, paces, showCard, log },
      respond,
      checkAccess,
    }),
    /** From now on only Slack's limits delay the ends of answers, since nothing comes after them. */
    hurry() {
      edits.hurry();
      removals.hurry();
    },
    close() {
      queue.close();
      edits.close();
      removals.close();
    },
  };
}
