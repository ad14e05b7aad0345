import { DiscordAPIError, type REST, RESTJSONErrorCodes, Routes } from 'discord.js';
import { isRefusal } from './errors.ts';

/**
 * Makes a call in a channel or thread. A thread that is archived, as each is after days of silence, takes no edits: it is
 * opened again and the call made once more. One that is locked, too, stays closed, and the refusal of the call is thrown.
 * Throws what the calls throw. Source: Discord docs, "Threads": opening takes Send Messages in Threads.
 */
export async function inOpenThread<T>(
  rest: REST,
  channel: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isArchived(error)) throw error;
    await openAgain(rest, channel, error);
    return await call();
  }
}

const isArchived = (error: unknown): error is DiscordAPIError =>
  error instanceof DiscordAPIError &&
  error.code === RESTJSONErrorCodes.InvalidActionOnArchivedThread;

async function openAgain(rest: REST, thread: string, archived: DiscordAPIError): Promise<void> {
  try {
    await rest.patch(Routes.channel(thread), { body: { archived: false } });
  } catch (error) {
    // That the thread is closed says more than that it may not be opened; any other trouble may pass.
    throw isRefusal(error) ? archived : error;
  }
}
