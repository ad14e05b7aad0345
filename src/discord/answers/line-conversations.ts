import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';
import type { Place } from '../../bot/shared/place.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import { isRefusal } from '../api/errors.ts';

/** Messages whose reference is remembered; it never changes, so this only saves asking again. */
const MAX_REMEMBERED = 2_000;

/** Conversations by what stands at their top, also where a line under an alert is taken for that. */
export interface ThreadConversations {
  /**
   * The thread key of the conversation that a message begins. A line that was said under an alert belongs to the alert's.
   * `undefined` when it begins none that is known.
   */
  of(place: Place, message: string): Promise<string | undefined>;
}

export function createThreadConversations(options: {
  bot: Bot;
  api: ChannelApi;
  botId: () => string;
  log: Logger;
}): ThreadConversations {
  const { bot, api, botId, log } = options;
  const references = new Map<string, string | undefined>();

  /** What a message of ours answers. */
  async function referenceOf(channel: string, message: string): Promise<string | undefined> {
    if (references.has(message)) return references.get(message);
    try {
      const { author, message_reference } = await api.message(channel, message);
      remember(message, author.id === botId() ? message_reference?.message_id : undefined);
    } catch (error) {
      // What is said is answered all the same, if without what went before.
      log.debug({ err: error, channel }, 'could not look at the message that was answered');
      if (isRefusal(error)) remember(message, undefined);
    }
    return references.get(message);
  }

  function remember(message: string, reference: string | undefined) {
    references.set(message, reference);
    if (references.size <= MAX_REMEMBERED) return;
    const [oldest] = references.keys();
    if (oldest !== undefined) references.delete(oldest);
  }

  return {
    async of(place, message) {
      if (await bot.isConversation(place, message)) return message;
      const above = await referenceOf(place.channel, message);
      return above !== undefined && (await bot.isConversation(place, above)) ? above : undefined;
    },
  };
}
