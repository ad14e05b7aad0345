import type { Logger } from 'pino';
import type { ConversationAt } from '../../bot/ask/shown-answers.ts';
import type { Bot } from '../../bot/platform.ts';
import type { Place } from '../../bot/shared/place.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import { isRefusal } from '../api/errors.ts';

/** Messages whose reference is remembered; it never changes, so this only saves asking again. */
const MAX_REFERENCES = 2_000;

/** Inline messages remembered when they could not be stored; the oldest are forgotten first. */
const MAX_UNSTORED = 200;

/** Which conversation a message belongs to. */
export type Conversations = ReturnType<typeof createConversations>;

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

  /** The message that a message of ours replies to. */
  async function referenceOf(channel: string, message: string): Promise<string | undefined> {
    if (references.has(message)) return references.get(message);
    try {
      const { author, message_reference } = await api.message(channel, message);
      const reference = author.id === botId() ? message_reference?.message_id : undefined;
      setNewest(references, message, reference, MAX_REFERENCES);
    } catch (error) {
      // The question is answered all the same, if without what went before.
      log.debug({ err: error, channel }, 'could not read the message that a reply is about');
      if (isRefusal(error)) setNewest(references, message, undefined, MAX_REFERENCES);
    }
    return references.get(message);
  }

  return {
    /**
     * The thread key of the conversation that a message begins. A line that was posted under an alert belongs to the alert's.
     * `undefined` when it begins none that is known.
     */
    async of(place: Place, message: string) {
      if (await bot.isConversation(place, message)) return message;
      const above = await referenceOf(place.channel, message);
      return above !== undefined && (await bot.isConversation(place, above)) ? above : undefined;
    },
    /**
     * The conversation that an answer in the middle of a channel belongs to, by any of its messages. Without a thread a reply
     * is all that connects a follow-up to what went before, and it may be a reply to an answer from before a restart.
     */
    async inlineOf(channel: string, message: string) {
      return unstored.get(message) ?? (await bot.shownAnswers.of(placeOf(channel), message));
    },
    /** Notes that a message in the middle of a channel belongs to this conversation. Never throws. */
    async addInline(channel: string, message: string, conversation: ConversationAt) {
      try {
        await bot.shownAnswers.add(placeOf(channel), message, conversation);
      } catch (error) {
        // The answer is worth more than what connects to it; until a restart memory does.
        log.error({ err: error, channel }, 'could not store where an answer is shown');
        setNewest(unstored, message, conversation, MAX_UNSTORED);
      }
    },
  };
}

/** Sets a value, and forgets the oldest beyond `max`. */
function setNewest<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
