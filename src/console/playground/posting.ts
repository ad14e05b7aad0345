import type { Platform } from '../../bot/platform.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import type { Message } from '../shared/api-types.ts';
import type { ConsoleChannels } from './channels.ts';
import { type History, isInterrupted, postedMessageId } from './history.ts';

/** What Askwatch posts by itself. */
export function createPosting(options: {
  history: History;
  channels: ConsoleChannels;
}): Pick<Platform, 'post' | 'update' | 'announce' | 'endAnswer'> {
  const { history, channels } = options;
  const ours = { kind: 'askwatch' as const };

  async function putReply(thread: string, reply: Message) {
    const root = await history.putReply(thread, reply).catch(asDeliveryError('stored'));
    if (!root) throw messageGone();
  }

  return {
    async post({ channel, card, id }) {
      if (!(await channels.has(channel))) throw noChannel(channel, channels.list());
      const messageId = postedMessageId(id);
      const body = { kind: 'card' as const, card };
      const message = { id: messageId, author: ours, atMs: Date.now(), body };
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
      const reply = { id: postedMessageId(id), author: ours, atMs: Date.now(), body };
      await putReply(posted.thread, reply);
    },
    /** The text stays as it was stored last. */
    async endAnswer({ thread = '', shown, beganAtMs, note, actionsIn }) {
      const { message: id = '' } = shown;
      const there = history.get(thread)?.replies.find((reply) => reply.id === id);
      if (there && !isInterrupted(there)) return;
      const text = there?.body.kind === 'answer' ? there.body.text : '';
      const actions = await actionsIn(thread);
      const frame = there ?? { id, author: ours, atMs: beganAtMs };
      const body = { kind: 'answer' as const, text, growing: false, note, actions };
      const reply = { ...frame, body };
      await putReply(thread, reply);
    },
  };
}

const noChannel = (channel: string, all: readonly string[]) =>
  new DeliveryError(`The console has no channel '${channel}'; it has ${all.join(', ')}.`, {
    permanent: true,
  });

const messageGone = () =>
  new DeliveryError('The message is gone: it made room for newer ones.', { permanent: true });

function asDeliveryError(what: string) {
  return (cause: unknown): never => {
    throw new DeliveryError(`The console's message could not be ${what}.`, {
      permanent: false,
      cause,
    });
  };
}
