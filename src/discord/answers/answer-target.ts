import { type APIMessage, MessageFlags, Routes } from 'discord.js';
import { type ChannelApi, requestWith, type TextFile } from '../api/channel-api.ts';
import { isDeleted } from '../api/errors.ts';
import type { Interaction } from '../api/interaction.ts';
import type { renderButtons, renderMessage } from '../render/render.ts';

/** An edit without buttons removes them. */
export interface AnswerMessage {
  content: string;
  components: ReturnType<typeof renderButtons>;
  files?: TextFile[];
}

/** Embeds of cards are shown, unlike the ones of links. */
export type CardMessage = ReturnType<typeof renderMessage>;

/** The channel, or the interaction, that an answer's messages go to. */
export interface AnswerTarget {
  /** Posts a message and returns its id. Discord posts it once per nonce, if it can. */
  send(message: AnswerMessage, nonce: string): Promise<string>;
  sendCard(card: CardMessage, nonce: string): Promise<string>;
  edit(id: string, message: AnswerMessage): Promise<void>;
  /** Removes a message, which may be gone already. */
  remove(id: string): Promise<void>;
  /** Absent if Discord shows it by itself. */
  typing?: () => Promise<void>;
  channel: string;
  /** The interaction's token, if the messages belong to one. */
  token?: string;
  /** The end of the interaction, Unix time in milliseconds. */
  untilMs?: number;
}

/** Regular messages of the bot; the first one replies to `replyTo`. */
export function channelTarget(api: ChannelApi, channel: string, replyTo?: string): AnswerTarget {
  let first = true;
  return {
    channel,
    async send(message, nonce) {
      const quiet = { ...message, nonce, flags: MessageFlags.SuppressEmbeds };
      const { id } =
        replyTo !== undefined && first
          ? await api.reply(channel, replyTo, quiet)
          : await api.send(channel, quiet);
      first = false;
      return id;
    },
    async sendCard(card, nonce) {
      const { id } = await api.send(channel, { ...card, nonce });
      return id;
    },
    async edit(id, message) {
      await api.edit(channel, id, { ...message, flags: MessageFlags.SuppressEmbeds });
    },
    remove: (id) => unlessDeleted(api.delete(channel, id)),
    typing: () => api.typing(channel),
  };
}

/**
 * Messages that belong to a slash command or a press: shown only to whose it was when `ephemeral`, else where the bot may not post by
 * itself. With `fillsReply` the first one takes the place of "thinking…".
 */
export function interactionTarget(
  interaction: Interaction,
  options: { ephemeral: boolean; fillsReply: boolean; tokenLifeMs: number },
): AnswerTarget {
  let replyIsFree = options.fillsReply;
  const { rest } = interaction.client;
  const { applicationId, token } = interaction;
  const quiet = MessageFlags.SuppressEmbeds;
  // The token is in the address.
  const requestOf = (message: AnswerMessage | CardMessage, flags: number) => ({
    auth: false,
    ...requestWith({ ...message, flags, allowed_mentions: { parse: [] } }),
  });

  async function post(message: AnswerMessage | CardMessage, shownAs: number) {
    const flags = options.ephemeral ? shownAs | MessageFlags.Ephemeral : shownAs;
    const query = new URLSearchParams({ wait: 'true' });
    const request = { ...requestOf(message, flags), query };
    return (await rest.post(Routes.webhook(applicationId, token), request)) as APIMessage;
  }

  async function edit(id: string, message: AnswerMessage) {
    const route = Routes.webhookMessage(applicationId, token, id);
    return (await rest.patch(route, requestOf(message, quiet))) as APIMessage;
  }

  return {
    channel: interaction.channelId,
    token,
    untilMs: interaction.createdTimestamp + options.tokenLifeMs,
    async send(message) {
      const { id } = replyIsFree ? await edit('@original', message) : await post(message, quiet);
      replyIsFree = false;
      return id;
    },
    // Discord knows such messages by no nonce.
    async sendCard(card) {
      const { id } = await post(card, 0);
      return id;
    },
    async edit(id, message) {
      await edit(id, message);
    },
    remove: (id) =>
      unlessDeleted(rest.delete(Routes.webhookMessage(applicationId, token, id), { auth: false })),
  };
}

async function unlessDeleted(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isDeleted(error)) throw error;
  });
}
