import { createHash } from 'node:crypto';
import type { APIEmbed, APIMessage } from 'discord.js';
import { DeliveryError } from '../bot/errors.ts';
import type { Platform } from '../bot/platform.ts';
import type { ChannelApi } from './channel-api.ts';
import { deliveryError, isRefusal } from './errors.ts';
import { renderMessage } from './render.ts';

/** A Discord id. Source: Discord docs, "Snowflakes". */
const SNOWFLAKE = /^\d{17,20}$/;

/**
 * Posting a card once, and changing it later.
 *
 * Discord forgets a nonce after a few minutes, so the id is also put where it can be found again: a short reference at
 * the end of the embed's footer, the one place that is certain to be stored as it was sent. Before a repeat, the
 * channel's newest 100 messages are searched for it. A later change of the message drops it: nobody needs it then.
 */
export function createAlerts(
  api: ChannelApi,
  botId: () => string,
): Pick<Platform, 'post' | 'update'> {
  async function findPosted(channel: string, reference: string): Promise<APIMessage | undefined> {
    try {
      const messages = await api.recent(channel);
      return messages.find(
        (message) =>
          message.author.id === botId() &&
          message.embeds.some((embed) => embed.footer?.text.endsWith(reference)),
      );
    } catch (error) {
      // Without Read Message History a second post is possible; none at all would be worse.
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  return {
    async post({ channel, card, id, attempted }) {
      checkChannel(channel);
      const digest = createHash('sha256').update(id).digest('base64url');
      const reference = `ref ${digest.slice(0, 8)}`;
      try {
        const { embeds, components } = renderMessage(card);
        const earlier = attempted ? await findPosted(channel, reference) : undefined;
        const message =
          earlier ??
          (await api.send(channel, {
            embeds: embeds.map((embed) => withReference(embed, reference)),
            components,
            nonce: digest.slice(0, 25),
          }));
        return { message: message.id, thread: message.id };
      } catch (error) {
        throw deliveryError(error, channel);
      }
    },
    async update(channel, { message }, card) {
      checkChannel(channel);
      try {
        await api.edit(channel, message, renderMessage(card));
      } catch (error) {
        throw deliveryError(error, channel);
      }
    },
  };
}

function withReference(embed: APIEmbed, reference: string): APIEmbed {
  const text = [embed.footer?.text, reference].filter((part) => part !== undefined).join(' · ');
  return { ...embed, footer: { text } };
}

function checkChannel(channel: string): void {
  if (SNOWFLAKE.test(channel)) return;
  throw new DeliveryError(
    `“${channel}” is no Discord channel id. Copy the id with a right click on the channel (Developer Mode on).`,
    { permanent: true },
  );
}
