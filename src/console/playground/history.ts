import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { groupBy } from '../../bot/incidents/watch-state.ts';
import type { Collection } from '../../bot/platform.ts';
import {
  type ListedMessage,
  Message,
  type OlderMessages,
  RootMessage,
} from '../shared/api-types.ts';
import type { EventStreams } from './event-streams.ts';

const MAX_ROOTS = 200;
const MAX_ROOTS_IN_ALL = 1_000;
const MAX_REPLIES = 200;

/** Messages of a channel that a page gets at once. */
const PAGE = 50;

/** Characters of one thread as JSON; the oldest replies go first. */
const MAX_THREAD_CHARACTERS = 300_000;

const INTERRUPTED = 'Interrupted: Askwatch was stopped before the answer was complete. Ask again.';

/** One document per channel message, with the thread under it. */
export const historyCollection = {
  name: 'console-messages',
  schema: RootMessage,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** The id of the message that `Platform.post` creates: a repeated post is the same message, also after a restart. */
export function postedMessageId(postId: string): string {
  return `p${createHash('sha256').update(postId).digest('base64url').slice(0, 22)}`;
}

/** Prefix of the console's invocation ids; the interaction's id follows. */
export const INVOCATION = 'console:';

export const messageIds = (interaction: string) => ({
  question: `q${interaction}`,
  reply: `a${interaction}`,
});

export function listedOf({ channel, message, replies }: RootMessage): ListedMessage {
  const lastAtMs = replies.at(-1)?.atMs;
  const growing = replies.some(isGrowing);
  return { channel, message, thread: { replies: replies.length, lastAtMs, growing } };
}

export const isGrowing = ({ body }: Message) => body.kind === 'answer' && body.growing;

/** True for an answer that was growing when the history was opened. */
export const isInterrupted = ({ body }: Message) =>
  body.kind === 'answer' && body.note === INTERRUPTED;

interface HistoryOptions {
  streams: EventStreams;
  onRemoved(messages: readonly string[]): Promise<void>;
  log: Logger;
}

/**
 * The console's public messages, in the store and in memory. Each method changes the store first, then memory, then sends the
 * change to every tab, so that nobody sees a message that a restart would lose.
 */
export class ChatHistory {
  private readonly collection: Collection<RootMessage>;
  private readonly options: HistoryOptions;
  private readonly roots = new Map<string, RootMessage>();

  private constructor(collection: Collection<RootMessage>, options: HistoryOptions) {
    this.collection = collection;
    this.options = options;
  }

  /**
   * Reads the stored messages, and ends the answers that were still growing, because their process is gone. The bot later
   * replaces the notes of the answers that it knows (`Platform.endAnswer`).
   */
  static async open(collection: Collection<RootMessage>, options: HistoryOptions) {
    const history = new ChatHistory(collection, options);
    for (const { id, document } of await collection.list()) history.roots.set(id, document);
    await history.endGrowing();
    await history.removeOldest();
    return history;
  }

  /** The newest messages of every channel, oldest first, and the channels that have older ones. */
  newest(): { messages: ListedMessage[]; older: string[] } {
    const channels = [...this.byChannel()];
    const messages = channels.flatMap(([, all]) => all.slice(-PAGE)).sort(byTime);
    return {
      messages: messages.map(listedOf),
      older: channels.filter(([, all]) => all.length > PAGE).map(([channel]) => channel),
    };
  }

  /** Messages of a channel before one of them, oldest first. */
  before(channel: string, id: string): OlderMessages {
    const all = this.byChannel().get(channel) ?? [];
    const end = all.findIndex(({ message }) => message.id === id);
    const messages = all.slice(Math.max(0, end - PAGE), Math.max(0, end));
    return { messages: messages.map(listedOf), more: end > PAGE };
  }

  get(id: string): RootMessage | undefined {
    return this.roots.get(id);
  }

  /** Finds a channel message by its id alone, or a reply in the thread under `root`. */
  find(root: string, id: string): Message | undefined {
    const { message, replies = [] } = this.roots.get(root) ?? {};
    return message?.id === id ? message : replies.find((reply) => reply.id === id);
  }

  /** Adds a channel message unless its id is taken, and resolves to the stored one. */
  async add(root: RootMessage): Promise<RootMessage> {
    const added = { ...root, message: Message.parse(root.message) };
    const stored = (await this.update(root.message.id, (current) => current ?? added)) ?? added;
    this.send(stored);
    await this.removeOldest();
    return stored;
  }

  /** Changes a channel message, or a reply in the thread under `thread`; resolves to `undefined` if it is gone. */
  async change(thread: string, id: string, change: (message: Message) => Message) {
    if (id !== thread) {
      const reply = this.find(thread, id);
      return reply && (await this.putReply(thread, change(reply)));
    }
    const root = await this.update(
      id,
      (current) => current && { ...current, message: Message.parse(change(current.message)) },
    );
    if (root) this.send(root);
    return root;
  }

  /** Adds a reply or replaces the one with its id; resolves to `undefined` if the thread is gone. */
  async putReply(id: string, reply: Message) {
    const root = await this.storeReply(id, reply);
    if (!root) return undefined;
    const stored = root.replies.find((one) => one.id === reply.id) ?? reply;
    this.options.streams.send({ kind: 'reply', root: id, reply: stored });
    this.send(root);
    return root;
  }

  /** Stores a growing reply without sending it: tabs get its text in pieces. */
  storeReply(id: string, reply: Message) {
    return this.update(id, (root) => root && withReply(root, Message.parse(reply)));
  }

  private async update(
    id: string,
    change: (current: RootMessage | undefined) => RootMessage | undefined,
  ) {
    const root = await this.collection.update(id, change);
    if (root) this.roots.set(id, root);
    else this.roots.delete(id);
    return root;
  }

  private send(root: RootMessage) {
    this.options.streams.send({ kind: 'message', listed: listedOf(root) });
  }

  private byChannel() {
    return groupBy([...this.roots.values()].sort(byTime), ({ channel }) => channel);
  }

  private async endGrowing() {
    for (const [id, { replies }] of [...this.roots]) {
      if (!replies.some(isGrowing)) continue;
      await this.update(
        id,
        (root) => root && { ...root, replies: root.replies.map(withInterruption) },
      );
      this.options.log.info(
        { message: id },
        'an answer was interrupted when Askwatch last stopped',
      );
    }
  }

  private async removeOldest() {
    const kept = [...this.byChannel().values()].flatMap((all) => all.slice(-MAX_ROOTS));
    kept.sort(byTime);
    const ids = new Set(kept.slice(-MAX_ROOTS_IN_ALL).map(({ message }) => message.id));
    const surplus = [...this.roots.keys()].filter((id) => !ids.has(id));
    if (surplus.length === 0) return;
    const { streams, onRemoved, log } = this.options;
    for (const id of surplus) {
      await this.update(id, () => undefined);
      streams.send({ kind: 'removed', message: id });
    }
    await onRemoved(surplus).catch((error: unknown) => {
      log.error(
        { err: error },
        'could not remove the files of deleted messages; they are removed once they are old',
      );
    });
  }
}

/** Orders by id where times are equal, so that the order survives a restart. */
const byTime = ({ message: a }: RootMessage, { message: b }: RootMessage) =>
  a.atMs - b.atMs || (a.id < b.id ? -1 : 1);

/** Ends an answer that was cut short, without its buttons; returns any other message as it is. */
function withInterruption(message: Message): Message {
  if (message.body.kind !== 'answer' || !message.body.growing) return message;
  const { kind, text, steps } = message.body;
  return { ...message, body: { kind, text, steps, growing: false, note: INTERRUPTED } };
}

function withReply(root: RootMessage, reply: Message): RootMessage {
  const at = root.replies.findIndex(({ id }) => id === reply.id);
  const all = at < 0 ? [...root.replies, reply] : root.replies.with(at, reply);
  const replies = all.slice(-MAX_REPLIES);
  const sizes = replies.map((message) => JSON.stringify(message).length);
  let size = sizes.reduce((sum, one) => sum + one, 0);
  while (size > MAX_THREAD_CHARACTERS && replies.length > 1) {
    replies.shift();
    size -= sizes.shift() ?? 0;
  }
  return { ...root, replies };
}
