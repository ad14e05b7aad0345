import type { Invocation } from '../../bot/shared/invocation.ts';
import type { ShownMessage } from '../render/shown-message.ts';

/** Something a person said, as far as Slack's event tells. */
export interface UserInput {
  invocation: Invocation;
  /** Where, as Slack names it. */
  channel: string;
  /** The message in which it was said, where it was in one. */
  ts?: string;
  /** Said to the bot, by a mention or in a direct conversation; if not, it matters only in a thread of ours. */
  addressed: boolean;
  /** Said inside a thread that was there before. */
  inThread: boolean;
  /** Nobody else saw it said: a slash command, a press of a button. */
  hidden: boolean;
  /** The message whose button was pressed, as Slack showed it; absent for one that only one person sees. */
  pressed?: ShownMessage;
  /** Where Slack takes answers to a slash command or a press, five within half an hour, also where the bot is no member. */
  responseUrl?: string;
}
