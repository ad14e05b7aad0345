import {
  type ChatInputCommandInteraction,
  type CommandInteractionOption,
  MessageFlags,
  PermissionFlagsBits,
} from 'discord.js';
import type { Card } from '../bot/card.ts';
import type { Answer } from '../bot/platform.ts';
import type { Desk } from './desk.ts';
import { reasonOf } from './errors.ts';
import { openThread } from './open-thread.ts';
import { channelOutlet, interactionOutlet, type Outlet } from './outlet.ts';
import { renderMessage } from './render.ts';
import { showAnswer } from './show-answer.ts';
import { questionLine } from './text.ts';

/** A slash command that Discord knows we have: it shows "thinking…" until the reply comes. */
type Deferred = ChatInputCommandInteraction;

/**
 * Answers one slash command. Deferring comes before any work. It is also the test for late ones: after a reconnect
 * Discord repeats commands whose three seconds are over, and refuses their deferral; our clock has no say in it.
 */
export async function handleSlashCommand(desk: Desk, interaction: Deferred): Promise<void> {
  const { bot, log } = desk;
  const { command, values } = requestOf(interaction);
  const ephemeral = values.private === true;
  try {
    await interaction.deferReply(ephemeral ? { flags: MessageFlags.Ephemeral } : {});
  } catch (error) {
    const ageMs = Date.now() - interaction.createdTimestamp;
    log.warn({ err: error, command, ageMs }, 'a command could not be acknowledged; dropped');
    return;
  }
  const thread = threadOf(interaction);
  const reply = await bot.handle({
    id: `discord:${interaction.id}`,
    request: { command, values },
    place: placeOf(interaction),
    ...(thread === undefined ? {} : { thread }),
    person: { id: interaction.user.id, name: nameOf(interaction) },
  });
  if (reply.kind === 'nothing') await interaction.deleteReply();
  else if (reply.kind === 'card') await showCard(interaction, reply.card, reply.private);
  else if (reply.private || ephemeral) await answerPrivately(desk, interaction, reply);
  else await answerOpenly(desk, interaction, reply);
}

/** The command's full name and its values, subcommands taken apart. */
function requestOf({ commandName, options }: Deferred) {
  const subcommand = options.getSubcommand(false);
  const given: readonly CommandInteractionOption[] =
    subcommand === null ? options.data : (options.data[0]?.options ?? []);
  return {
    command: subcommand === null ? commandName : `${commandName} ${subcommand}`,
    values: Object.fromEntries(given.map(({ name, value }) => [name, value])) as Record<
      string,
      unknown
    >,
  };
}

/** A thread belongs to its channel; a direct conversation is a channel and a thread at once. */
function placeOf({ channel, channelId }: Deferred) {
  const parent = channel?.isThread() ? channel.parentId : undefined;
  return { platform: 'discord' as const, channel: parent ?? channelId };
}

function threadOf(interaction: Deferred): string | undefined {
  const { channel, channelId } = interaction;
  return !interaction.inGuild() || channel?.isThread() ? channelId : undefined;
}

function nameOf({ member, user }: Deferred): string {
  if (member && 'displayName' in member) return member.displayName;
  return member?.nick ?? user.displayName;
}

/**
 * Whether others see a reply is settled when it is deferred. A private card after a public deferral therefore comes as
 * a message of its own, and only once "thinking…" is gone: Discord would put it in that place, for all to see.
 */
async function showCard(interaction: Deferred, card: Card, only: boolean): Promise<void> {
  const message = renderMessage(card);
  if (!only || interaction.ephemeral) {
    await interaction.editReply(message);
    return;
  }
  await interaction.deleteReply();
  await interaction.followUp({ ...message, flags: MessageFlags.Ephemeral });
}

/** Only whoever asked sees it, and no thread remembers it. */
async function answerPrivately(desk: Desk, interaction: Deferred, answer: Answer): Promise<void> {
  const fillsReply = interaction.ephemeral === true;
  if (!fillsReply) await interaction.deleteReply();
  const outlet = interactionOutlet(interaction, { ephemeral: true, fillsReply });
  const { editIntervalMs, log } = desk;
  await showAnswer({ answer, thread: undefined, outlet, editIntervalMs, log });
}

/**
 * The reply shows the question, which Discord itself shows to nobody. The answer follows as regular messages, in the
 * thread or conversation where it was asked, or in a thread of its own: what is said in reply to regular messages
 * reaches a bot without the privileged intent. Where the bot may not, it follows as messages of the command.
 */
async function answerOpenly(desk: Desk, interaction: Deferred, answer: Answer): Promise<void> {
  const { api, inline, editIntervalMs, log } = desk;
  const { id: message } = await interaction.editReply({
    content: questionLine(nameOf(interaction), answer.question),
    flags: MessageFlags.SuppressEmbeds,
  });
  const asked = threadOf(interaction);
  const thread = asked ?? (await openOwnThread(desk, interaction, message, answer.question));
  const regular = thread !== undefined && mayWriteIn(interaction);
  const key = thread ?? message;
  if (thread === undefined) inline.add(message, key);
  const outlet: Outlet = regular
    ? channelOutlet(api, thread)
    : interactionOutlet(interaction, { ephemeral: false, fillsReply: false });
  try {
    await showAnswer({
      answer,
      thread: key,
      outlet,
      editIntervalMs,
      log,
      ...(thread === undefined ? { onMessage: (id: string) => inline.add(id, key) } : {}),
    });
  } catch (error) {
    log.warn({ err: error, channel: interaction.channelId }, 'an answer could not be shown');
    await interaction.followUp({
      content: `The answer could not be shown. ${reasonOf(error)}`,
      flags: MessageFlags.Ephemeral,
    });
  }
}

function mayWriteIn(interaction: Deferred): boolean {
  if (!interaction.inGuild()) return true;
  return interaction.appPermissions.has([
    PermissionFlagsBits.ViewChannel,
    PermissionFlagsBits.SendMessagesInThreads,
  ]);
}

async function openOwnThread(
  { api, log }: Desk,
  interaction: Deferred,
  message: string,
  question: string,
): Promise<string | undefined> {
  const channel = interaction.channelId;
  const may =
    mayWriteIn(interaction) &&
    interaction.appPermissions.has(PermissionFlagsBits.CreatePublicThreads);
  return may ? await openThread(api, { channel, message, question, log }) : undefined;
}
