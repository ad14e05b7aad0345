import {
  type ChatInputCommandInteraction,
  type CommandInteractionOption,
  type InteractionEditReplyOptions,
  MessageFlags,
  PermissionFlagsBits,
} from 'discord.js';
import { type Card, withoutCharts } from '../../bot/shared/card.ts';
import { sendCard } from '../answers/send-card.ts';
import { retryUntilShown } from '../answers/show-answer.ts';
import { attachedFile } from '../api/attachments.ts';
import type { SubmittedForm } from '../api/interaction.ts';
import type { Handling } from './interaction-context.ts';
import {
  acknowledged,
  answerPrivately,
  answerWithQuestion,
  dispatch,
  hereIn,
} from './interactions.ts';
import { formFor, wantsForm } from './open-form.ts';

type Deferred = ChatInputCommandInteraction | SubmittedForm;

export async function handleSlashCommand(
  handling: Handling<ChatInputCommandInteraction>,
): Promise<void> {
  const { bot, interaction } = handling;
  const { command, values } = requestOf(interaction);
  const wanted = bot.commands.find((one) => one.name === command && wantsForm(one, values));
  const opened = wanted && (await formFor(handling, wanted, values));
  // Without a form, the bare command replies.
  if (opened && 'form' in opened) {
    // A form can be nothing but the first response.
    await acknowledged(handling, command, () => interaction.showModal(opened.form));
    return;
  }
  const known = bot.commands.find(({ name }) => name === command);
  const ephemeral = values.private === true || known?.hasSecret?.(values) === true;
  await carryOut(handling, { command, values, ephemeral });
}

export function deferReply(interaction: Deferred, ephemeral: boolean): Promise<unknown> {
  // The acknowledgement may have been sent by another client, which leaves this object unchanged.
  interaction.ephemeral = ephemeral;
  return interaction.deferReply(ephemeral ? { flags: MessageFlags.Ephemeral } : {});
}

/** Runs the command and shows its reply; `changed` may adjust a card. */
export async function carryOut(
  handling: Handling<Deferred>,
  asked: {
    command: string;
    values: Record<string, unknown>;
    /** True if one person sees "thinking…". */
    ephemeral: boolean;
    changed?: (card: Card, only: boolean) => Card;
  },
): Promise<void> {
  const { interaction } = handling;
  const { command, values, ephemeral, changed = (card) => card } = asked;
  const outcome = await dispatch(handling, {
    request: { command, values },
    acknowledge: () => deferReply(interaction, ephemeral),
    findWhere: () => hereIn(handling),
  });
  if (!outcome) return;
  const { reply, where } = outcome;
  // The first to handle it shows what comes of it.
  if (reply.kind === 'nothing') return;
  if (reply.kind === 'card') {
    await showCard(handling, changed(reply.card, reply.private), reply.private);
  } else if (reply.private || ephemeral) {
    if (!ephemeral) await interaction.deleteReply();
    await answerPrivately(handling, reply, { fillsReply: ephemeral });
  } else {
    // Discord itself shows the question to nobody.
    const showQuestion = (line: InteractionEditReplyOptions) =>
      retryUntilShown(() => interaction.editReply(line));
    await answerWithQuestion(handling, reply, { known: where.thread, showQuestion });
  }
}

function requestOf({ commandName, options }: ChatInputCommandInteraction) {
  const subcommand = options.getSubcommand(false);
  const given: readonly CommandInteractionOption[] =
    subcommand === null ? options.data : (options.data[0]?.options ?? []);
  const command = subcommand === null ? commandName : `${commandName} ${subcommand}`;
  const values: Record<string, unknown> = Object.fromEntries(
    given.map(({ name, value, attachment }) => [
      name,
      attachment ? attachedFile(attachment) : value,
    ]),
  );
  return { command, values };
}

/**
 * A deferral decides if others see the reply. So a private card after a public deferral is a message of its own, sent once
 * "thinking…" is gone; otherwise Discord would put it in that place, visible to all.
 */
export async function showCard(
  { log, interaction }: Handling<Deferred>,
  card: Card,
  only: boolean,
): Promise<void> {
  const inPlace = !only || interaction.ephemeral === true;
  if (!inPlace) await interaction.deleteReply();
  const mayAttach = interaction.appPermissions.has(PermissionFlagsBits.AttachFiles);
  await sendCard(mayAttach ? card : withoutCharts(card), log, (message) =>
    inPlace
      ? interaction.editReply(message)
      : interaction.followUp({ ...message, flags: MessageFlags.Ephemeral }),
  );
}
