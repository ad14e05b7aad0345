import type {
  ButtonInteraction,
  ChatInputCommandInteraction,
  MessageContextMenuCommandInteraction,
  ModalSubmitInteraction,
} from 'discord.js';

export type Interaction =
  | ChatInputCommandInteraction
  | MessageContextMenuCommandInteraction
  | ButtonInteraction
  | SubmittedForm;

/** A submitted form with its channel. */
export type SubmittedForm = ModalSubmitInteraction & { channelId: string };
