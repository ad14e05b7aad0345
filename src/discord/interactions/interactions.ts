import { MessageFlags, PermissionFlagsBits } from 'discord.js';
import type { Answer, Invocation, Reply } from '../../bot/shared/invocation.ts';
import type { Person, Place } from '../../bot/shared/place.ts';
import { channelOutlet, interactionOutlet } from '../answers/answer-target.ts';
import type { Desk } from '../answers/interaction-context.ts';
import { openThread } from '../answers/open-thread.ts';
import { showAnswer } from '../answers/show-answer.ts';
import { showInConversation } from '../answers/show-in-conversation.ts';
import { reasonOf } from '../api/errors.ts';
import type { Gesture } from '../api/interaction.ts';
import { questionLine } from '../render/text.ts';

/**
 * Tells Discord that a gesture has arrived, before any work. It is also the test for late ones: after a reconnect Discord
 * repeats gestures whose three seconds are over, and refuses their acknowledgement; our clock has no say in it.
 */
export async function acknowledged(
  { log }: Desk,
  gesture: Gesture,
  command: string,
  acknowledge: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await acknowledge();
    return true;
  } catch (error) {
    const ageMs = Date.now() - gesture.createdTimestamp;
    log.warn({ err: error, command, ageMs }, 'a gesture could not be acknowledged; dropped');
    return false;
  }
}

/** Has the bot do what a gesture asks for, in the conversation `thread` if it belongs to one. */
export function handle(
  desk: Desk,
  gesture: Gesture,
  request: Invocation['request'],
  { place = placeOf(gesture), thread }: { place?: Place; thread: string | undefined },
): Promise<Reply> {
  return desk.bot.dispatch({
    id: `discord:${gesture.id}`,
    request,
    place,
    ...(thread === undefined ? {} : { thread }),
    person: personOf(desk, gesture),
    ...(gesture.isButton() && { pressed: gesture.message.id }),
  });
}

/** Who made a gesture, and what they may. */
export function personOf({ rightsOf }: Desk, gesture: Gesture): Person {
  return { id: gesture.user.id, name: nameOf(gesture), ...rightsOf(gesture) };
}

/** A thread belongs to its channel; a direct conversation is a channel and a thread at once. */
export function placeOf({ channel, channelId }: Gesture): Place {
  const parent = channel?.isThread() ? channel.parentId : undefined;
  return { platform: 'discord', channel: parent ?? channelId };
}

/** The thread or direct conversation it was made in; `undefined` in the middle of a channel. */
export function threadOf(gesture: Gesture): string | undefined {
  const { channel, channelId } = gesture;
  return !gesture.inGuild() || channel?.isThread() ? channelId : undefined;
}

/** The conversation of a thread or direct conversation; below a line of ours it is that of the alert above the line. */
export async function conversationIn(
  { conversations }: Desk,
  gesture: Gesture,
  thread: string,
): Promise<string> {
  if (!gesture.channel?.isThread()) return thread;
  return (await conversations.of(placeOf(gesture), thread)) ?? thread;
}

export function nameOf({ member, user }: Gesture): string {
  if (member && 'displayName' in member) return member.displayName;
  return member?.nick ?? user.displayName;
}

/** Only whoever made the gesture sees it, and no thread remembers it. */
export async function answerPrivately(
  { deletions, editIntervalMs, tokenLifeMs, sealed, log }: Desk,
  gesture: Gesture,
  answer: Answer,
  { fillsReply }: { fillsReply: boolean },
): Promise<void> {
  const outlet = interactionOutlet(gesture, { ephemeral: true, fillsReply, tokenLifeMs });
  const watch = deletions.watch(gesture.channelId, placeOf(gesture).channel);
  const gone = watch.signal;
  try {
    await showAnswer({ answer, thread: undefined, outlet, editIntervalMs, log, gone, sealed });
  } finally {
    watch.end();
  }
}

/**
 * Shows an answer to everybody as regular messages in `thread`: what is said in reply to regular messages reaches a bot
 * without the privileged intent. Where the bot may not, it comes as messages of the gesture.
 */
export async function answerOpenly(
  desk: Desk,
  gesture: Gesture,
  answer: Answer,
  where: {
    place: Place;
    thread: string | undefined;
    key: string;
    lead?: { content: string; onShown: () => void };
  },
): Promise<void> {
  const { place, thread, key, lead } = where;
  const outlet =
    thread !== undefined && mayWriteIn(gesture)
      ? channelOutlet(desk.api, thread)
      : interactionOutlet(gesture, {
          ephemeral: false,
          fillsReply: false,
          tokenLifeMs: desk.tokenLifeMs,
        });
  await showInConversation(desk, answer, {
    outlet,
    place,
    key,
    ...(lead === undefined ? {} : { lead: { ...lead, nonce: `q${gesture.id}` } }),
    shownIn: thread ?? gesture.channelId,
    tell: (content) => whisper(desk, gesture, content),
  });
}

/**
 * Answers what nobody else saw being asked. A message of the gesture shows the question; the answer follows in the thread
 * or conversation where it was asked, or in a thread under that message.
 */
export async function answerUnseen(
  desk: Desk,
  gesture: Gesture,
  answer: Answer,
  options: {
    /** The key of the conversation it was asked in. */
    known: string | undefined;
    showQuestion(line: { content: string; flags: MessageFlags.SuppressEmbeds }): Promise<{
      id: string;
    }>;
  },
): Promise<void> {
  const { known, showQuestion } = options;
  const content = questionLine(nameOf(gesture), answer.question);
  let message: string;
  try {
    ({ id: message } = await showQuestion({ content, flags: MessageFlags.SuppressEmbeds }));
  } catch (error) {
    desk.log.warn({ err: error }, 'a question could not be shown');
    answer.notShown?.();
    await whisper(
      desk,
      gesture,
      `The question could not be shown here. ${reasonOf(error, desk.lacksIn(gesture.channelId))} Try again.`,
    );
    return;
  }
  const thread = threadOf(gesture) ?? (await threadUnder(desk, gesture, message, answer.question));
  const place = placeOf(gesture);
  const key = known ?? thread ?? message;
  if (thread === undefined) {
    await desk.inline.add(gesture.channelId, message, { place, thread: key });
  }
  await answerOpenly(desk, gesture, answer, { place, thread, key });
}

/** Tells whoever made the gesture, and nobody else, as far as Discord lets us. */
async function whisper({ log }: Desk, gesture: Gesture, content: string): Promise<void> {
  try {
    await gesture.followUp({ content, flags: MessageFlags.Ephemeral });
  } catch (error) {
    log.debug({ err: error }, 'nor could the person be told');
  }
}

/** Opens the thread under a message, or finds it; `undefined` where the bot may not. */
export async function threadUnder(
  { api, log }: Desk,
  gesture: Gesture,
  message: string,
  question: string,
): Promise<string | undefined> {
  const may =
    mayWriteIn(gesture) && gesture.appPermissions.has(PermissionFlagsBits.CreatePublicThreads);
  const channel = gesture.channelId;
  return may ? await openThread(api, { channel, message, question, log }) : undefined;
}

function mayWriteIn(gesture: Gesture): boolean {
  if (!gesture.inGuild()) return true;
  return gesture.appPermissions.has([
    PermissionFlagsBits.ViewChannel,
    PermissionFlagsBits.SendMessagesInThreads,
  ]);
}
