import { type ButtonInteraction, MessageFlags, type ModalSubmitInteraction } from 'discord.js';
import { askAboutCommand } from '../../bot/commands/ask-about.ts';
import { type Command, fieldsOf } from '../../bot/commands/command.ts';
import { carriedIn, formProblems } from '../../bot/commands/form.ts';
import { type Card, decodeAction, textCard } from '../../bot/shared/card.ts';
import type { SubmittedForm } from '../api/interaction.ts';
import { renderMessage } from '../render/render.ts';
import { FORM } from '../render/render-form.ts';
import { handleAboutForm } from './ask-about.ts';
import type { Handling, InteractionContext } from './interaction-context.ts';
import { acknowledged } from './interactions.ts';
import { formFor } from './open-form.ts';
import { carryOut } from './slash-commands.ts';

/** Opens a form with its earlier values, if they are still known. */
export async function openAgain(
  handling: Handling<ButtonInteraction>,
  { of, draft = '', ...carried }: Record<string, string>,
): Promise<void> {
  const { interaction: press, drafts, log } = handling;
  const command = commandWithForm(handling, of);
  if (!command) {
    log.debug({ customId: press.customId }, 'ignored a button for an unknown form');
    return;
  }
  const opened = await formFor(handling, command, { ...drafts.get(draft), ...carried });
  await acknowledged(handling, command.name, () =>
    'form' in opened
      ? press.showModal(opened.form)
      : press.reply({ ...renderMessage(opened.card), flags: MessageFlags.Ephemeral }),
  );
}

/** Carries out a submitted form. If it is wrong, the sender learns why, with a button that opens it again. */
export async function handleForm(
  context: InteractionContext,
  sent: ModalSubmitInteraction,
): Promise<void> {
  const request = decodeAction(sent.customId);
  if (request?.command === FORM && request.values.of === askAboutCommand.name && isPlaced(sent)) {
    const values = valuesOf(sent, askAboutCommand);
    await handleAboutForm({ ...context, interaction: sent }, request.values.message ?? '', values);
    return;
  }
  const command =
    request?.command === FORM ? commandWithForm(context, request.values.of) : undefined;
  if (!command || !isPlaced(sent)) {
    context.log.debug({ customId: sent.customId }, 'ignored an unknown form');
    return;
  }
  const handling = { ...context, interaction: sent };
  const values = { ...valuesOf(sent, command), ...carriedIn(command, request?.values ?? {}) };
  const mendable = mending(context, command, values);
  const problems = Object.values(formProblems(command, values));
  if (problems.length > 0) {
    const message = renderMessage(
      mendable(textCard('warning', 'Some fields need fixing', ...problems)),
    );
    const flags = MessageFlags.Ephemeral;
    await acknowledged(handling, command.name, () => sent.reply({ ...message, flags }));
    return;
  }
  // A form that only a button opens changes nothing that others see.
  const ephemeral = command.form?.carried !== undefined && !context.bot.commands.includes(command);
  await carryOut(handling, {
    command: command.name,
    values,
    ephemeral,
    // A rejected form can be opened again; only the sender sees that card.
    changed: (card, only) => (only && card.tone !== 'good' ? mendable(card) : card),
  });
}

const mending =
  ({ drafts }: InteractionContext, command: Command, values: Record<string, string>) =>
  (card: Card): Card => {
    const again = { of: command.name, draft: drafts.add(values), ...carriedIn(command, values) };
    const action = { label: 'Reopen the form', command: FORM, values: again };
    return { ...card, actions: [...(card.actions ?? []), action] };
  };

const commandWithForm = (
  { bot }: InteractionContext,
  name: string | undefined,
): Command | undefined => bot.forms.find((command) => command.name === name);

const isPlaced = (sent: ModalSubmitInteraction): sent is SubmittedForm => sent.channelId !== null;

/** The values of the command's inputs. */
function valuesOf({ fields }: ModalSubmitInteraction, command: Command): Record<string, string> {
  return Object.fromEntries(
    fieldsOf(command).flatMap(({ name }) => {
      const field = fields.fields.get(name);
      const given =
        field && ('values' in field ? field.values[0] : 'value' in field && field.value);
      return typeof given === 'string' ? [[name, given]] : [];
    }),
  );
}
