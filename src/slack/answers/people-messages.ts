import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { orAborted } from '../../bot/platform.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import {
  type Around,
  fileLine,
  type ReadLimits,
  type ReadMessages,
  readableText,
  type WrittenMessage,
} from '../../bot/shared/people-messages.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { deliveryError, readFailure } from '../api/call-failure.ts';
import { filesIn } from '../api/files.ts';
import { readingOf, readMessages } from '../api/messages.ts';
import type { SendQueue } from '../api/send-queue.ts';
import { decodeText } from '../render/text.ts';

/** The fields that are read here. Anyone may have written them. Source: Slack docs, "message event". */
export interface SlackMessage {
  ts?: unknown;
  user?: unknown;
  text?: unknown;
  subtype?: unknown;
  bot_id?: unknown;
  username?: unknown;
  bot_profile?: { name?: unknown };
  files?: unknown;
  attachments?: unknown;
}

/** Slack returns the oldest messages first, so a thread is read from its beginning. Slack recommends this page size. */
const PAGE_SIZE = 200;
const MAX_PAGES = 10;

/** Names requested at once, names kept, and for how long. */
const MAX_NAMES = 30;
const MAX_KNOWN = 1_000;
const KEEP_NAMES_MS = 60 * 60_000;

/** Files and attachments of a message that are read. */
const MAX_PARTS = 10;

/** Messages of people and other apps, without joins and new topics. */
const SAID = new Set<unknown>([
  undefined,
  'bot_message',
  'file_share',
  'me_message',
  'thread_broadcast',
]);

const TOO_OFTEN = 'Slack limits how often the bot can read messages. Ask again in a minute.';

/** `read` throws the errors of the `WebClient`, or a `DeliveryError`. */
export function createPeopleMessages(options: {
  client: webApi.WebClient;
  queue: SendQueue;
  self: BotIdentity;
  log: Logger;
}) {
  const { client, queue, self, log } = options;
  const known = new Map<string, { name: Promise<string | undefined>; atMs: number }>();

  /** Source: Slack docs, "users.info". */
  async function askName(id: string): Promise<string | undefined> {
    const { user } = await client.users.info({ user: id });
    const { display_name, real_name } = user?.profile ?? {};
    return display_name || real_name || user?.real_name || user?.name || undefined;
  }

  /** `undefined` if Slack doesn't say, such as without the scope `users:read`. */
  function nameOf(id: string): Promise<string | undefined> {
    const before = known.get(id);
    if (before && performance.now() - before.atMs < KEEP_NAMES_MS) return before.name;
    const name = askName(id).catch((error: unknown) => {
      const { kind, code } = readFailure(error);
      log.debug({ reason: code }, 'could not get a person’s name from Slack');
      if (kind !== 'refused') known.delete(id);
      return undefined;
    });
    known.set(id, { name, atMs: performance.now() });
    forgetOldest(known, MAX_KNOWN);
    return name;
  }

  /** Names of authors and mentioned people, as far as they arrive in time. */
  async function namesOf(ids: Iterable<string>, signal: AbortSignal): Promise<Map<string, string>> {
    const asked = [...new Set(ids)].filter((id) => USER_ID.test(id)).slice(0, MAX_NAMES);
    const found = await Promise.all(
      asked.map(async (id) => {
        const name = await orAborted(nameOf(id), signal).catch(() => undefined);
        return name === undefined ? [] : [[id, name] as const];
      }),
    );
    return new Map([...found.flat(), [self.userId, self.name]]);
  }

  /** The newest messages of a thread, oldest first, and the number of all. */
  async function pagesOf(
    channel: string,
    { thread, question }: { thread: string; question?: string },
    { limit, signal }: ReadLimits,
  ) {
    let newest: SlackMessage[] = [];
    let count = 0;
    let cursor: string | undefined;
    let problem: string | undefined;
    for (let page = 0; problem === undefined; page += 1) {
      if (page === MAX_PAGES) {
        problem = `Slack returns the oldest messages first, and this thread has more than the ${count} that were read.`;
        break;
      }
      const bounds = {
        channel,
        limit: PAGE_SIZE,
        latest: question,
        cursor,
      };
      const run = () => readMessages(client, bounds, thread);
      try {
        const call = { method: readingOf(thread), channel, run };
        const answer = await orAborted(queue.once(call), signal);
        const said = ((answer.messages ?? []) as SlackMessage[]).filter(
          ({ ts, subtype }) => SAID.has(subtype) && isBefore(ts, question),
        );
        count += said.length;
        newest = [...newest, ...said].slice(-limit);
        cursor = answer.response_metadata?.next_cursor;
        if (!cursor) break;
      } catch (error) {
        if (count === 0) throw isLimited(error) ? tooOften(error) : error;
        problem = signal.aborted
          ? 'Slack took too long to return the rest. Ask again.'
          : isLimited(error)
            ? `The newest messages are missing. ${TOO_OFTEN}`
            : deliveryError(error).message;
      }
    }
    return { newest, count, problem };
  }

  async function read(
    channel: string,
    { thread, question }: Around,
    limits: ReadLimits,
  ): Promise<ReadMessages | undefined> {
    if (thread === undefined) return undefined;
    const { newest, count, problem } = await pagesOf(channel, { thread, question }, limits);
    const newestFirst = newest.toReversed();
    const names = await namesOf(
      [limits.asker, ...newestFirst.flatMap(authorOf), ...newestFirst.flatMap(mentionedIn)],
      limits.signal,
    );
    return {
      messages: newestFirst.map((message) => writtenOf(message, { names, self })),
      older: count - newest.length,
      asker: names.get(limits.asker),
      problem,
    };
  }

  return {
    read,
    /** The chosen message with its files, and the names that arrive in time. */
    async chosen(message: SlackMessage, signal: AbortSignal): Promise<WrittenMessage> {
      const names = await namesOf([...authorOf(message), ...mentionedIn(message)], signal);
      return { ...writtenOf(message, { names, self }), files: filesIn(message.files) };
    },
  };
}

const isLimited = (error: unknown) =>
  error instanceof DeliveryError
    ? error.retryAfterMs !== undefined
    : readFailure(error).kind === 'limited';

const tooOften = (cause: unknown) => new DeliveryError(TOO_OFTEN, { permanent: false, cause });

const USER_ID = /^[UW][A-Z0-9]{2,30}$/;
const MENTION = /<@([UW][A-Z0-9]{2,30})[|>]/g;

const isBefore = (ts: unknown, question: string | undefined) =>
  typeof ts === 'string' && (question === undefined || Number(ts) < Number(question));

const authorOf = ({ user, bot_id }: SlackMessage) =>
  typeof user === 'string' && bot_id === undefined ? [user] : [];

function mentionedIn({ text }: SlackMessage): string[] {
  if (typeof text !== 'string') return [];
  return [...text.slice(0, 8_000).matchAll(MENTION)].slice(0, MAX_NAMES).map(([, id = '']) => id);
}

/** A Slack message as the bot reads it. Unknown names are ids. */
export function writtenOf(
  message: SlackMessage,
  { names, self }: { names: ReadonlyMap<string, string>; self: Pick<BotIdentity, 'userId'> },
): WrittenMessage {
  const { ts, user, username, bot_profile } = message;
  const id = String(ts);
  const known = typeof user === 'string' ? (names.get(user) ?? user) : undefined;
  const author = stringOf(username) ?? stringOf(bot_profile?.name) ?? known ?? 'somebody';
  return {
    id,
    author,
    text: textOf(message, names),
    atMs: Math.round(Number(id) * 1_000) || 0,
    ...(user === self.userId && { isOwn: true }),
  };
}

function textOf(
  { text, attachments, files }: SlackMessage,
  names: ReadonlyMap<string, string>,
): string {
  const read = (part: string) =>
    readableText(part, (raw) => decodeText(raw, (id) => names.get(id)));
  const own = read(stringOf(text) ?? '').trim();
  const attached = own === '' ? partsOf(attachments).map(attachmentText).filter(Boolean) : [];
  const named = partsOf(files).map(({ name, title }) =>
    fileLine(stringOf(name) ?? stringOf(title) ?? 'unnamed'),
  );
  return [own, read(attached.join('\n')), ...named].filter(Boolean).join('\n');
}

/** Source: Slack docs, "Reference: Secondary message attachments". */
const attachmentText = ({ pretext, title, text, fallback }: Record<string, unknown>) =>
  [stringOf(pretext), stringOf(title), stringOf(text) ?? stringOf(fallback)]
    .filter((part) => part !== undefined)
    .join('\n');

const partsOf = (value: unknown): Record<string, unknown>[] =>
  (Array.isArray(value) ? value : [])
    .slice(0, MAX_PARTS)
    .filter((part) => typeof part === 'object' && part !== null);

const stringOf = (value: unknown) =>
  typeof value === 'string' && value !== '' ? value : undefined;
