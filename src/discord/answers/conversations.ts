import type { Logger } from 'pino';
import type { ConversationAt } from '../../bot/ask/shown-answers.ts';
import type { Bot } from '../../bot/platform.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { Place } from '../../bot/shared/place.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import { isRefusal } from '../api/errors.ts';

/** Messages whose reference is remembered, since it never changes. */
const MAX_REFERENCES = 2_000;

/** Inline messages that could not be stored. */
const MAX_UNSTORED = 200;

export type MessageConversations = ReturnType<typeof createConversations>;

export function createConversations(options: {
  bot: Bot;
  api: ChannelApi;
  botId: () => string;
  log: Logger;
}) {
  const { bot, api, botId, log } = options;
  const references = new Map<string, string | undefined>();
  const unstored = new Map<string, ConversationAt>();
  const placeOf = (channel: string) => ({ platform: 'discord', channel }) as const;

  async function referenceOf(channel: string, message: string): Promise<string | undefined> {
    if (references.has(message)) return references.get(message);
    try {
      const { author, message_reference } = await api.message(channel, message);
      const reference = author.id === botId() ? message_reference?.message_id : undefined;
      references.set(message, reference);
    } catch (error) {
      // The question is answered without the conversation before it.
      log.debug({ err: error, channel }, 'could not read the message that a reply is about');
      if (isRefusal(error)) references.set(message, undefined);
    }
    forgetOldest(references, MAX_REFERENCES);
    return references.get(message);
  }

  return {
    /** The key of the conversation that a message begins, or that the alert above it began. */
    async of(place: Place, message: string) {
      if (await bot.isConversation(place, message)) return message;
      const above = await referenceOf(place.channel, message);
      return above !== undefined && (await bot.isConversation(place, above)) ? above : undefined;
    },
    /** The conversation of an answer outside of threads, by any of its messages, also from before a restart. */
    async inlineOf(channel: string, message: string) {
      return unstored.get(message) ?? (await bot.shownAnswers.of(placeOf(channel), message));
    },
    /** Stores the conversation of a message outside of threads. Never throws. */
    async addInline(channel: string, message: string, conversation: ConversationAt) {
      try {
        await bot.shownAnswers.add(placeOf(channel), message, conversation);
      } catch (error) {
        log.error({ err: error, channel }, 'could not store where an answer is shown');
        unstored.set(message, conversation);
        forgetOldest(unstored, MAX_UNSTORED);
      }
    },
  };
}
