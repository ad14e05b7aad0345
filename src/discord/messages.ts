import { type AnyThreadChannel, type Message, MessageType, PermissionFlagsBits } from 'discord.js';
import type { Answer, Place, Reply } from '../bot/platform.ts';
import type { ChannelApi } from './channel-api.ts';
import type { Desk } from './desk.ts';
import { reasonOf } from './errors.ts';
import { openThread } from './open-thread.ts';
import { channelOutlet } from './outlet.ts';
import { renderMessage } from './render.ts';
import { showAnswer } from './show-answer.ts';
import { questionLine } from './text.ts';

/** Where a message was said, and the conversation it goes on with. */
interface Where {
  place: Place;
  /** The conversation's key, if it is known already. */
  thread: string | undefined;
  /** How the answer is shown: here, or in the thread under a message, or in the open channel. */
  shown: { in: 'here' } | { in: 'thread of'; message: string } | { in: 'channel' };
}

const UNREADABLE = 'Discord does not let me read this message. Mention me in it, or ask with /ask.';

/**
 * Answers a message that is meant for Askwatch: one that mentions it, replies to it, or is said to it directly, and
 * with the privileged intent any in a conversation of ours.
 */
export async function handleMessage(desk: Desk, message: Message): Promise<void> {
  const { bot } = desk;
  if (message.author.bot || message.system || message.webhookId) return;
  const me = message.client.user.id;
  const mentioned = message.mentions.users.has(me);
  const direct = !message.inGuild();
  if (!mentioned && !direct && !(await isInConversation(desk, message))) return;

  const where = await whereOf(desk, message);
  const question = questionOf(message, me);
  if (question === '' && message.type === MessageType.Reply && !direct) {
    await sendText(desk, message, UNREADABLE);
    return;
  }
  const reply = await bot.handle({
    id: `discord:${message.id}`,
    request:
      question === ''
        ? { command: 'askwatch help', values: {} }
        : { command: 'ask', values: { question } },
    place: where.place,
    ...(where.thread === undefined ? {} : { thread: where.thread }),
    person: { id: message.author.id, name: nameOf(message) },
  });
  await show(desk, message, where, reply);
}

/** Without the intent such a message has no content, and there is nothing to answer. */
async function isInConversation({ bot, api }: Desk, message: Message): Promise<boolean> {
  const { channel, channelId, content } = message;
  if (!channel.isThread() || content.trim() === '') return false;
  return await bot.isConversation(await placeOfThread(api, channel), channelId);
}

/** A thread belongs to its channel. Of one that was archived when the bot connected, discord.js knows only the id. */
async function placeOfThread(api: ChannelApi, { id, parentId }: AnyThreadChannel): Promise<Place> {
  return { platform: 'discord', channel: parentId ?? (await api.parentOf(id)) ?? id };
}

async function whereOf({ bot, api, inline }: Desk, message: Message): Promise<Where> {
  const { channel, channelId } = message;
  if (channel.isThread()) {
    const place = await placeOfThread(api, channel);
    return { place, thread: channelId, shown: { in: 'here' } };
  }
  const place: Place = { platform: 'discord', channel: channelId };
  if (!message.inGuild()) return { place, thread: channelId, shown: { in: 'here' } };
  const answered = message.type === MessageType.Reply ? message.reference?.messageId : undefined;
  if (answered !== undefined) {
    const open = inline.of(answered);
    if (open !== undefined) return { place, thread: open, shown: { in: 'channel' } };
    // An alert, or the question above one of our threads: its conversation is the thread under it.
    if (await bot.isConversation(place, answered)) {
      return { place, thread: answered, shown: { in: 'thread of', message: answered } };
    }
  }
  return { place, thread: undefined, shown: { in: 'thread of', message: message.id } };
}

async function show(desk: Desk, message: Message, where: Where, reply: Reply): Promise<void> {
  if (reply.kind === 'nothing') return;
  if (reply.kind === 'answer') {
    await answerMessage(desk, message, where, reply);
    return;
  }
  await desk.api.send(message.channelId, {
    ...renderMessage(reply.card),
    nonce: `c${message.id}`,
    message_reference: { message_id: message.id, fail_if_not_exists: false },
  });
}

async function answerMessage(desk: Desk, message: Message, where: Where, answer: Answer) {
  const { api, inline, editIntervalMs, log } = desk;
  const { shown } = where;
  const thread =
    shown.in === 'thread of' ? await threadUnder(desk, message, shown, answer) : undefined;
  const inChannel = shown.in === 'channel' || (shown.in === 'thread of' && thread === undefined);
  // The key of a conversation in the open channel is the message it began with.
  const key = where.thread ?? thread ?? message.id;
  const outlet = channelOutlet(
    api,
    thread ?? message.channelId,
    inChannel ? message.id : undefined,
  );
  try {
    await showAnswer({
      answer,
      thread: key,
      outlet,
      editIntervalMs,
      log,
      ...(inChannel ? { onMessage: (id: string) => inline.add(id, key) } : {}),
    });
  } catch (error) {
    log.warn({ err: error, channel: message.channelId }, 'an answer could not be shown');
    await sendText(desk, message, `The answer could not be shown. ${reasonOf(error)}`);
  }
}

/** The thread to answer in; under another message than the question's it first repeats the question. */
async function threadUnder(
  { api, log }: Desk,
  message: Message,
  shown: { message: string },
  { question }: Answer,
): Promise<string | undefined> {
  if (!mayOpenThread(message)) return undefined;
  const channel = message.channelId;
  const thread = await openThread(api, { channel, message: shown.message, question, log });
  if (thread !== undefined && shown.message !== message.id) {
    await api.send(thread, {
      content: questionLine(nameOf(message), question),
      nonce: `q${message.id}`,
    });
  }
  return thread;
}

/** Whether trying makes sense; what the cache does not know is left to Discord. */
function mayOpenThread({ channel, client }: Message): boolean {
  if (channel.isDMBased()) return false;
  const mine = channel.permissionsFor(client.user);
  return (
    mine?.has([
      PermissionFlagsBits.CreatePublicThreads,
      PermissionFlagsBits.SendMessagesInThreads,
    ]) ?? true
  );
}

async function sendText({ api }: Desk, message: Message, content: string): Promise<void> {
  await api.send(message.channelId, {
    content,
    nonce: `t${message.id}`,
    message_reference: { message_id: message.id, fail_if_not_exists: false },
  });
}

/** The text without the bot's own mention, and with names where Discord writes ids. */
function questionOf(message: Message, me: string): string {
  return message.content
    .replace(/<@[!&]?(\d{17,20})>/g, (mention, id: string) => {
      if (id === me) return '';
      const name =
        message.mentions.users.get(id)?.displayName ?? message.mentions.roles.get(id)?.name;
      return name === undefined ? mention : `@${name}`;
    })
    .trim();
}

function nameOf({ member, author }: Message): string {
  return member?.displayName ?? author.displayName;
}
