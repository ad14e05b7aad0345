import { readFailure } from '../api/call-failure.ts';
import type { Messages } from '../api/messages.ts';
import type { Respond } from '../api/response-url.ts';
import type { Content } from '../render/blocks.ts';
import type { UserInput } from './user-input.ts';

export type ShowEphemeral = (content: Content) => Promise<void>;

export type Asked = Pick<UserInput, 'channel' | 'inThread' | 'responseUrl'> & {
  invocation: { thread?: string; person: { id: string } };
};

/** Slack allows one use more. */
const MAX_RESPONSES = 4;
const RESPONSES_WITHIN_MS = 29 * 60_000;

/** The bot isn't in the channel of the command. */
export const NOT_THERE = new Set(['not_in_channel', 'channel_not_found']);

/** Uses the command's response address while it lasts, then ephemeral messages. The command was sent `agoMs` ago. */
export function createShowEphemeral(
  asked: Asked,
  { messages, respond, agoMs = 0 }: { messages: Messages; respond: Respond; agoMs?: number },
): ShowEphemeral {
  const responseUrl = addressOf(asked);
  const untilMs = performance.now() + RESPONSES_WITHIN_MS - agoMs;
  let used = 0;
  return async (content) => {
    if (responseUrl && used < MAX_RESPONSES && performance.now() < untilMs) {
      used += 1;
      try {
        return await respond(responseUrl, content, 'ephemeral');
      } catch (error) {
        if (readFailure(error).kind !== 'refused') throw error;
      }
    }
    try {
      await messages.postEphemeral(destinationOf(asked), asked.invocation.person.id, content);
    } catch (error) {
      // A message may be asked about where the bot is not: there the gesture's own address is all that is left.
      const { responseUrl: last } = asked;
      if (!last || !NOT_THERE.has(readFailure(error).code)) throw error;
      await respond(last, content, 'ephemeral');
    }
  };
}

/** The response address, unless the input is in a thread: Slack posts such responses in the channel. */
export const addressOf = ({ responseUrl, inThread }: Asked) => (inThread ? undefined : responseUrl);

/** The channel, or the thread of the input. */
export function destinationOf({ invocation: { thread }, channel, inThread }: Asked) {
  return {
    channel,
    ...(inThread && thread !== undefined ? { thread } : {}),
  };
}
