import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Card } from '../../bot/shared/card.ts';
import type { Answer, Invocation, Reply } from '../../bot/shared/invocation.ts';
import { HttpError } from '../../http/errors.ts';
import {
  type ConsolePerson,
  type InteractionOutcome,
  Message,
  ShownCard,
} from '../shared/api-types.ts';
import { type GrowingAnswers, type MessageFrame, threadGone } from './answers.ts';
import { shownFile } from './files.ts';
import { type ChatHistory, messageIds } from './history.ts';
import type { PrivateMessages } from './private-messages.ts';

export interface ReplyTarget {
  id: string;
  channel: string;
  /** Absent for a reply at the top of the channel. */
  thread: string | undefined;
  by: ConsolePerson;
  /** The command line or button label that a card names as its origin. */
  command: string | undefined;
  pressed?: { message: string; button: Invocation['request']; private: boolean };
}

export interface ReplyParts {
  history: ChatHistory;
  privates: PrivateMessages;
  answers: GrowingAnswers;
  log: Logger;
}

export async function showReply(
  parts: ReplyParts,
  reply: Reply,
  target: ReplyTarget,
): Promise<InteractionOutcome> {
  if (reply.kind === 'nothing') return findEarlierReply(parts, target);
  if (reply.kind === 'card' && reply.inPlace && (await replaceCard(parts, reply.card, target)))
    return { shown: 'nothing' };
  const outcome =
    reply.kind === 'card'
      ? await showCard(parts, reply, target)
      : await showAnswer(parts, reply, target);
  const { by, pressed } = target;
  // The private message with the button is done: everyone can see its result.
  if (!reply.private && pressed?.private) parts.privates.remove(by.id, pressed.message);
  return outcome;
}

/** The button's label; `undefined` if the message no longer has it. */
export function labelOf({ body }: Message, button: Invocation['request']): string | undefined {
  if (body.kind === 'text') return undefined;
  const { actions } = body.kind === 'card' ? body.card : body;
  return actions?.find(({ command, values }) => isDeepStrictEqual({ command, values }, button))
    ?.label;
}

function findEarlierReply(
  { history, privates }: ReplyParts,
  { id, thread, by }: ReplyTarget,
): InteractionOutcome {
  const { question, reply } = messageIds(id);
  if (history.get(question)) return { shown: 'thread', message: question };
  const earlier = history.find(thread ?? reply, reply) ?? privates.of(by.id, reply);
  return earlier ? outcomeAt(reply, thread) : { shown: 'nothing' };
}

/** Shows a card in place of the message whose button was pressed. Returns false if the message no longer has that button. */
async function replaceCard(
  { history, privates }: ReplyParts,
  card: Card,
  { channel, thread, by, pressed }: ReplyTarget,
): Promise<boolean> {
  if (!pressed) return false;
  const { message: id, button } = pressed;
  const root = thread ?? id;
  const message = pressed.private ? privates.of(by.id, id) : history.find(root, id);
  // The page names the message, so one without this button must stay as it is.
  if (!message || labelOf(message, button) === undefined) return false;
  const changed: Message = { ...message, changedAtMs: Date.now(), body: { kind: 'card', card } };
  if (pressed.private) {
    privates.put({ person: by.id, channel, root: thread }, Message.parse(changed));
    return true;
  }
  return (await history.change(root, id, () => changed)) !== undefined;
}

async function showCard(
  parts: ReplyParts,
  reply: Reply & { kind: 'card' },
  target: ReplyTarget,
): Promise<InteractionOutcome> {
  const { channel, thread, by } = target;
  const message: Message = {
    ...frameOf(target),
    ...originOf(target),
    body: { kind: 'card', card: reply.card },
  };
  if (reply.private) {
    const place = { person: by.id, channel, root: thread };
    parts.privates.put(place, Message.parse({ ...message, private: true }));
  } else await showToEveryone(parts, message, target);
  const shown = { card: ShownCard.parse(reply.card), private: reply.private };
  return { ...outcomeAt(message.id, thread), reply: shown };
}

async function showAnswer(
  parts: ReplyParts,
  answer: Answer,
  target: ReplyTarget,
): Promise<InteractionOutcome> {
  if (!answer.private) return await showPublicAnswer(parts, answer, target);
  const { channel, thread, by } = target;
  const frame = { ...frameOf(target), ...originOf(target), private: true as const };
  const place = { kind: 'private' as const, person: by.id, channel, root: thread };
  await parts.answers.show(answer, frame, place);
  return outcomeAt(frame.id, thread);
}

async function showPublicAnswer(
  parts: ReplyParts,
  answer: Answer,
  target: ReplyTarget,
): Promise<InteractionOutcome> {
  const { question } = messageIds(target.id);
  const root = target.thread ?? question;
  const frame = frameOf(target);
  try {
    await showToEveryone(parts, questionOf(answer, target, frame.atMs), target);
    await parts.answers.show(answer, frame, { kind: 'thread', root });
    await markEarlierAnswer(parts, answer, root, target);
    return { shown: 'thread', message: root };
  } catch (error) {
    // An `HttpError` says that the thread is gone, so there is nothing to keep the answer for.
    if (!(error instanceof HttpError)) await answer.putOff();
    answer.notShown?.();
    throw error;
  }
}

function questionOf(
  { question, files = [] }: Answer,
  { id, by }: ReplyTarget,
  atMs: number,
): Message {
  const shownFiles = files.map(({ name, mediaType = '', ref: { id: file = '' } }) =>
    shownFile({ id: file, name, mediaType }),
  );
  return {
    id: messageIds(id).question,
    author: { kind: 'person', ...by },
    atMs,
    body: {
      kind: 'text',
      text: question,
      ...(shownFiles.length > 0 && { files: shownFiles }),
    },
  };
}

/** Replaces the buttons of the answer that this one continues or repeats. Never throws: the bot refuses a stale button. */
async function markEarlierAnswer(
  { history, answers, log }: ReplyParts,
  { earlier }: Answer,
  root: string,
  { pressed }: ReplyTarget,
) {
  const stored = pressed && history.find(root, pressed.message);
  if (!earlier || !stored) return;
  const message = answers.latest(stored);
  const { body } = message;
  if (body.kind !== 'answer') return;
  const note = body.note === undefined ? earlier.note : `${body.note} ${earlier.note}`;
  try {
    await history.putReply(root, { ...message, body: { ...body, note, actions: earlier.actions } });
  } catch (error) {
    log.warn({ err: error }, 'could not remove the buttons of an earlier answer');
  }
}

async function showToEveryone(
  { history }: ReplyParts,
  message: Message,
  { channel, thread }: ReplyTarget,
) {
  if (thread === undefined) await history.add({ channel, message, replies: [] });
  else if (!(await history.putReply(thread, message))) throw threadGone();
}

const frameOf = ({ id }: ReplyTarget): MessageFrame => ({
  id: messageIds(id).reply,
  author: { kind: 'askwatch' },
  atMs: Date.now(),
});

const originOf = ({ command, by }: ReplyTarget) => (command === undefined ? {} : { command, by });

const outcomeAt = (message: string, thread: string | undefined) =>
  thread === undefined
    ? ({ shown: 'channel', message } as const)
    : ({ shown: 'thread', message: thread } as const);
