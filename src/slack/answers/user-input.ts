import type { Invocation } from '../../bot/shared/invocation.ts';
import type { ShownMessage } from '../render/blocks.ts';

/** What a person wrote, typed as a command, pressed or filled in, as far as Slack's event tells. */
export interface UserInput {
  invocation: Invocation;
  /** The channel it came from, by Slack's id. */
  channel: string;
  /** The message that holds it; absent where nobody else sees it: a slash command, a press of a button. */
  ts?: string;
  /** Whether it is meant for the bot: a mention, a direct message, a command. Anything else matters only in a thread of ours. */
  addressed: boolean;
  /** Whether it came from inside a thread that was there before. */
  inThread: boolean;
  /** The message whose button was pressed, as Slack showed it; absent for one that only one person sees. */
  pressed?: ShownMessage;
  /** Where Slack takes answers to a slash command or a press, five within half an hour, also where the bot is no member. */
  responseUrl?: string;
  /** Whether it came from somebody's home, and not from the channel that it is about. */
  isInHome?: boolean;
}
