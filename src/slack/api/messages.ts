import { setTimeout as pause } from 'node:timers/promises';
import type { webApi } from '@slack/bolt';
import { DeliveryError } from '../../bot/shared/errors.ts';
import { type Content, context } from '../render/blocks.ts';
import { readFailure } from './call-failure.ts';
import type { EditKind } from './edit-pace.ts';
import type { SendQueue } from './send-queue.ts';

/** Where a message goes. */
export interface Destination {
  channel: string;
  thread?: string;
  /** Whether a message in a thread is shown in the channel, too. */
  broadcast?: boolean;
}

/** What a message is posted with, for finding it again. */
interface SlackAlert {
  id: string;
  /** Whether its incident is not over. */
  goesOn?: boolean;
}

/** Messages of ours in Slack. All of these throw what the `WebClient` throws, or a `DeliveryError` while limited. */
export type Messages = ReturnType<typeof createMessages>;

/** How many messages of a channel are looked through for one of ours, and how far back. */
const LOOKUP_PAGES = 5;
const LOOKUP_PAGE_SIZE = 200;
const LOOKUP_BACK_MS = 7 * 24 * 3_600_000;
/** How far Slack's clock may be behind ours. */
export const CLOCK_SKEW_MS = 5 * 60_000;

const EVENT_TYPE = 'askwatch_alert';

/** Never fetch a linked address for a preview, never make mentions or channels of plain words. */
const UNTOUCHED = { parse: 'none', link_names: false } as const;
const NO_PREVIEWS = { unfurl_links: false, unfurl_media: false } as const;

/** The outcome of a search for an earlier message. */
type Found =
  | { kind: 'found'; ts: string; goesOn: boolean }
  | { kind: 'absent' }
  | { kind: 'unreadable' };

export function createMessages(client: webApi.WebClient, queue: SendQueue) {
  async function send(
    { channel, thread, broadcast }: Destination,
    content: Content,
    { id, goesOn = false }: SlackAlert,
  ) {
    const { ts } = await client.chat.postMessage({
      channel,
      ...inThread(thread, broadcast),
      ...content,
      ...UNTOUCHED,
      ...NO_PREVIEWS,
      metadata: { event_type: EVENT_TYPE, event_payload: { id, ...(goesOn && { goes_on: true }) } },
    });
    if (ts === undefined)
      throw new Error('Slack posted a message but returned no timestamp for it.');
    return { ts, goesOn };
  }

  /** Searches for a message by the id that it was posted with, newest first in a channel. */
  async function find(
    { channel, thread }: Destination,
    id: string,
    sinceMs: number,
  ): Promise<Found> {
    const oldest = String(Math.floor(sinceMs / 1000));
    let cursor: string | undefined;
    for (let page = 0; page < LOOKUP_PAGES; page += 1) {
      const bounds = {
        channel,
        oldest,
        limit: LOOKUP_PAGE_SIZE,
        include_all_metadata: true,
        cursor,
      };
      const answer = await readMessages(client, bounds, thread).catch((error: unknown) => {
        // An app may read one page a minute: what was found so far has to do, or no search would ever end.
        if (page > 0 && readFailure(error).kind === 'limited') return undefined;
        throw error;
      });
      if (!answer) return { kind: 'unreadable' };
      const message = answer.messages?.find(({ metadata }) => payloadOf(metadata).id === id);
      if (message?.ts) {
        const goesOn = payloadOf(message.metadata).goes_on === true;
        return { kind: 'found', ts: message.ts, goesOn };
      }
      cursor = answer.response_metadata?.next_cursor;
      if (!cursor) return { kind: 'absent' };
    }
    return { kind: 'unreadable' };
  }

  /** `find`, where not being allowed to read is an answer too. */
  async function tryFind(to: Destination, id: string, sinceMs: number): Promise<Found> {
    try {
      return await find(to, id, sinceMs);
    } catch (error) {
      const { kind, code } = readFailure(error);
      // Where the bot is not at all, the post that follows says so.
      if (kind === 'refused' && code !== 'not_in_channel') return { kind: 'unreadable' };
      if (kind === 'refused') return { kind: 'absent' };
      throw error;
    }
  }

  async function update(channel: string, ts: string, content: Content, edit: EditKind) {
    const run = () => client.chat.update({ channel, ts, ...content, ...UNTOUCHED });
    const call = { method: 'chat.update', channel, edit, run };
    if (edit === 'alert') await queue.once(call);
    else if (edit === 'first' || edit === 'more') await queue.inTurn(call);
    else await queue.patiently({ ...call, repeatable: true });
  }

  return {
    /**
     * Posts what a person waits for, once: whether an attempt with a lost answer went through is looked up. Gives its ts.
     */
    async post(to: Destination, content: Content, id: string) {
      const { channel } = to;
      const sinceMs = Date.now() - CLOCK_SKEW_MS;
      for (let attempts = 1; ; attempts += 1) {
        try {
          const run = () => send(to, content, { id });
          return (await queue.patiently({ method: 'chat.postMessage', channel, run })).ts;
        } catch (error) {
          if (readFailure(error).kind !== 'unknown' || attempts === 3) throw error;
          const found = await queue.patiently({
            method: readingOf(to.thread),
            channel,
            repeatable: true,
            run: () => tryFind(to, id, sinceMs),
          });
          if (found.kind === 'found') return found.ts;
          if (found.kind === 'unreadable') throw error;
        }
      }
    },

    /**
     * Tries once to post an alert, in the channel's order. Returns what it posted, or what was found from an earlier attempt,
     * which may still arrive within `landsInMs`.
     */
    async postAlert(
      to: Destination,
      content: Content,
      {
        attempted,
        landsInMs = 0,
        ...alert
      }: SlackAlert & { attempted: boolean; landsInMs?: number },
    ) {
      const { channel } = to;
      const sinceMs = Date.now() - LOOKUP_BACK_MS;
      const lookUp = () =>
        queue.once({
          method: readingOf(to.thread),
          channel,
          run: () => tryFind(to, alert.id, sinceMs),
        });
      return await queue.inOrder(channel, async () => {
        let found: Found = attempted ? await lookUp() : { kind: 'absent' };
        if (found.kind === 'absent' && landsInMs > 0) {
          await pause(landsInMs);
          // An app that may read one page a minute has just read it.
          found = await lookUp().catch(orUnreadable);
        }
        if (found.kind === 'found') return found;
        const shown = found.kind === 'unreadable' ? markRepeat(content) : content;
        return await queue.once({
          method: 'chat.postMessage',
          channel,
          run: () => send(to, shown, alert),
        });
      });
    },

    /**
     * Changes a message. The end of an answer waits for its turn and repeats what Slack failed to do; it throws `LimitedError`
     * when edits have run out. Of an answer being written the caller has waited for the turn, and shows more the next time.
     */
    update,

    /** Takes a message away, or puts another in its place where Slack does not let it be deleted. As soon as there is room. */
    async remove(channel: string, ts: string, otherwise: Content) {
      const run = () => client.chat.delete({ channel, ts });
      const call = { method: 'chat.delete', channel, edit: 'late', repeatable: true, run } as const;
      try {
        await queue.patiently(call);
      } catch (error) {
        const { kind, code } = readFailure(error);
        if (code === 'message_not_found') return;
        if (kind !== 'refused') throw error;
        await update(channel, ts, otherwise, 'late');
      }
    },

    /** Shows something to one person only. */
    async postEphemeral({ channel, thread }: Destination, user: string, content: Content) {
      const run = () =>
        client.chat.postEphemeral({
          channel,
          user,
          thread_ts: thread,
          ...content,
          ...UNTOUCHED,
        });
      await queue.patiently({ method: 'chat.postEphemeral', channel, run });
    },
  };
}

function inThread(thread: string | undefined, broadcast: boolean | undefined) {
  if (thread === undefined) return {};
  return broadcast ? { thread_ts: thread, reply_broadcast: true as const } : { thread_ts: thread };
}

/** What is limited cannot be read now; throws everything else again. */
function orUnreadable(error: unknown): Found {
  if (error instanceof DeliveryError || readFailure(error).kind === 'limited') {
    return { kind: 'unreadable' };
  }
  throw error;
}

/** As Slack gives it back. */
function payloadOf(metadata: { event_payload?: object } | undefined): Record<string, unknown> {
  return { ...metadata?.event_payload };
}

/** Says in the message that it may have been posted before: that could not be looked up. */
function markRepeat({ text, blocks }: Content): Content {
  const note = '(possible repeat)';
  return { text: `${text} ${note}`, blocks: [...blocks, context(note)] };
}

/** The method by which the messages of a thread are read, or those of a channel. */
export const readingOf = (thread: string | undefined) =>
  thread === undefined ? 'conversations.history' : 'conversations.replies';

export const readMessages = (
  client: webApi.WebClient,
  bounds: webApi.ConversationsHistoryArguments,
  thread: string | undefined,
) =>
  thread === undefined
    ? client.conversations.history(bounds)
    : client.conversations.replies({ ...bounds, ts: thread });
