import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Collection } from '../bot/platform.ts';
import { cappedMessage } from './caps.ts';
import { type ListedMessage, type Message, RootMessage } from './wire.ts';

/** Newest messages kept in the channel, and in each thread. */
const MAX_ROOTS = 200;
const MAX_REPLIES = 200;

/** Characters of one thread as JSON; the oldest replies go first. */
const MAX_THREAD_CHARACTERS = 300_000;

const INTERRUPTED = 'Interrupted: Askwatch was stopped before the answer was complete. Ask again.';

/** Where the console keeps its messages: one document per channel message, with the thread under it. */
export const consoleCollection = {
  name: 'console-messages',
  schema: RootMessage,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** What the console has shown, in memory for reading and in the collection for the next start. */
export interface History {
  /** Messages of all channels, oldest first. */
  listed(): ListedMessage[];
  get(id: string): RootMessage | undefined;
  /** Stores a new channel message unless this id is there already; resolves to what is there and whether it is new. */
  add(root: RootMessage): Promise<{ root: RootMessage; added: boolean; removed: string[] }>;
  /** Replaces a channel message itself; `undefined` when it is gone. */
  change(id: string, change: (message: Message) => Message): Promise<RootMessage | undefined>;
  /** Adds a reply or replaces the one of the same id; `undefined` when the thread is gone. */
  putReply(id: string, reply: Message): Promise<RootMessage | undefined>;
}

/** The id of the message that `Platform.post` makes: the same post is the same message, also after a restart. */
export function postedMessageId(postId: string): string {
  return `p${createHash('sha256').update(postId).digest('base64url').slice(0, 22)}`;
}

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

const isGrowing = ({ body }: Message) => body.kind === 'answer' && body.growing;

/** Reads the stored messages. Answers that a crash cut short get a note that says so. */
export async function openHistory(
  collection: Collection<RootMessage>,
  log: Logger,
): Promise<History> {
  const stored = await collection.list();
  stored.sort((a, b) => a.document.message.atMs - b.document.message.atMs);
  const roots = new Map(stored.map(({ id, document }) => [id, document]));

  /** Writes first, so that memory never shows what a restart would forget. */
  async function update(
    id: string,
    change: (current: RootMessage | undefined) => RootMessage | undefined,
  ): Promise<RootMessage | undefined> {
    const root = await collection.update(id, change);
    if (root) roots.set(id, root);
    else roots.delete(id);
    return root;
  }

  async function removeOldest(): Promise<string[]> {
    const surplus = [...roots.keys()].slice(0, Math.max(0, roots.size - MAX_ROOTS));
    for (const id of surplus) await update(id, () => undefined);
    return surplus;
  }

  for (const { message, replies } of [...roots.values()]) {
    if (!replies.some(isGrowing)) continue;
    await update(message.id, (root) => root && { ...root, replies: root.replies.map(interrupted) });
    log.info({ message: message.id }, 'an answer was interrupted by the last stop');
  }
  await removeOldest();

  return {
    listed: () => [...roots.values()].map(listedOf),
    get: (id) => roots.get(id),
    async add(root) {
      const { id } = root.message;
      let added = false;
      const capped = { ...root, message: cappedMessage(root.message) };
      const stored = await update(id, (current) => {
        added = current === undefined;
        return current ?? capped;
      });
      return { root: stored ?? capped, added, removed: await removeOldest() };
    },
    change: (id, change) =>
      update(id, (root) => root && { ...root, message: cappedMessage(change(root.message)) }),
    putReply: (id, reply) => update(id, (root) => root && withReply(root, cappedMessage(reply))),
  };
}

function interrupted(message: Message): Message {
  if (message.body.kind !== 'answer' || !message.body.growing) return message;
  const { kind, text } = message.body;
  // Without its buttons: there is nothing left to stop.
  return { ...message, body: { kind, text, growing: false, note: INTERRUPTED } };
}

function withReply(root: RootMessage, reply: Message): RootMessage {
  const at = root.replies.findIndex(({ id }) => id === reply.id);
  const replies = at < 0 ? [...root.replies, reply] : root.replies.with(at, reply);
  const sizes = replies.map((message) => JSON.stringify(message).length);
  let size = sizes.reduce((sum, one) => sum + one, 0);
  let surplus = Math.max(0, replies.length - MAX_REPLIES);
  size -= sizes.slice(0, surplus).reduce((sum, one) => sum + one, 0);
  while (size > MAX_THREAD_CHARACTERS && surplus < replies.length - 1) {
    size -= sizes[surplus] ?? 0;
    surplus += 1;
  }
  return { ...root, replies: replies.slice(surplus) };
}
