import {
  type ButtonInteraction,
  MessageFlags,
  PermissionFlagsBits,
  RESTJSONErrorCodes,
} from 'discord.js';
import type { Answer, Invocation, Reply } from '../../bot/shared/invocation.ts';
import type { Around, QuotedMessage } from '../../bot/shared/people-messages.ts';
import type { Person, Place } from '../../bot/shared/place.ts';
import { channelTarget, interactionTarget } from '../answers/answer-target.ts';
import type { FoundAt } from '../answers/end-answer.ts';
import { type Lead, showAnswer, showInConversation } from '../answers/show-answer.ts';
import { hasCode, isDeleted, reasonOf } from '../api/errors.ts';
import type { Interaction } from '../api/interaction.ts';
import { questionLine } from '../render/text.ts';
import type { Handling } from './interaction-context.ts';

/**
 * Acknowledges an interaction. Two clients of the bot get each event while one hands over to the other, and either may
 * acknowledge it. False if Discord refuses, as it does once the three seconds are over.
 */
export async function acknowledged(
  { log, interaction }: Handling,
  command: string,
  acknowledge: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await acknowledge();
    return true;
  } catch (error) {
    if (hasCode(error, RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged)) {
      log.debug({ err: error, command }, 'an interaction was already acknowledged');
      interaction.deferred = true;
      return true;
    }
    const ageMs = Date.now() - interaction.createdTimestamp;
    log.warn({ err: error, command, ageMs }, 'could not acknowledge an interaction; dropping it');
    return false;
  }
}

/** Discord accepts an acknowledgement for 3 s. */
const ACKNOWLEDGE_BY_MS = 2_000;

export interface Asked {
  request: Extract<Invocation['request'], { command: string }>;
  acknowledge: () => Promise<unknown>;
}

interface Where {
  place?: Place;
  thread?: string;
  about?: QuotedMessage;
  around?: Around;
}

/**
 * Has the bot do what an interaction asks for, and acknowledges it once that is stored, so that what people see as heard
 * ends with a reply or a note also after a kill. Where storing takes long, it is acknowledged before.
 *
 * One that is late when it comes is acknowledged first: after a reconnect Discord repeats interactions whose three seconds
 * are over, and refuses their acknowledgement. `undefined` if it is refused: then nothing can be shown.
 */
export async function dispatch<W extends Where>(
  handling: Handling,
  asked: Asked & { findWhere: () => Promise<W> },
): Promise<{ reply: Reply; where: W } | undefined> {
  const { bot, interaction } = handling;
  const { request } = asked;
  let acknowledgement: Promise<boolean> | undefined;
  const acknowledge = () => {
    acknowledgement ??= acknowledged(handling, request.command, asked.acknowledge);
    return acknowledgement;
  };
  const leftMs = ACKNOWLEDGE_BY_MS - (Date.now() - interaction.createdTimestamp);
  if (leftMs <= 0 && !(await acknowledge())) return undefined;
  const late = setTimeout(acknowledge, Math.min(leftMs, ACKNOWLEDGE_BY_MS));
  try {
    const where = await asked.findWhere();
    const { place = placeOf(interaction), thread, about, around = aroundOf(interaction) } = where;
    const id = `discord:${interaction.id}`;
    let isStored = false;
    const reply = await bot.dispatch(
      {
        id,
        request,
        origin: originOf(handling, id),
        place,
        thread,
        around,
        about,
        person: personOf(handling),
        ...(interaction.isButton() && { pressed: interaction.message.id }),
      },
      () => {
        isStored = true;
        void acknowledge();
      },
    );
    if (!isStored) handling.unstored.add(interaction.token);
    if (await acknowledge()) return { reply, where };
    if (reply.kind === 'answer') reply.notShown?.();
    return undefined;
  } finally {
    clearTimeout(late);
  }
}

const aroundOf = ({ channel, channelId }: Interaction): Around | undefined =>
  channel?.isThread() ? { thread: channelId } : undefined;

const originOf = ({ encryptToken, interaction }: Handling, invocation: string) =>
  ({
    in: interaction.channelId,
    token: encryptToken(interaction.token, invocation),
    ...(interaction.isButton() && { message: interaction.message.id }),
  }) satisfies FoundAt;

/** True if only one person sees the message with the button. */
export const isPrivate = ({ message }: ButtonInteraction): boolean =>
  message.flags.has(MessageFlags.Ephemeral);

export function personOf({ rightsOf, interaction }: Handling): Person {
  return { id: interaction.user.id, name: nameOf(interaction), ...rightsOf(interaction) };
}

/** A thread belongs to its channel. A direct conversation is channel and thread. */
export function placeOf({ channel, channelId }: Interaction): Place {
  const parent = channel?.isThread() ? channel.parentId : undefined;
  return { platform: 'discord', channel: parent ?? channelId };
}

/** `undefined` outside of threads. */
export function threadOf(interaction: Interaction): string | undefined {
  const { channel, channelId } = interaction;
  return !interaction.inGuild() || channel?.isThread() ? channelId : undefined;
}

export async function hereIn(handling: Handling): Promise<{ thread?: string }> {
  const thread = threadOf(handling.interaction);
  return thread === undefined ? {} : { thread: await conversationIn(handling, thread) };
}

/** The conversation of a thread or direct message. Below a line under an alert it is the alert's. */
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

/** Shows an answer to this person only. No thread remembers it. */
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
    thread !== undefined && mayWriteIn(interaction)
      ? channelTarget(api, thread)
      : interactionTarget(interaction, { ephemeral: false, fillsReply: false, tokenLifeMs });
  await showInConversation(handling, answer, {
    target,
    place,
    key,
    lead,
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
    /** The conversation's key. */
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
    // “Thinking…” was removed by a person, or by another client of the bot that has told this one what went wrong.
    if (isDeleted(error)) return;
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

/** Shows a text to this person only, if Discord allows it. */
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

/** `undefined` if the bot may not open threads. */
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

export function mayWriteIn(interaction: Interaction): boolean {
  if (!interaction.inGuild()) return true;
  return interaction.appPermissions.has([
    PermissionFlagsBits.ViewChannel,
    PermissionFlagsBits.SendMessagesInThreads,
  ]);
}
