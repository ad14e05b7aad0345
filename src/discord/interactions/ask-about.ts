import {
  type Message,
  type MessageContextMenuCommandInteraction,
  MessageFlags,
  PermissionFlagsBits,
} from 'discord.js';
import { askAboutCommand } from '../../bot/commands/ask-about.ts';
import type { Answer } from '../../bot/shared/invocation.ts';
import type { Around, QuotedMessage } from '../../bot/shared/people-messages.ts';
import type { Place } from '../../bot/shared/place.ts';
import { channelTarget, interactionTarget } from '../answers/answer-target.ts';
import { readableOf, textOf } from '../answers/read-around.ts';
import { showInConversation } from '../answers/show-answer.ts';
import { attachedFile } from '../api/attachments.ts';
import type { SubmittedForm } from '../api/interaction.ts';
import { renderMessage } from '../render/render.ts';
import { questionLine } from '../render/text.ts';
import type { Handling } from './interaction-context.ts';
import {
  acknowledged,
  answerPrivately,
  conversationIn,
  dispatch,
  mayWriteIn,
  nameOf,
  placeOf,
  sendEphemeral,
  threadOf,
  threadUnder,
} from './interactions.ts';
import { formFor } from './open-form.ts';
import { deferReply, showCard } from './slash-commands.ts';

/** The message comes with the interaction, even without the privileged intent. */
export async function handleAskAbout(
  handling: Handling<MessageContextMenuCommandInteraction>,
): Promise<void> {
  const { interaction, chosen } = handling;
  const about = quotedOf(interaction.targetMessage);
  chosen.keep(`${interaction.user.id} ${about.id}`, about);
  const opened = await formFor(handling, askAboutCommand, {}, about);
  await acknowledged(handling, askAboutCommand.name, () =>
    'form' in opened
      ? interaction.showModal(opened.form)
      : interaction.reply({ ...renderMessage(opened.card), flags: MessageFlags.Ephemeral }),
  );
}

function quotedOf(message: Message): QuotedMessage & { id: string } {
  const { id, author, client, content, embeds, attachments, mentions } = message;
  const text = textOf({
    content,
    embeds: embeds.map(({ data }) => data),
    attachments: attachments.map(({ name }) => ({ filename: name })),
    mentions: mentions.users.map((user) => ({
      id: user.id,
      username: user.username,
      global_name: user.globalName,
    })),
    message_snapshots: message.messageSnapshots.map((snapshot) => ({
      message: {
        content: snapshot.content,
        attachments: snapshot.attachments.map(({ name }) => ({ filename: name })),
      },
    })),
  });
  const files = [
    ...attachments.values(),
    ...message.messageSnapshots.flatMap((snapshot) => snapshot.attachments).values(),
  ].map((one) => attachedFile(one, message));
  const isOwn = author.id === client.user.id;
  const name = isOwn ? 'Askwatch (you)' : author.displayName;
  return {
    ...{ id, author: name, text, atMs: message.createdTimestamp },
    ...(files.length > 0 && { files }),
  };
}

export async function handleAboutForm(
  handling: Handling<SubmittedForm>,
  message: string,
  values: Record<string, unknown>,
): Promise<void> {
  const { interaction, chosen } = handling;
  const outcome = await dispatch(handling, {
    request: { command: askAboutCommand.name, values },
    acknowledge: () => deferReply(interaction, true),
    findWhere: async () => ({
      ...(await whereOf(handling, message)),
      about:
        chosen.get(`${interaction.user.id} ${message}`) ?? (await readAgain(handling, message)),
    }),
  });
  if (!outcome) return;
  const { reply, where } = outcome;
  if (reply.kind === 'nothing') return;
  if (reply.kind === 'card') await showCard(handling, reply.card, true);
  else if (reply.private) await answerPrivately(handling, reply, { fillsReply: true });
  else await answerUnder(handling, reply, { ...where, message });
}

/** A message chosen before a restart; `undefined` if Discord hides it. */
async function readAgain(
  { api, interaction, log }: Handling,
  id: string,
): Promise<QuotedMessage | undefined> {
  try {
    const botId = interaction.client.user.id;
    const written = readableOf(await api.message(interaction.channelId, id), botId);
    if (!written) return undefined;
    const { author, isOwn, ...told } = written;
    return { ...told, author: isOwn ? 'Askwatch (you)' : author };
  } catch (error) {
    log.info({ err: error }, 'could not read the message that a question is about');
    return undefined;
  }
}

/** The conversation of the message's thread, or the one that the message belongs to or begins. */
async function whereOf(handling: Handling, message: string) {
  const { interaction, conversations } = handling;
  const thread = threadOf(interaction);
  const place = placeOf(interaction);
  if (thread !== undefined) return { place, thread: await conversationIn(handling, thread) };
  const open = await conversations.inlineOf(interaction.channelId, message);
  if (open) return open;
  const known = await conversations.of(place, message);
  const around: Around | undefined = interaction.client.channels.cache.get(message)?.isThread()
    ? { thread: message }
    : undefined;
  return { place, thread: known ?? message, around };
}

/** Answers in the message's thread, in a new one, or as a reply. */
async function answerUnder(
  handling: Handling,
  answer: Answer,
  { place, thread: key, message }: { place: Place; thread: string; message: string },
) {
  const { interaction, api, tokenLifeMs, log } = handling;
  const { channelId } = interaction;
  const thread = threadOf(interaction) ?? (await threadUnder(handling, message, answer.question));
  const shownIn = thread ?? channelId;
  const mayPost = thread === undefined ? mayReplyIn(handling) : mayWriteIn(interaction);
  const thinkingOver = () =>
    interaction.deleteReply().catch((error: unknown) => {
      log.debug({ err: error }, 'could not delete the placeholder of an answer');
    });
  // Otherwise the next message would replace it, visible to one person.
  if (!mayPost) await thinkingOver();
  await showInConversation(handling, answer, {
    target: mayPost
      ? channelTarget(api, shownIn, thread === message ? undefined : message)
      : interactionTarget(interaction, { ephemeral: false, fillsReply: false, tokenLifeMs }),
    place,
    key,
    lead: {
      content: questionLine(nameOf(interaction), answer.question),
      nonce: `q${interaction.id}`,
      onShown: () => {
        if (mayPost) void thinkingOver();
      },
    },
    shownIn,
    tell: (content) => sendEphemeral(handling, content),
  });
}

const mayReplyIn = ({ interaction }: Handling) =>
  interaction.appPermissions.has([
    PermissionFlagsBits.ViewChannel,
    PermissionFlagsBits.SendMessages,
  ]);
