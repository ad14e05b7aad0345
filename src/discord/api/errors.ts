import { DiscordAPIError, HTTPError, RateLimitError, RESTJSONErrorCodes } from 'discord.js';
import { DeliveryError } from '../../bot/shared/errors.ts';

/** Before an old message is edited again. Source: Discord docs, JSON error code 30046. */
const OLD_EDIT_WAIT_MS = 20_000;

/** Advice for people by Discord's error code. */
const REMEDIES: Partial<Record<number | string, string>> = {
  [RESTJSONErrorCodes.UnknownChannel]:
    'The channel doesn’t exist or was deleted. Check the id, or remove it from ALERT_CHANNELS.',
  [RESTJSONErrorCodes.UnknownMessage]: 'The message was deleted.',
  [RESTJSONErrorCodes.MissingAccess]:
    'Askwatch can’t see the channel. Give it the permission View Channel there.',
  [RESTJSONErrorCodes.MissingPermissions]:
    'Askwatch lacks a permission in the channel. Give it Send Messages, Embed Links, Attach Files and, for threads, Send Messages in Threads and Create Public Threads.',
  [RESTJSONErrorCodes.CannotReplyWithoutPermissionToReadMessageHistory]:
    'Askwatch can’t reply in the channel. Give it the permission Read Message History there.',
  [RESTJSONErrorCodes.InvalidActionOnArchivedThread]:
    'The thread is archived and locked, or Askwatch lacks the permission Send Messages in Threads. Unlock it, or continue in a new thread.',
  [RESTJSONErrorCodes.ThreadLocked]:
    'The thread is locked. Unlock it, or continue in a new thread.',
};

/** True if Discord refused permanently, so a repeated request can't help. */
export function isRefusal(error: unknown): error is DiscordAPIError {
  return (
    error instanceof DiscordAPIError &&
    error.status >= 400 &&
    error.status < 500 &&
    ![408, 429].includes(error.status) &&
    // The bot's token, which ends the program; an interaction's token that is over has a code of its own.
    !(error.status === 401 && error.code === 0) &&
    error.code !== RESTJSONErrorCodes.MaximumNumberOfEditsToMessagesOlderThanOneHourReached
  );
}

export const hasCode = (
  error: unknown,
  ...codes: ReadonlyArray<number | string>
): error is DiscordAPIError => error instanceof DiscordAPIError && codes.includes(error.code);

/** True if Discord rejected the content, not the place. */
export const isInvalidForm = (error: unknown) =>
  hasCode(error, RESTJSONErrorCodes.InvalidFormBodyOrContentType);

export const isGone = (error: unknown) => hasCode(error, RESTJSONErrorCodes.UnknownChannel);

export const isDeleted = (error: unknown) =>
  hasCode(error, RESTJSONErrorCodes.UnknownChannel, RESTJSONErrorCodes.UnknownMessage);

/** For a reply Discord says so only in the text. */
const UNKNOWN_REFERENCE = 'MESSAGE_REFERENCE_UNKNOWN_MESSAGE';

export function retryAfterMs(error: unknown): number | undefined {
  if (error instanceof RateLimitError) return error.timeToReset;
  return hasCode(error, RESTJSONErrorCodes.MaximumNumberOfEditsToMessagesOlderThanOneHourReached)
    ? OLD_EDIT_WAIT_MS
    : undefined;
}

/** Refusals about the channel, or Askwatch in it, not about a message: people can open the channel. */
const CHANNEL_CLOSED: Array<number | string> = [
  RESTJSONErrorCodes.UnknownChannel,
  RESTJSONErrorCodes.UnknownGuild,
  RESTJSONErrorCodes.MissingAccess,
  RESTJSONErrorCodes.CannotSendMessagesToThisUser,
  RESTJSONErrorCodes.CannotSendMessagesToThisUserDueToHavingNoMutualGuilds,
  RESTJSONErrorCodes.MissingPermissions,
  RESTJSONErrorCodes.InvalidActionOnArchivedThread,
  RESTJSONErrorCodes.ThreadLocked,
];

/** A permission would fix these. */
const LACKING: Array<number | string> = [
  RESTJSONErrorCodes.MissingAccess,
  RESTJSONErrorCodes.MissingPermissions,
  RESTJSONErrorCodes.CannotReplyWithoutPermissionToReadMessageHistory,
];

/** Why a call failed; `lack` names the missing permissions, if there are any. */
export function reasonOf(error: unknown, lack?: string): string {
  if (isRefusal(error)) {
    if (lack !== undefined && LACKING.includes(error.code)) return lack;
    const code = error.message.includes(UNKNOWN_REFERENCE)
      ? RESTJSONErrorCodes.UnknownMessage
      : error.code;
    const remedy = REMEDIES[code];
    return remedy ?? `Discord refused: ${error.message} (code ${error.code}).`;
  }
  if (error instanceof RateLimitError) return 'Discord is rate limiting Askwatch.';
  if (error instanceof DiscordAPIError || error instanceof HTTPError) {
    return `Discord answered with status ${error.status}.`;
  }
  return `Could not reach Discord: ${error instanceof Error ? error.message : String(error)}.`;
}

export function deliveryError(error: unknown, channel: string, lack?: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const waitMs = retryAfterMs(error);
  return new DeliveryError(`Discord channel ${channel}: ${reasonOf(error, lack)}`, {
    permanent: isRefusal(error),
    closed: isRefusal(error) && CHANNEL_CLOSED.includes(error.code),
    retryAfterMs: waitMs,
    cause: error,
  });
}

/**
 * An error as it may be written down. discord.js's own errors carry the address, which holds the token of an interaction,
 * and the body, which holds what people wrote.
 */
export function loggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const details =
    error instanceof DiscordAPIError || error instanceof HTTPError
      ? { status: error.status, method: error.method }
      : {};
  return {
    type: name,
    message,
    ...('code' in error ? { code: error.code } : {}),
    ...details,
    stack,
    ...(cause === undefined ? {} : { cause: loggedError(cause) }),
  };
}
