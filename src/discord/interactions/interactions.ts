import {
  type ButtonInteraction,
  MessageFlags,
  PermissionFlagsBits,
  RESTJSONErrorCodes,
} from 'discord.js';
import type { Answer, Invocation, Reply, ShownAnswer } from '../../bot/shared/invocation.ts';
import type { Around, QuotedMessage } from '../../bot/shared/people-messages.ts';
import type { Person, Place } from '../../bot/shared/place.ts';
import { channelTarget, findIn, interactionTarget } from '../answers/answer-target.ts';
import { shownIn } from '../answers/end-answer.ts';
import { type Lead, showAnswer, showInConversation } from '../answers/show-answer.ts';
import { hasCode, reasonOf } from '../api/errors.ts';
import type { Interaction } from '../api/interaction.ts';
import { questionLine } from '../render/text.ts';
import type { Handling, Origin } from './interaction-context.ts';

/**
 * Acknowledges an interaction, before any work. It is also the test for late ones: after a reconnect Discord
 * repeats interactions whose three seconds are over, and refuses their acknowledgement; our clock has no say in it.
 *
 * One that comes again after it was acknowledged may be nobody's: whoever did that has died before it was stored. `before` leaves
 * that to the dispatch.
 */
export async function acknowledged(
  { log, interaction }: Handling,
  command: string,
  acknowledge: () => Promise<unknown>,
): Promise<'now' | 'before' | undefined> {
  try {
    await acknowledge();
    return 'now';
  } catch (error) {
    if (hasCode(error, RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged)) {
      log.info(
        { err: error, command },
        'an interaction was already acknowledged; handling it if nobody has',
      );
      interaction.deferred = true;
      return 'before';
    }
    const ageMs = Date.now() - interaction.createdTimestamp;
    log.warn({ err: error, command, ageMs }, 'could not acknowledge an interaction; dropping it');
    return undefined;
  }
}

/** Has the bot do what an interaction asks for, in the conversation `thread` if it belongs to one. */
export function dispatch(
  handling: Handling,
  request: Invocation['request'],
  {
    place,
    thread,
    about,
    around = aroundOf(handling.interaction),
  }: {
    place?: Place;
    thread: string | undefined;
    about?: QuotedMessage;
    around?: Around | undefined;
  },
): Promise<Reply> {
  const { bot, interaction } = handling;
  const id = `discord:${interaction.id}`;
  return bot.dispatch({
    id,
    request,
    origin: originOf(handling, id),
    place: place ?? placeOf(interaction),
    ...(thread === undefined ? {} : { thread }),
    ...(around && { around }),
    ...(about && { about }),
    person: personOf(handling),
    ...(interaction.isButton() && { pressed: interaction.message.id }),
  });
}

/** Where what people wrote around an interaction stands. */
const aroundOf = ({ channel, channelId }: Interaction): Around | undefined =>
  channel?.isThread() ? { thread: channelId } : undefined;

/** What another process needs to show what comes of an interaction, see `takeOver`. */
function originOf({ encryptToken, interaction }: Handling, invocation: string): Origin {
  const { id, type, applicationId, channelId, guildId, ephemeral, token } = interaction;
  return {
    kind: 'interaction',
    id,
    type: String(type),
    application: applicationId,
    channel: channelId,
    ...(guildId !== null && { guild: guildId }),
    ...(ephemeral === true && { ephemeral: 'true' }),
    ...(interaction.isButton() && isPrivate(interaction) && { under: 'ephemeral' }),
    token: encryptToken(token, invocation),
  };
}

/** Whether one person sees the message whose button was pressed. */
export const isPrivate = ({ message }: ButtonInteraction): boolean =>
  message.flags.has(MessageFlags.Ephemeral);

/** Whether Discord takes no more for an interaction. */
export const isOver = ({ tokenLifeMs, interaction }: Handling): boolean =>
  Date.now() > interaction.createdTimestamp + tokenLifeMs;

/** Who made an interaction, and what they may do. */
export function personOf({ rightsOf, interaction }: Handling): Person {
  return { id: interaction.user.id, name: nameOf(interaction), ...rightsOf(interaction) };
}

/** A thread belongs to its channel; a direct conversation is a channel and a thread at once. */
export function placeOf({ channel, channelId }: Interaction): Place {
  const parent = channel?.isThread() ? channel.parentId : undefined;
  return { platform: 'discord', channel: parent ?? channelId };
}

/** The thread or direct conversation it was made in; `undefined` in the middle of a channel. */
export function threadOf(interaction: Interaction): string | undefined {
  const { channel, channelId } = interaction;
  return !interaction.inGuild() || channel?.isThread() ? channelId : undefined;
}

/** The conversation of a thread or direct conversation; below a line of ours it is that of the alert above the line. */
export async function conversationIn(
  { conversations, interaction }: Handling,
  thread: string,
): Promise<string> {
  if (!interaction.channel?.isThread()) return thread;
  return (await conversations.of(placeOf(interaction), thread)) ?? thread;
}

export function nameOf({ member, user }: Interaction): string {
  if (member && 'displayName' in member) return member.displayName;
  return member?.nick ?? user.displayName;
}

/** Shows an answer to whoever made the interaction only; no thread remembers it. */
export async function answerPrivately(
  handling: Handling,
  answer: Answer,
  { fillsReply }: { fillsReply: boolean },
): Promise<void> {
  const { interaction, deletions, tokenLifeMs } = handling;
  const target = interactionTarget(interaction, { ephemeral: true, fillsReply, tokenLifeMs });
  const watch = deletions.watch(interaction.channelId, placeOf(interaction).channel);
  try {
    await showAnswer({ ...handling, answer, thread: undefined, target, gone: watch.signal });
  } finally {
    watch.end();
  }
}

/** Goes on with an answer where another process has begun to show it. */
export async function goOn(
  handling: Handling,
  answer: Answer,
  { thread, shown }: ShownAnswer,
): Promise<void> {
  const { interaction, api, tokenLifeMs } = handling;
  const at = shownIn({ channel: interaction.channelId, shown });
  if (thread === undefined) {
    const isReply = interaction.ephemeral === true && at.pages === undefined;
    await answerPrivately(handling, answer, { fillsReply: isReply });
    return;
  }
  const target =
    at.token === undefined || isOver(handling)
      ? channelTarget(api, at.in)
      : interactionTarget(interaction, {
          ...{ ephemeral: false, fillsReply: false, tokenLifeMs },
          find: (isIt, beganAtMs) => findIn(api, at.in, isIt, beganAtMs),
        });
  await showInConversation(handling, answer, {
    target,
    place: placeOf(interaction),
    key: thread,
    shownIn: at.in,
    tell: (content) => sendEphemeral(handling, content),
  });
}

/**
 * Shows an answer to everybody as regular messages in `thread`: a reply to a regular message reaches a bot
 * without the privileged intent. Where the bot may not, it comes as messages of the interaction.
 */
export async function answerOpenly(
  handling: Handling,
  answer: Answer,
  where: {
    place: Place;
    thread: string | undefined;
    key: string;
    lead?: Lead;
  },
): Promise<void> {
  const { interaction, api, tokenLifeMs } = handling;
  const { place, thread, key, lead } = where;
  const target =
    (thread !== undefined && mayWriteIn(interaction)) || isOver(handling)
      ? channelTarget(api, thread ?? interaction.channelId)
      : interactionTarget(interaction, { ephemeral: false, fillsReply: false, tokenLifeMs });
  await showInConversation(handling, answer, {
    target,
    place,
    key,
    ...(lead && { lead }),
    shownIn: thread ?? interaction.channelId,
    tell: (content) => sendEphemeral(handling, content),
  });
}

/**
 * Answers a question that nobody else saw. A message of the interaction shows the question; the answer follows in the thread
 * or conversation where it was asked, or in a thread under that message.
 */
export async function answerWithQuestion(
  handling: Handling,
  answer: Answer,
  options: {
    /** The key of the conversation it was asked in. */
    known: string | undefined;
    showQuestion(line: { content: string; flags: MessageFlags.SuppressEmbeds }): Promise<{
      id: string;
    }>;
  },
): Promise<void> {
  const { interaction, conversations, missingPermissions, log } = handling;
  const { known, showQuestion } = options;
  const content = questionLine(nameOf(interaction), answer.question, answer.files);
  let message: string;
  try {
    ({ id: message } = await showQuestion({ content, flags: MessageFlags.SuppressEmbeds }));
  } catch (error) {
    log.warn({ err: error }, 'could not show a question');
    answer.notShown?.();
    const reason = reasonOf(error, missingPermissions(interaction.channelId));
    await sendEphemeral(handling, `Askwatch couldn’t post the question here. ${reason} Try again.`);
    return;
  }
  const thread = threadOf(interaction) ?? (await threadUnder(handling, message, answer.question));
  const place = placeOf(interaction);
  const key = known ?? thread ?? message;
  if (thread === undefined) {
    await conversations.addInline(interaction.channelId, message, { place, thread: key });
  }
  await answerOpenly(handling, answer, { place, thread, key });
}

/** Shows a text to whoever made the interaction only, as far as Discord lets us. */
export async function sendEphemeral(
  { log, interaction }: Handling,
  content: string,
): Promise<void> {
  try {
    await interaction.followUp({ content, flags: MessageFlags.Ephemeral });
  } catch (error) {
    log.debug({ err: error }, 'could not tell the person about it either');
  }
}

/** Opens the thread under a message, or finds it; `undefined` where the bot may not. */
export async function threadUnder(
  { api, interaction }: Handling,
  message: string,
  question: string,
) {
  const may =
    mayWriteIn(interaction) &&
    interaction.appPermissions.has(PermissionFlagsBits.CreatePublicThreads);
  return may ? await api.openThread(interaction.channelId, message, question) : undefined;
}

/** Whether the bot may write in a thread there. */
export function mayWriteIn(interaction: Interaction): boolean {
  if (!interaction.inGuild()) return true;
  return interaction.appPermissions.has([
    PermissionFlagsBits.ViewChannel,
    PermissionFlagsBits.SendMessagesInThreads,
  ]);
}
