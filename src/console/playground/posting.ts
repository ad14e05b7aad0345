import type { Platform } from '../../bot/platform.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import type { Message } from '../shared/api-types.ts';
import type { Answers } from './answers.ts';
import type { ConsoleChannels } from './channels.ts';
import { type History, isGrowing, isInterrupted, postedMessageId } from './history.ts';

/** What Askwatch posts by itself. */
export function createPosting(options: {
  history: History;
  channels: ConsoleChannels;
  answers: Answers;
}): Pick<Platform, 'post' | 'update' | 'announce' | 'endAnswer'> {
  const { history, channels, answers } = options;
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
    /** The text stays as it was heard last; an end that is stored is told again, as whoever stored it may have died before. */
    async endAnswer({ thread = '', shown, beganAtMs, note, actionsIn }) {
      const { message: id = '' } = shown;
      await history.catchUp().catch(asDeliveryError('read'));
      const there = history.find(thread, id);
      if (there && !isGrowing(there) && !isInterrupted(there)) return await putReply(thread, there);
      const { body, ...frame } = there
        ? answers.latest(there)
        : { id, author: ours, atMs: beganAtMs, body: undefined };
      const text = body?.kind === 'answer' ? body.text : '';
      const actions = await actionsIn(thread);
      await putReply(thread, {
        ...frame,
        body: { kind: 'answer', text, growing: false, note, actions },
      });
    },
  };
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
