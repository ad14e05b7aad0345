import type { types, webApi } from '@slack/bolt';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { BotIdentity } from './bot-identity.ts';
import { readPatiently } from './messages.ts';
import type { SendQueue } from './send-queue.ts';

export interface StreamAt {
  channel: string;
  ts: string;
}

/** Slack's own streams: messages that grow while people read them. All throw the errors of the `WebClient`. */
export type Streams = ReturnType<typeof createStreams>;

/** Streams that are remembered, so that none is taken for one whose start got no answer. */
const MAX_BEGUN = 1_000;

/**
 * Sources: Slack docs, "chat.startStream", "chat.appendStream", "chat.stopStream"; CopilotKit issue 6063 (a stream holds about
 * 12,000 characters). Only what Slack limits is tried again: text that is added twice would be shown twice.
 */
export function createStreams(client: webApi.WebClient, queue: SendQueue, self: BotIdentity) {
  const begun = new Set<string>();

  function remember(channel: string, ts: string) {
    begun.add(`${channel} ${ts}`);
    forgetOldest(begun, MAX_BEGUN);
  }

  return {
    async start(
      { channel, thread, person }: { channel: string; thread: string; person: string },
      text: string,
    ) {
      const run = () =>
        client.chat.startStream({
          channel,
          thread_ts: thread,
          markdown_text: text,
          // Required outside direct messages; Slack's own helper sends them always.
          recipient_team_id: self.teamId,
          recipient_user_id: person,
        });
      // If too many have begun, edits show the answer a minute sooner than a wait would.
      const { ts } = await queue.tryNow({ method: 'chat.startStream', channel, run });
      if (ts === undefined) {
        throw new Error('Slack started a stream but returned no timestamp for it.');
      }
      remember(channel, ts);
      return ts;
    },
    async append({ channel, ts }: StreamAt, text: string) {
      const run = () => client.chat.appendStream({ channel, ts, markdown_text: text });
      await queue.patiently({ method: 'chat.appendStream', channel, run });
    },
    /** Ends a stream with its last text and the blocks under it; with `goesOn` another one follows. */
    async stop(
      { channel, ts }: StreamAt,
      { text, blocks, goesOn }: { text: string; blocks: types.KnownBlock[]; goesOn: boolean },
    ) {
      const run = () =>
        client.chat.stopStream({
          channel,
          ts,
          markdown_text: text || undefined,
          blocks: blocks.length > 0 ? blocks : undefined,
          // Without it Slack shows the agent as done. Source: Slack docs, "Agent sessions".
          session_status: goesOn ? 'processing' : undefined,
        });
      await queue.patiently({ method: 'chat.stopStream', channel, run });
    },
    /** Ends a stream as it is, with these blocks under it. It may have ended already. */
    async abandon({ channel, ts }: StreamAt, blocks?: types.KnownBlock[]) {
      const run = () => client.chat.stopStream({ channel, ts, blocks });
      await queue.patiently({ method: 'chat.stopStream', channel, repeatable: true, run });
    },
    /** A stream whose start got no answer: the bot's newest message in the thread after `after` that isn't known. */
    async findLost({ channel, thread }: { channel: string; thread: string }, after: string) {
      const bounds = { channel, thread, oldest: after, limit: 200, include_all_metadata: true };
      const { messages = [] } = await readPatiently(client, queue, bounds);
      // Posted messages have metadata; streams can't have any.
      const lost = messages.findLast(
        ({ user, ts = '', metadata }) =>
          user === self.userId && !metadata && isAfter(ts, after) && !begun.has(`${channel} ${ts}`),
      );
      if (lost?.ts !== undefined) remember(channel, lost.ts);
      return lost?.ts;
    },
  };
}

const isAfter = (ts: string, other: string) =>
  ts.length === other.length ? ts > other : ts.length > other.length;
