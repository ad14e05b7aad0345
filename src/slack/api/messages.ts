import { setTimeout as pause } from 'node:timers/promises';
import type { webApi } from '@slack/bolt';
import { DeliveryError } from '../../bot/shared/errors.ts';
import { type Content, context } from '../render/blocks.ts';
import { readFailure } from './call-failure.ts';
import type { EditKind } from './edit-pace.ts';
import type { SendQueue } from './send-queue.ts';

export interface Destination {
  channel: string;
  thread?: string;
  /** Shows a message in a thread in the channel, too. */
  broadcast?: boolean;
}

interface MessageMark {
  id: string;
  goesOn?: boolean;
}

/** Pages of a channel that are searched for an earlier message, and how far back. */
const LOOKUP_PAGES = 5;
const LOOKUP_PAGE_SIZE = 200;
const LOOKUP_BACK_MS = 7 * 24 * 3_600_000;
/** Slack's clock may be this far behind ours. */
export const CLOCK_SKEW_MS = 5 * 60_000;
const MAX_POSTS = 3;
const EVENT_TYPE = 'askwatch_alert';

/** Slack must not fetch linked pages for previews, or turn plain words into mentions and channels. */
const UNTOUCHED = { parse: 'none', link_names: false } as const;
const NO_PREVIEWS = { unfurl_links: false, unfurl_media: false } as const;

type EarlierMessage =
  | { kind: 'found'; ts: string; goesOn: boolean }
  | { kind: 'absent' }
  | { kind: 'unreadable' };

/** The bot's messages in Slack. Methods throw the errors of the `WebClient`, or a `DeliveryError` while limited. */
export class Messages {
  private readonly client: webApi.WebClient;
  private readonly queue: SendQueue;

  constructor(client: webApi.WebClient, queue: SendQueue) {
    this.client = client;
    this.queue = queue;
  }

  /** Posts once and returns the ts: if an answer is lost, it looks for the message before it posts again. */
  async post(to: Destination, content: Content, id: string): Promise<string> {
    const { channel } = to;
    const sinceMs = Date.now() - CLOCK_SKEW_MS;
    for (let posts = 1; ; posts += 1) {
      try {
        const run = () => this.send(to, content, { id });
        return (await this.queue.patiently({ method: 'chat.postMessage', channel, run })).ts;
      } catch (error) {
        if (readFailure(error).kind !== 'unknown' || posts === MAX_POSTS) throw error;
        const found = await this.queue.patiently({
          method: readingOf(to.thread),
          channel,
          repeatable: true,
          run: () => this.tryFind(to, id, sinceMs),
        });
        if (found.kind === 'found') return found.ts;
        if (found.kind === 'unreadable') throw error;
      }
    }
  }

  /**
   * Tries once to post an alert, in the channel's order. Returns the new message, or the one of an earlier attempt, which may
   * still arrive within `landsInMs`.
   */
  async postAlert(
    to: Destination,
    content: Content,
    { attempted, landsInMs = 0, ...mark }: MessageMark & { attempted: boolean; landsInMs?: number },
  ): Promise<{ ts: string; goesOn: boolean }> {
    const { channel } = to;
    const sinceMs = Date.now() - LOOKUP_BACK_MS;
    const run = () => this.tryFind(to, mark.id, sinceMs);
    const lookUp = () => this.queue.once({ method: readingOf(to.thread), channel, run });
    return await this.queue.inOrder(channel, async () => {
      let found: EarlierMessage = attempted ? await lookUp() : { kind: 'absent' };
      if (found.kind === 'absent' && landsInMs > 0) {
        await pause(landsInMs);
        // Apps that may read one page a minute have just read it.
        found = await lookUp().catch(orUnreadable);
      }
      if (found.kind === 'found') return found;
      const shown = found.kind === 'unreadable' ? markRepeat(content) : content;
      return await this.queue.once({
        method: 'chat.postMessage',
        channel,
        run: () => this.send(to, shown, mark),
      });
    });
  }

  /**
   * Changes a message. For an alert and below one it tries once; for a growing answer the caller has waited for its turn; the
   * end of an answer waits, is repeated if Slack fails, and throws `LimitedError` once edits have run out.
   */
  async update(channel: string, ts: string, content: Content, edit: EditKind): Promise<void> {
    const run = () => this.client.chat.update({ channel, ts, ...content, ...UNTOUCHED });
    const call = { method: 'chat.update', channel, edit, run };
    if (edit === 'alert' || edit === 'below') await this.queue.once(call);
    else if (edit === 'first' || edit === 'more') await this.queue.tryNow(call);
    else await this.queue.patiently({ ...call, repeatable: true });
  }

  /** Deletes a message as soon as there is room. If Slack refuses, the message shows `otherwise`. */
  async remove(channel: string, ts: string, otherwise: Content): Promise<void> {
    const run = () => this.client.chat.delete({ channel, ts });
    const call = { method: 'chat.delete', channel, edit: 'late', repeatable: true, run } as const;
    try {
      await this.queue.patiently(call);
    } catch (error) {
      const { kind, code } = readFailure(error);
      if (code === 'message_not_found') return;
      if (kind !== 'refused') throw error;
      await this.update(channel, ts, otherwise, 'late');
    }
  }

  async postEphemeral({ channel, thread }: Destination, user: string, content: Content) {
    const message = { channel, user, thread_ts: thread, ...content, ...UNTOUCHED };
    const run = () => this.client.chat.postEphemeral(message);
    await this.queue.patiently({ method: 'chat.postEphemeral', channel, run });
  }

  private async send(
    { channel, thread, broadcast }: Destination,
    content: Content,
    { id, goesOn = false }: MessageMark,
  ) {
    const { ts } = await this.client.chat.postMessage({
      channel,
      ...inThread(thread, broadcast),
      ...content,
      ...UNTOUCHED,
      ...NO_PREVIEWS,
      metadata: { event_type: EVENT_TYPE, event_payload: { id, ...(goesOn && { goes_on: true }) } },
    });
    if (ts === undefined) {
      throw new Error('Slack posted a message but returned no timestamp for it.');
    }
    return { ts, goesOn };
  }

  /** `find`, with a refusal as an answer. */
  private async tryFind(to: Destination, id: string, sinceMs: number): Promise<EarlierMessage> {
    try {
      return await this.find(to, id, sinceMs);
    } catch (error) {
      const { kind, code } = readFailure(error);
      if (kind !== 'refused') throw error;
      // If the bot isn't in the channel, the post that follows says so.
      return { kind: code === 'not_in_channel' ? 'absent' : 'unreadable' };
    }
  }

  /** Searches for a message by its id, newest first in a channel. */
  private async find(
    { channel, thread }: Destination,
    id: string,
    sinceMs: number,
  ): Promise<EarlierMessage> {
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
      const answer = await readMessages(this.client, bounds, thread).catch((error: unknown) => {
        // Some apps may read one page a minute, and no search of theirs would ever end.
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
}

function inThread(thread: string | undefined, broadcast: boolean | undefined) {
  if (thread === undefined) return {};
  return broadcast ? { thread_ts: thread, reply_broadcast: true as const } : { thread_ts: thread };
}

/** The outcome of a search that Slack limits; throws any other error. */
function orUnreadable(error: unknown): EarlierMessage {
  if (error instanceof DeliveryError || readFailure(error).kind === 'limited') {
    return { kind: 'unreadable' };
  }
  throw error;
}

function payloadOf(metadata: { event_payload?: object } | undefined): Record<string, unknown> {
  return { ...metadata?.event_payload };
}

function markRepeat({ text, blocks }: Content): Content {
  const note = '(possible repeat)';
  return { text: `${text} ${note}`, blocks: [...blocks, context(note)] };
}

type MessageBounds = webApi.ConversationsHistoryArguments;

export const readingOf = (thread: string | undefined) =>
  thread === undefined ? 'conversations.history' : 'conversations.replies';

export const readMessages = (
  client: webApi.WebClient,
  bounds: MessageBounds,
  thread: string | undefined,
) =>
  thread === undefined
    ? client.conversations.history(bounds)
    : client.conversations.replies({ ...bounds, ts: thread });

/** Reads one page and waits for Slack's limits. */
export const readPatiently = (
  client: webApi.WebClient,
  queue: SendQueue,
  { thread, ...bounds }: MessageBounds & { thread: string | undefined },
) =>
  queue.patiently({
    method: readingOf(thread),
    channel: bounds.channel,
    repeatable: true,
    run: () => readMessages(client, bounds, thread),
  });
