import type { types, webApi } from '@slack/bolt';
import type { BotIdentity } from './bot-identity.ts';
import { readingOf, readMessages } from './messages.ts';
import type { SendQueue } from './send-queue.ts';

/** A stream under way: the message that shows it. */
export interface StreamAt {
  channel: string;
  ts: string;
}

/** Slack's own streams of text: messages to which one adds while they are watched. All throw what the `WebClient` throws. */
export type Streams = ReturnType<typeof createStreams>;

/** Streams that are remembered, so that none is taken for one whose start was not answered. */
const MAX_BEGUN = 1_000;

/**
 * Sources: Slack docs, "chat.startStream", "chat.appendStream", "chat.stopStream"; that all of a stream is at most about
 * 12,000 characters, CopilotKit issue 6063. Nothing is tried a second time but what Slack limits: what was added twice
 * would stand there twice. `begun` are the streams of the workspace that are known.
 */
export function createStreams(
  client: webApi.WebClient,
  queue: SendQueue,
  { self, begun }: { self: BotIdentity; begun: Set<string> },
) {
  function know(channel: string, ts: string) {
    begun.add(`${channel} ${ts}`);
    for (const oldest of begun) {
      if (begun.size <= MAX_BEGUN) break;
      begun.delete(oldest);
    }
  }

  const once = <T>(method: string, channel: string, run: () => Promise<T>) =>
    queue.patiently({ method, channel, run });

  return {
    /** Begins one in a thread with its first text; gives its ts. */
    async start(
      { channel, thread, person }: { channel: string; thread: string; person: string },
      text: string,
    ) {
      const run = () =>
        client.chat.startStream({
          channel,
          thread_ts: thread,
          markdown_text: text,
          // Asked for outside direct conversations; Slack's own helper gives them everywhere.
          recipient_team_id: self.teamId,
          recipient_user_id: person,
        });
      // Where too many are begun, a message that is edited says it a minute sooner.
      const { ts } = await queue.inTurn({ method: 'chat.startStream', channel, run });
      if (ts === undefined)
        throw new Error('Slack started a stream but returned no timestamp for it.');
      know(channel, ts);
      return ts;
    },
    async append({ channel, ts }: StreamAt, text: string) {
      await once('chat.appendStream', channel, () =>
        client.chat.appendStream({ channel, ts, markdown_text: text }),
      );
    },
    /** Ends one with the last of its text and the blocks under it; `goesOn` when the answer has another one after it. */
    async stop(
      { channel, ts }: StreamAt,
      { text, blocks, goesOn }: { text: string; blocks: types.KnownBlock[]; goesOn: boolean },
    ) {
      await once('chat.stopStream', channel, () =>
        client.chat.stopStream({
          channel,
          ts,
          ...(text !== '' && { markdown_text: text }),
          ...(blocks.length > 0 && { blocks }),
          // Slack takes the agent for done otherwise. Source: Slack docs, "Agent sessions".
          ...(goesOn && { session_status: 'processing' }),
        }),
      );
    },
    /** Ends one as it is, whether or not it is under way, with these blocks under it. */
    async abandon({ channel, ts }: StreamAt, blocks?: types.KnownBlock[]) {
      const run = () => client.chat.stopStream({ channel, ts, blocks });
      await queue.patiently({ method: 'chat.stopStream', channel, repeatable: true, run });
    },
    /** A stream whose start was not answered: our newest message in the thread after `after` that nobody else knows of. */
    async findLost({ channel, thread }: { channel: string; thread: string }, after: string) {
      const bounds = { channel, oldest: after, limit: 200, include_all_metadata: true };
      const { messages = [] } = await queue.patiently({
        method: readingOf(thread),
        channel,
        repeatable: true,
        run: () => readMessages(client, bounds, thread),
      });
      // What is posted has metadata; a stream cannot begin with any.
      const lost = messages.findLast(
        ({ user, ts = '', metadata }) =>
          user === self.userId && !metadata && isAfter(ts, after) && !begun.has(`${channel} ${ts}`),
      );
      if (lost?.ts !== undefined) know(channel, lost.ts);
      return lost?.ts;
    },
  };
}

/** Both as Slack writes times: seconds, a point, six digits. */
const isAfter = (ts: string, other: string) =>
  ts.length === other.length ? ts > other : ts.length > other.length;
