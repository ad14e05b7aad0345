import { type ButtonInteraction, type ChatInputCommandInteraction, MessageFlags } from 'discord.js';
import type { ChannelApi } from './channel-api.ts';

/** Where the messages of one answer go. Pages linked in an answer are not previewed. */
export interface Outlet {
  /** Posts the next message and gives its id; trying again with the same nonce does not post twice where Discord can tell. */
  send(content: string, nonce: string): Promise<string>;
  edit(message: string, content: string): Promise<void>;
  /** Shows that something is coming; absent where Discord shows it by itself. */
  typing?: () => Promise<void>;
  /** When Discord takes no more for this answer, Unix time in milliseconds. */
  untilMs?: number;
}

/** An interaction's token lives 15 minutes; a minute is left for the last words. Source: Discord docs, "Followup Messages". */
const TOKEN_LIFE_MS = 14 * 60_000;

/** Regular messages of the bot in a channel, thread or direct conversation; the first one replies to `replyTo`. */
export function channelOutlet(api: ChannelApi, channel: string, replyTo?: string): Outlet {
  let first = true;
  return {
    async send(content, nonce) {
      const { id } = await api.send(channel, {
        content,
        nonce,
        flags: MessageFlags.SuppressEmbeds,
        ...(replyTo && first
          ? { message_reference: { message_id: replyTo, fail_if_not_exists: false } }
          : {}),
      });
      first = false;
      return id;
    },
    async edit(message, content) {
      await api.edit(channel, message, { content, flags: MessageFlags.SuppressEmbeds });
    },
    typing: () => api.typing(channel),
  };
}

/**
 * Messages that belong to a slash command or a press: shown only to whose it was when `ephemeral`, else where the bot may not post by
 * itself. With `fillsReply` the first one takes the place of "thinking…".
 */
export function interactionOutlet(
  interaction: ChatInputCommandInteraction | ButtonInteraction,
  options: { ephemeral: boolean; fillsReply: boolean },
): Outlet {
  let replyIsFree = options.fillsReply;
  return {
    untilMs: interaction.createdTimestamp + TOKEN_LIFE_MS,
    async send(content) {
      if (replyIsFree) {
        const { id } = await interaction.editReply({
          content,
          flags: MessageFlags.SuppressEmbeds,
        });
        replyIsFree = false;
        return id;
      }
      const { id } = await interaction.followUp({
        content,
        flags: options.ephemeral
          ? [MessageFlags.SuppressEmbeds, MessageFlags.Ephemeral]
          : MessageFlags.SuppressEmbeds,
      });
      return id;
    },
    async edit(message, content) {
      await interaction.editReply({ message, content, flags: MessageFlags.SuppressEmbeds });
    },
  };
}
