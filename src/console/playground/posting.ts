import type { Platform } from '../../bot/platform.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import type { Interrupted } from '../../bot/shared/invocation.ts';
import type { Message } from '../shared/api-types.ts';
import type { ConsoleChannels } from './channels.ts';
import {
  type History,
  INVOCATION,
  isGrowing,
  isInterrupted,
  messageIds,
  postedMessageId,
} from './history.ts';
import type { People } from './people.ts';
import type { PrivateMessages } from './private-messages.ts';

/** What Askwatch posts by itself. */
export function createPosting(options: {
  history: History;
  channels: ConsoleChannels;
  people: People;
  privates: PrivateMessages;
}): Pick<Platform, 'post' | 'update' | 'announce' | 'endAnswer'> {
  const { history, channels, people, privates } = options;
  const author = { kind: 'askwatch' as const };

  async function putReply(thread: string, reply: Message) {
    const root = await history.putReply(thread, reply).catch(asDeliveryError('stored'));
    if (!root) throw messageGone();
  }

  return {
    async post({ channel, card, id }) {
      if (!channels.has(channel)) throw noChannel(channel, channels.list());
      const messageId = postedMessageId(id);
      const body = { kind: 'card' as const, card };
      const message = { id: messageId, author, atMs: Date.now(), body };
      const { body: shown } = (
        await history.add({ channel, message, replies: [] }).catch(asDeliveryError('stored'))
      ).message;
      const goesOn = shown.kind === 'card' && (shown.card.goesOn ?? false);
      return { message: messageId, thread: messageId, goesOn };
    },
    async update(_channel, posted, card) {
      const root = await history
        .change(posted.message, (message) => ({
          ...message,
          changedAtMs: Date.now(),
          body: { kind: 'card', card },
        }))
        .catch(asDeliveryError('changed'));
      if (!root) throw messageGone();
    },
    async announce({ posted, card: { tone, title }, id }) {
      const body = { kind: 'card' as const, card: { tone, title, parts: [] } };
      const reply = { id: postedMessageId(id), author, atMs: Date.now(), body };
      await putReply(posted.thread, reply);
    },
    /** The answer ends with the text that was stored last; where there is none, the note is the reply. */
    async endAnswer(interrupted) {
      const { channel, person, note, actionsIn } = interrupted;
      const { id, thread } = placeOf(interrupted, history);
      const root = thread ?? id;
      const there = history.find(root, id);
      const isOver = there && !isGrowing(there) && !isInterrupted(there);
      const by = people.find(person);
      const { body, ...frame } = there ?? {
        ...{ id, author, atMs: Date.now(), ...(by && { by }) },
        body: { kind: 'answer' as const, text: '' },
      };
      if (isOver || body.kind !== 'answer') return;
      const actions = await actionsIn(root);
      const message: Message = { ...frame, body: { ...body, growing: false, note, actions } };
      if (interrupted.private) {
        privates.put({ person, channel, root: thread }, { ...message, private: true });
      } else if (thread !== undefined) {
        await putReply(thread, message);
      } else {
        await history.add({ channel, message, replies: [] }).catch(asDeliveryError('stored'));
      }
    },
  };
}

/** The message that the answer grows in or would have, and its thread; none for a command at the top of a channel. */
function placeOf({ invocation, thread, shown }: Interrupted, history: History) {
  const { question, reply } = messageIds(invocation.slice(INVOCATION.length));
  const asked = history.get(question) && question;
  return { id: shown?.message ?? reply, thread: thread ?? asked };
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
