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

/** A slash command or a filled form that Discord knows we have: it shows "thinking…" until the reply comes. */
type Deferred = ChatInputCommandInteraction | SubmittedForm;

/** Answers one slash command. */
export async function handleSlashCommand(
  handling: Handling<ChatInputCommandInteraction>,
): Promise<void> {
  const { bot, interaction } = handling;
  const { command, values } = requestOf(interaction);
  const wanted = bot.commands.find((one) => one.name === command && wantsForm(one, values));
  const opened = wanted && (await formFor(handling, wanted, values));
  // Whoever gets no form gets the reply of the bare command.
  if (opened && 'form' in opened) {
    // A form can be nothing but the first response.
    await acknowledged(handling, command, () => interaction.showModal(opened.form));
    return;
  }
  await carryOut(handling, { command, values, ephemeral: values.private === true });
}

/** Shows "thinking…", to one person if `ephemeral`. */
export function deferReply(interaction: Deferred, ephemeral: boolean): Promise<unknown> {
  // The acknowledgement may have been sent by another client, which leaves this object unchanged.
  interaction.ephemeral = ephemeral;
  return interaction.deferReply(ephemeral ? { flags: MessageFlags.Ephemeral } : {});
}

/** Has the bot do what was asked for, and shows its reply; `changed` gives a card its last touch. */
export async function carryOut(
  handling: Handling<Deferred>,
  asked: {
    command: string;
    values: Record<string, unknown>;
    /** Whether "thinking…" is shown to one person. */
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

/** The command's full name and its values, subcommands taken apart. */
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
 * Whether others see a reply is settled when it is deferred. A private card after a public deferral therefore comes as
 * a message of its own, and only once "thinking…" is gone: Discord would put it in that place, for all to see.
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
