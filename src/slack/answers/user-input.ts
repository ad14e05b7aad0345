import type { Invocation } from '../../bot/shared/invocation.ts';
import type { ShownMessage } from '../render/blocks.ts';

/** A message, typed command, pressed button or submitted form, as far as Slack's event describes it. */
export interface UserInput {
  invocation: Invocation;
  channel: string;
  /** The message itself; absent for slash commands and buttons, which post none. */
  ts?: string;
  /** False for a message that doesn't mention the bot. It counts only in a thread with the bot. */
  addressed: boolean;
  /** True if it came from an existing thread. */
  inThread: boolean;
  /** The message with the pressed button; absent if only one person sees it. */
  pressed?: ShownMessage;
  /** The response address, good for five responses within half an hour, even without the bot in the channel. */
  responseUrl?: string;
  /** True if it came from someone's home and not from the channel. */
  isInHome?: boolean;
}
