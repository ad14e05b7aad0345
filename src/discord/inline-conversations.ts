/** Messages remembered; the oldest are forgotten first, and a reply to one of them begins a new conversation. */
const MAX_REMEMBERED = 2_000;

/**
 * Which conversation an answer in the middle of a channel belongs to. Without a thread a reply is all that connects a
 * follow-up to what was said, and it may be a reply to any message of any answer.
 */
export interface InlineConversations {
  /** The thread key of the conversation this message of ours belongs to. */
  of(message: string): string | undefined;
  add(message: string, thread: string): void;
}

export function createInlineConversations(): InlineConversations {
  const threads = new Map<string, string>();
  return {
    of: (message) => threads.get(message),
    add(message, thread) {
      threads.set(message, thread);
      if (threads.size <= MAX_REMEMBERED) return;
      const [oldest] = threads.keys();
      if (oldest !== undefined) threads.delete(oldest);
    },
  };
}
