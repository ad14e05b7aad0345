import type { Logger } from 'pino';
import type { ConversationAt } from '../../bot/ask/shown-answers.ts';
import type { Bot } from '../../bot/platform.ts';

/** Messages remembered when they could not be stored; the oldest are forgotten first. */
const MAX_REMEMBERED = 200;

/**
 * Which conversation an answer in the middle of a channel belongs to. Without a thread a reply is all that connects a
 * follow-up to what was said, and it may be a reply to any message of any answer, also one from before a restart.
 */
export interface InlineConversations {
  /** The conversation this message of ours in this channel belongs to. */
  of(channel: string, message: string): Promise<ConversationAt | undefined>;
  add(channel: string, message: string, conversation: ConversationAt): Promise<void>;
}

export function createInlineConversations({
  bot,
  log,
}: {
  bot: Bot;
  log: Logger;
}): InlineConversations {
  const unstored = new Map<string, ConversationAt>();
  const placeOf = (channel: string) => ({ platform: 'discord', channel }) as const;
  return {
    async of(channel, message) {
      return unstored.get(message) ?? (await bot.shownAnswers.of(placeOf(channel), message));
    },
    async add(channel, message, conversation) {
      try {
        await bot.shownAnswers.add(placeOf(channel), message, conversation);
      } catch (error) {
        // The answer is worth more than what connects to it; until a restart memory does.
        log.error({ err: error, channel }, 'where an answer is shown could not be stored');
        unstored.set(message, conversation);
        const [oldest] = unstored.keys();
        if (unstored.size > MAX_REMEMBERED && oldest !== undefined) unstored.delete(oldest);
      }
    },
  };
}
