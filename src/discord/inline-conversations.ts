import type { Place } from '../bot/platform.ts';

/** Messages remembered; the oldest are forgotten first, and a reply to one of them begins a new conversation. */
const MAX_REMEMBERED = 2_000;

/** A conversation as the bot knows it. */
export interface Conversation {
  place: Place;
  /** Its key within the place. */
  thread: string;
}

/**
 * Which conversation an answer in the middle of a channel belongs to. Without a thread a reply is all that connects a
 * follow-up to what was said, and it may be a reply to any message of any answer.
 */
export interface InlineConversations {
  /** The conversation this message of ours belongs to. */
  of(message: string): Conversation | undefined;
  add(message: string, conversation: Conversation): void;
}

export function createInlineConversations(): InlineConversations {
  const conversations = new Map<string, Conversation>();
  return {
    of: (message) => conversations.get(message),
    add(message, conversation) {
      conversations.set(message, conversation);
      if (conversations.size <= MAX_REMEMBERED) return;
      const [oldest] = conversations.keys();
      if (oldest !== undefined) conversations.delete(oldest);
    },
  };
}
