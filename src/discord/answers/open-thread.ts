import { setTimeout as pause } from 'node:timers/promises';
import { RESTJSONErrorCodes } from 'discord.js';
import type { Logger } from 'pino';
import type { ChannelApi } from '../api/channel-api.ts';
import { hasCode, isRefusal, retryAfterMs } from '../api/errors.ts';
import { threadName } from '../render/text.ts';

const TRIES = 3;
const RETRY_WAIT_MS = 1_000;

/**
 * Opens the thread under a message, or finds the one that is there, and gives its id; `undefined` when Discord does not
 * let the bot, as in a channel without threads or without the permission.
 */
export async function openThread(
  api: ChannelApi,
  options: { channel: string; message: string; question: string; log: Logger },
): Promise<string | undefined> {
  const { channel, message, question, log } = options;
  for (let tries = 1; ; tries += 1) {
    try {
      await api.startThread(channel, message, threadName(question));
      return message;
    } catch (error) {
      if (hasCode(error, RESTJSONErrorCodes.ThreadAlreadyCreatedForMessage)) return message;
      if (isRefusal(error) || tries === TRIES) {
        log.info({ err: error, channel }, 'could not open a thread; answering in the channel');
        return undefined;
      }
      await pause(retryAfterMs(error) ?? RETRY_WAIT_MS);
    }
  }
}
