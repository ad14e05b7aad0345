import { type AnyThreadChannel, type Message, MessageType, PermissionFlagsBits } from 'discord.js';
import type { Answer } from '../../bot/shared/invocation.ts';
import { type Around, QUESTION_ABOUT } from '../../bot/shared/people-messages.ts';
import type { Place } from '../../bot/shared/place.ts';
import { WITHOUT_WORDS } from '../../bot/shared/shared-file.ts';
import { channelTarget } from '../answers/answer-target.ts';
import type { FoundAt } from '../answers/end-answer.ts';
import { showInConversation } from '../answers/show-answer.ts';
import { attachedFile } from '../api/attachments.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import { isDeleted, isRefusal, reasonOf } from '../api/errors.ts';
import { renderMessage } from '../render/render.ts';
import { questionLine } from '../render/text.ts';
import type { InteractionContext } from './interaction-context.ts';

interface MessagePlace {
  place: Place;
  thread: string | undefined;
  /** The message above the answer's thread; absent if the answer is shown in the channel. */
  above?: string;
  /** The messages around it that may be read. */
  around?: Around;
}

interface Heard extends InteractionContext {
  message: Message;
}

const UNREADABLE = 'Discord doesn’t let me read this message. Mention me in it, or use /ask.';

/**
 * Answers a message that is meant for Askwatch: one that mentions it, replies to it, or is a direct message, and
 * with the privileged intent any in a conversation of ours.
 */
export async function handleMessage(heard: Heard): Promise<void> {
  const { message, api, bot, rightsOf, missingPermissions, log } = heard;
  if (message.author.bot || message.system || message.webhookId) return;
  const me = message.client.user.id;
  const mentioned = message.mentions.users.has(me);
  const direct = !message.inGuild();
  if (!mentioned && !direct && !(await isInConversation(heard))) return;

  const where = await whereOf(heard);
  const files = message.attachments.map((one) => attachedFile(one, message));
  const { around } = where;
  const words = questionOf(message, me);
  // A mention without text below a message is a question about that message.
  const isAbout = message.content !== '' && around?.repliesTo !== undefined;
  const unsaid = files.length > 0 ? WITHOUT_WORDS : isAbout ? QUESTION_ABOUT : '';
  const question = words || unsaid;
  if (question === '' && message.type === MessageType.Reply && !direct) {
    await sendText(heard, UNREADABLE);
    return;
  }
  const reply = await bot.dispatch({
    id: `discord:${message.id}`,
    request:
      question === ''
        ? { command: 'askwatch help', values: {} }
        : { command: 'ask', values: { question } },
    place: where.place,
    ...(files.length > 0 && { files }),
    thread: where.thread,
    around,
    person: { id: message.author.id, name: nameOf(message), ...rightsOf(message) },
    origin: { in: message.channelId, message: message.id } satisfies FoundAt,
  });
  try {
    if (reply.kind === 'answer') await answerMessage(heard, where, reply);
    else if (reply.kind === 'card') {
      const card = { ...renderMessage(reply.card), nonce: `c${message.id}` };
      await api.reply(message.channelId, message.id, card);
    }
  } catch (error) {
    const channel = message.channelId;
    if (isDeleted(error)) {
      log.debug({ err: error, channel }, 'the message to reply to is gone');
      return;
    }
    if (!isRefusal(error)) throw error;
    log.warn({ err: error, channel }, 'could not show a reply');
    const reason = reasonOf(error, missingPermissions(channel));
    await sendText(heard, `Askwatch couldn’t post its reply. ${reason}`);
  }
}

/**
 * Without the intent such a message has no content, and there is nothing to answer. Nor is there to a picture without a word, by
 * which people may mean one another.
 */
async function isInConversation({ message, api, conversations }: Heard): Promise<boolean> {
  const { channel, channelId, content } = message;
  if (!channel.isThread() || content.trim() === '') return false;
  const place = await placeOfThread(api, channel);
  return (await conversations.of(place, channelId)) !== undefined;
}

/** discord.js knows only the id of a thread that was archived when the bot connected. */
async function placeOfThread(api: ChannelApi, { id, parentId }: AnyThreadChannel): Promise<Place> {
  return { platform: 'discord', channel: parentId ?? (await api.parentOf(id)) ?? id };
}

async function whereOf({ message, api, conversations }: Heard): Promise<MessagePlace> {
  const { channel, channelId } = message;
  const place: Place = { platform: 'discord', channel: channelId };
  const answered = message.type === MessageType.Reply ? message.reference?.messageId : undefined;
  if (channel.isThread()) {
    // Alerts may be posted into a thread, too.
    const posted = answered === undefined ? undefined : await conversations.of(place, answered);
    if (posted !== undefined) return { place, thread: posted };
    const parent = await placeOfThread(api, channel);
    const thread = (await conversations.of(parent, channelId)) ?? channelId;
    const around = { thread: channelId, question: message.id, ...repliesTo(answered) };
    return { place: parent, thread, around };
  }
  const open =
    answered === undefined ? undefined : await conversations.inlineOf(channelId, answered);
  // An alert or a line under it, or the question above one of our threads: its conversation is the thread under it.
  const above =
    answered !== undefined && open === undefined
      ? await conversations.of(place, answered)
      : undefined;
  if (!message.inGuild()) {
    // All messages there are one conversation, but for those about an alert.
    return { place, thread: open?.thread ?? above ?? channelId };
  }
  if (open !== undefined) return { place, thread: open.thread };
  if (above !== undefined || answered === undefined) {
    return { place, thread: above, above: above ?? message.id };
  }
  // A question about another person's message.
  const around = { question: message.id, ...repliesTo(answered) };
  return { place, thread: undefined, above: message.id, around };
}

const repliesTo = (message: string | undefined) => message !== undefined && { repliesTo: message };

async function answerMessage(heard: Heard, where: MessagePlace, answer: Answer) {
  const { message, api } = heard;
  const { above } = where;
  const thread =
    above !== undefined && mayOpenThread(message)
      ? await api.openThread(message.channelId, above, answer.question)
      : undefined;
  const shownIn = thread ?? message.channelId;
  // The key of a conversation in the open channel is the message it began with.
  const key = where.thread ?? thread ?? message.id;
  // Under another message than the question's, the thread has not seen the question.
  const repeats = thread !== undefined && above !== message.id;
  const lead = { content: questionLine(nameOf(message), answer.question), nonce: `q${message.id}` };
  await showInConversation(heard, answer, {
    target: channelTarget(api, shownIn, key === shownIn ? undefined : message.id),
    place: where.place,
    key,
    ...(repeats ? { lead } : {}),
    shownIn,
    // An answer that someone deleted gets no public error.
    tell: async (content, error) => {
      if (!isDeleted(error)) await sendText(heard, content);
    },
  });
}

/** Without cached permissions, Discord decides. */
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

async function sendText({ message, api }: Heard, content: string): Promise<void> {
  await api.reply(message.channelId, message.id, { content, nonce: `t${message.id}` });
}

/** Removes the bot's mention, and replaces ids by names. */
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
