import type { Platform } from '../../bot/platform.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import type { Interrupted } from '../../bot/shared/invocation.ts';
import type { Message } from '../shared/api-types.ts';
import type { ConsoleChannels } from './channels.ts';
import {
  type ChatHistory,
  INVOCATION,
  isGrowing,
  isInterrupted,
  messageIds,
  postedMessageId,
} from './history.ts';
import type { People } from './people.ts';
import type { PrivateMessages } from './private-messages.ts';

interface PostingParts {
  history: ChatHistory;
  channels: ConsoleChannels;
  people: People;
  privates: PrivateMessages;
}

const author = { kind: 'askwatch' as const };

export function createPosting(
  parts: PostingParts,
): Pick<Platform, 'post' | 'update' | 'announce' | 'endAnswer'> {
  const { history, channels } = parts;
  return {
    async post({ channel, under, card, id }) {
      if (!channels.has(channel)) throw noChannel(channel, channels.list());
      const messageId = postedMessageId(id);
      const body = { kind: 'card' as const, card };
      const message = { id: messageId, author, atMs: Date.now(), body };
      if (under) {
        await storeReply(history, under.thread, message);
        return { message: messageId, thread: under.thread, goesOn: card.goesOn };
      }
      const stored = await storeRoot(history, channel, message);
      const goesOn = stored.body.kind === 'card' && (stored.body.card.goesOn ?? false);
      return { message: messageId, thread: messageId, goesOn };
    },
    async update(_channel, { message: id, thread }, card) {
      const change = (message: Message): Message => ({
        ...message,
        changedAtMs: Date.now(),
        body: { kind: 'card', card },
      });
      const root = await history.change(thread, id, change).catch(asDeliveryError('changed'));
      if (!root) throw messageGone();
    },
    async announce({ posted, card: { tone, title }, id }) {
      const body = { kind: 'card' as const, card: { tone, title, parts: [] } };
      const reply = { id: postedMessageId(id), author, atMs: Date.now(), body };
      await storeReply(history, posted.thread, reply);
    },
    endAnswer: (interrupted) => endAnswer(parts, interrupted),
  };
}

/** Adds a note and buttons to the text that was stored last. Without a stored answer, the note becomes the reply. */
async function endAnswer(
  { history, people, privates }: PostingParts,
  interrupted: Interrupted,
): Promise<void> {
  const { channel, person, note, actionsIn } = interrupted;
  const { id, thread } = placeOf(interrupted, history);
  const root = thread ?? id;
  const stored = history.find(root, id);
  if (stored && !isGrowing(stored) && !isInterrupted(stored)) return;
  const emptyBody = { kind: 'answer' as const, text: '' };
  const by = people.find(person);
  const { body, ...frame } = stored ?? { id, author, atMs: Date.now(), by, body: emptyBody };
  if (body.kind !== 'answer') return;
  const actions = await actionsIn(root);
  const message: Message = { ...frame, body: { ...body, growing: false, note, actions } };
  if (interrupted.private) {
    privates.put({ person, channel, root: thread }, { ...message, private: true });
  } else if (thread === undefined) {
    await storeRoot(history, channel, message);
  } else {
    await storeReply(history, thread, message);
  }
}

/** The message of the answer and its thread, if it has one: a command at the top of a channel doesn't. */
function placeOf({ invocation, thread, shown }: Interrupted, history: ChatHistory) {
  const { question, reply } = messageIds(invocation.slice(INVOCATION.length));
  const ownThread = history.get(question) && question;
  return { id: shown?.message ?? reply, thread: thread ?? ownThread };
}

async function storeRoot(history: ChatHistory, channel: string, message: Message) {
  const adding = history.add({ channel, message, replies: [] });
  return (await adding.catch(asDeliveryError('stored'))).message;
}

async function storeReply(history: ChatHistory, thread: string, reply: Message) {
  const root = await history.putReply(thread, reply).catch(asDeliveryError('stored'));
  if (!root) throw messageGone();
}

const noChannel = (channel: string, all: readonly string[]) =>
  new DeliveryError(`The console has no channel '${channel}'; it has ${all.join(', ')}.`, {
    permanent: true,
  });

const messageGone = () =>
  new DeliveryError('The message was deleted to make room for newer ones.', { permanent: true });

function asDeliveryError(what: string) {
  return (cause: unknown): never => {
    throw new DeliveryError(`The console's message could not be ${what}.`, {
      permanent: false,
      cause,
    });
  };
}
