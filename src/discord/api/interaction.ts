import type {
  ButtonInteraction,
  ChatInputCommandInteraction,
  MessageContextMenuCommandInteraction,
  ModalSubmitInteraction,
} from 'discord.js';

/** A slash command typed, a message chosen, a button pressed or a form sent: what Discord calls an interaction. */
export type Interaction =
  | ChatInputCommandInteraction
  | MessageContextMenuCommandInteraction
  | ButtonInteraction
  | SubmittedForm;

/** A form that was filled in and sent, and the channel it was opened in. */
export type SubmittedForm = ModalSubmitInteraction & { channelId: string };
