import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { groupBy } from '../../bot/incidents/watch-state.ts';
import type { Collection } from '../../bot/platform.ts';
import { type ListedMessage, Message, RootMessage } from '../shared/api-types.ts';
import type { EventStreams } from './event-streams.ts';

/** Newest messages kept in each channel, in all of them together, and in each thread. */
const MAX_ROOTS = 200;
const MAX_ROOTS_IN_ALL = 1_000;
const MAX_REPLIES = 200;

/** Messages of a channel that a page is given at once. */
const PAGE = 50;

/** Characters of one thread as JSON; the oldest replies go first. */
const MAX_THREAD_CHARACTERS = 300_000;

const INTERRUPTED = 'Interrupted: Askwatch was stopped before the answer was complete. Ask again.';

/** Where the console keeps its messages: one document per channel message, with the thread under it. */
export const historyCollection = {
  name: 'console-messages',
  schema: RootMessage,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** The console's public messages, in the store and in memory. */
export type History = Awaited<ReturnType<typeof openHistory>>;

/** The id of the message that `Platform.post` makes: the same post is the same message, also after a restart. */
export function postedMessageId(postId: string): string {
  return `p${createHash('sha256').update(postId).digest('base64url').slice(0, 22)}`;
}

/** The ids of invocations from here begin with this; the id of the interaction follows. */
export const INVOCATION = 'console:';

/** The ids of the messages that an interaction makes: its question, and what came of it. */
export const messageIds = (interaction: string) => ({
  question: `q${interaction}`,
  reply: `a${interaction}`,
});

/** A channel message as a list shows it, without the replies. */
export function listedOf({ channel, message, replies }: RootMessage): ListedMessage {
  const last = replies.at(-1);
  return {
    channel,
    message,
    thread: {
      replies: replies.length,
      ...(last ? { lastAtMs: last.atMs } : {}),
      growing: replies.some(isGrowing),
    },
  };
}

export const isGrowing = ({ body }: Message) => body.kind === 'answer' && body.growing;

/**
 * Reads the stored messages, and ends the answers that were still growing: the process that wrote them is gone. The bot replaces
 * their notes where it knows the answer (`Platform.endAnswer`). Changes are sent to every tab.
 */
export async function openHistory(
  collection: Collection<RootMessage>,
  {
    streams,
    onRemoved = async () => {},
    log,
  }: {
    streams: EventStreams;
    /** Called with channel messages that are gone. */
    onRemoved?(messages: readonly string[]): Promise<void>;
    log: Logger;
  },
) {
  const roots = new Map<string, RootMessage>();
  // Memory follows what is stored, so that neither it nor a tab shows what a restart would forget.
  const following = await collection.follow((changed) => {
    for (const { id, document } of changed) {
      if (document) roots.set(id, document);
      else roots.delete(id);
    }
  });

  /** Each oldest first. */
  const byChannel = () => groupBy([...roots.values()].sort(byTime), ({ channel }) => channel);

  function sendRoot(root: RootMessage | undefined) {
    if (root) streams.send({ kind: 'message', listed: listedOf(root) });
    return root;
  }

  async function removeOldest() {
    const kept = [...byChannel().values()].flatMap((all) => all.slice(-MAX_ROOTS));
    kept.sort(byTime);
    const ids = new Set(kept.slice(-MAX_ROOTS_IN_ALL).map(({ message }) => message.id));
    const surplus = [...roots.keys()].filter((id) => !ids.has(id));
    for (const id of surplus) {
      await collection.update(id, () => undefined);
      streams.send({ kind: 'removed', message: id });
    }
    if (surplus.length === 0) return;
    await onRemoved(surplus).catch((error: unknown) => {
      log.error(
        { err: error },
        'could not remove the files of deleted messages; they are removed once they are old',
      );
    });
  }

  const storeReply = (id: string, reply: Message) =>
    collection.update(id, (root) => root && withReply(root, Message.parse(reply)));

  async function endGrowing() {
    for (const [id, { replies }] of [...roots]) {
      if (!replies.some(isGrowing)) continue;
      await collection.update(
        id,
        (root) => root && { ...root, replies: root.replies.map(interrupted) },
      );
      log.info({ message: id }, 'an answer was interrupted when Askwatch last stopped');
    }
  }

  try {
    await endGrowing();
    await removeOldest();
  } catch (error) {
    following.stop();
    throw error;
  }

  return {
    /** The newest messages of every channel, oldest first, and the channels that have older ones. */
    newest() {
      const channels = [...byChannel()];
      const messages = channels.flatMap(([, all]) => all.slice(-PAGE)).sort(byTime);
      return {
        messages: messages.map(listedOf),
        older: channels.filter(([, all]) => all.length > PAGE).map(([channel]) => channel),
      };
    },
    /** Messages of a channel before one of them, oldest first. */
    before(channel: string, id: string) {
      const all = byChannel().get(channel) ?? [];
      const end = all.findIndex(({ message }) => message.id === id);
      const messages = all.slice(Math.max(0, end - PAGE), Math.max(0, end));
      return { messages: messages.map(listedOf), more: end > PAGE };
    },
    get: (id: string) => roots.get(id),
    /** A message by the id of the channel message that it is or stands under, and its own. */
    find(root: string, id: string): Message | undefined {
      const { message, replies = [] } = roots.get(root) ?? {};
      return message?.id === id ? message : replies.find((reply) => reply.id === id);
    },
    /** Adds a new channel message unless this id is there already; resolves to what is there. */
    async add(root: RootMessage) {
      const { id } = root.message;
      const added = { ...root, message: Message.parse(root.message) };
      const there = (await collection.update(id, (current) => current ?? added)) ?? added;
      sendRoot(there);
      await removeOldest();
      return there;
    },
    /** Replaces a channel message itself, likewise; `undefined` when it is gone. */
    change: async (id: string, change: (message: Message) => Message) =>
      sendRoot(
        await collection.update(
          id,
          (root) => root && { ...root, message: Message.parse(change(root.message)) },
        ),
      ),
    /** Adds a reply or replaces the one of the same id, likewise; `undefined` when the thread is gone. */
    async putReply(id: string, reply: Message) {
      const root = await storeReply(id, reply);
      const stored = root?.replies.find((one) => one.id === reply.id) ?? reply;
      if (root) streams.send({ kind: 'reply', root: id, reply: stored });
      return sendRoot(root);
    },
    /** The same for a reply whose growth tabs are sent piece by piece. */
    storeReply,
    close: following.stop,
  };
}

/** Messages with the same time keep their order over a restart. */
const byTime = ({ message: a }: RootMessage, { message: b }: RootMessage) =>
  a.atMs - b.atMs || (a.id < b.id ? -1 : 1);

/** True for an answer that was growing when the history was opened. */
export const isInterrupted = ({ body }: Message) =>
  body.kind === 'answer' && body.note === INTERRUPTED;

/** An answer that was cut short, with a note that says so; anything else as it is. */
function interrupted(message: Message): Message {
  if (message.body.kind !== 'answer' || !message.body.growing) return message;
  const { kind, text, steps } = message.body;
  // Without its buttons: there is nothing left to stop.
  const kept = { kind, text, ...(steps && { steps }) };
  return { ...message, body: { ...kept, growing: false, note: INTERRUPTED } };
}

function withReply(root: RootMessage, reply: Message): RootMessage {
  const at = root.replies.findIndex(({ id }) => id === reply.id);
  // Whoever stores a card once more may not know yet that it was decided.
  if (root.replies[at]?.changedAtMs !== undefined && reply.changedAtMs === undefined) return root;
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
