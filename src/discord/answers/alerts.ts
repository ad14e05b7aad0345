import { createHash } from 'node:crypto';
import { type APIEmbed, type APIMessage, MessageFlags } from 'discord.js';
import type { Logger } from 'pino';
import type { Platform } from '../../bot/platform.ts';
import type { Card } from '../../bot/shared/card.ts';
import { type Called, type ChannelApi, SNOWFLAKE } from '../api/channel-api.ts';
import { isInvalidForm, isRefusal } from '../api/errors.ts';
import { renderLine, renderMessage } from '../render/render.ts';
import { postCard } from './send-card.ts';

/**
 * Posting a card once, and changing it later.
 *
 * Discord forgets a nonce after a few minutes, so the id is also put where it can be found again: a short reference at
 * the end of the embed's footer, another one for what goes on than for what is over, the one place that is certain to be stored as it was sent. Before a repeat, the
 * channel's newest 100 messages are searched for it. A later change of the message drops it: nobody needs it then.
 *
 * All of it throws what the calls throw.
 */
export function createAlerts(
  api: ChannelApi,
  options: {
    botId: () => string;
    guildOf: (channel: string) => Promise<string | undefined>;
    log: Logger;
  },
): Pick<Platform, 'post' | 'update' | 'announce' | 'linkTo'> {
  const { botId, guildOf, log } = options;

  /** The bot's newest message that matches, if the channel may be read. */
  async function find(
    channel: string,
    isIt: (message: APIMessage) => boolean,
  ): Promise<APIMessage | undefined> {
    try {
      const messages = await api.recent(channel);
      return messages.find((message) => message.author.id === botId() && isIt(message));
    } catch (error) {
      // Without Read Message History a second post is possible; none at all would be worse.
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  /** The mention of a card. Discord would show anything but an id as plain text, so it is left out. */
  function calledBy({ mention }: { mention?: string }): Called | undefined {
    if (mention === undefined) return undefined;
    const isPerson = mention.startsWith('@');
    const id = isPerson ? mention.slice(1) : mention;
    if (SNOWFLAKE.test(id)) return isPerson ? { users: [id] } : { roles: [id] };
    log.warn({ mention }, 'not a Discord role id or person id; mentioning nobody');
    return undefined;
  }

  /** Discord rejects some addresses that browsers accept. An alert without its link is better than none. */
  async function withLink<T>(card: Card, send: (card: Card) => Promise<T>): Promise<T> {
    try {
      return await send(card);
    } catch (error) {
      const { link, ...bare } = card;
      if (!link || !isInvalidForm(error)) throw error;
      log.warn(
        { err: error, url: link.url },
        'Discord rejected the link of an alert; posting it without the link',
      );
      return await send(bare);
    }
  }

  return {
    async post({ channel, under, card, id, attempted }) {
      const digest = digestOf(id);
      const refers = { goingOn: `ref ${digest.slice(0, 8)}`, over: `ref ${digest.slice(8, 16)}` };
      const called = under ? undefined : calledBy(card);
      const send = (shown: Card) =>
        postCard(shown, log, ({ embeds, ...rest }) => {
          const message = {
            ...contentOf(called),
            ...rest,
            embeds: embeds.map((embed) =>
              withReference(embed, card.goesOn ? refers.goingOn : refers.over),
            ),
            nonce: digest.slice(0, 25),
            ...(under && {
              message_reference: { message_id: under.message },
              flags: MessageFlags.SuppressNotifications,
            }),
          };
          return api.send(channel, message, { called });
        });
      const earlier = attempted
        ? await find(channel, refersTo(...Object.values(refers)))
        : undefined;
      // Discord, too, answers a repeat with the earlier message, as long as it knows the nonce.
      const message = earlier ?? (await withLink(card, send));
      const goesOn = refersTo(refers.goingOn)(message);
      return { message: message.id, thread: under?.thread ?? message.id, goesOn };
    },
    async update(channel, { message }, card) {
      const content = contentOf(calledBy(card));
      await withLink(card, (shown) =>
        api.edit(channel, message, { ...content, ...renderMessage(shown) }),
      );
    },
    /** Replies silently, except to a mention. An earlier reply is found by its reference and text. */
    async announce({ channel, posted, card, mention, id, attempted }) {
      const { message } = posted;
      const called = calledBy({ mention });
      const words = renderLine(card);
      const content = called ? `${contentOf(called).content} ${words}` : words;
      const silent = called ? 0 : MessageFlags.SuppressNotifications;
      const isAnnounced = (one: APIMessage) =>
        one.message_reference?.message_id === message && one.content === content;
      if (attempted && (await find(channel, isAnnounced))) return;
      const line = {
        content,
        nonce: digestOf(id).slice(0, 25),
        message_reference: { message_id: message },
        flags: silent | MessageFlags.SuppressEmbeds,
      };
      await api.send(channel, line, { called });
    },
    async linkTo(channel, { message }) {
      const guild = await guildOf(channel);
      return guild && `https://discord.com/channels/${guild}/${channel}/${message}`;
    },
  };
}

const digestOf = (id: string) => createHash('sha256').update(id).digest('base64url');

function contentOf(called: Called | undefined): { content?: string } {
  const [[role] = [], [person] = []] = [called?.roles, called?.users];
  if (person !== undefined) return { content: `<@${person}>` };
  return role === undefined ? {} : { content: `<@&${role}>` };
}

const refersTo =
  (...references: string[]) =>
  ({ embeds }: APIMessage) =>
    embeds.some(({ footer }) => references.some((one) => footer?.text.endsWith(one)));

function withReference(embed: APIEmbed, reference: string): APIEmbed {
  const text = [embed.footer?.text, reference].filter((part) => part !== undefined).join(' · ');
  return { ...embed, footer: { text } };
}
