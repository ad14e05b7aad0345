/** Methods that show nothing. They are allowed without the lease, since a successor connects before it gets the lease. */
const READING = new Set([
  'apps.connections.open',
  'auth.test',
  'chat.getPermalink',
  'conversations.history',
  'conversations.replies',
  'files.info',
  'usergroups.users.list',
  'users.info',
]);

/** A request was not sent, because this process doesn't hold the bot. */
export class NotHeldError extends Error {
  override name = 'NotHeldError' as const;
}

/**
 * The only way to Slack. Checks `isHeld` before each request that may show something, including response addresses and uploads,
 * and rejects with `NotHeldError`.
 */
export function gatedFetch(isHeld: () => boolean): typeof fetch {
  return async (input, init) => {
    if (!isHeld() && !READING.has(methodOf(input))) {
      throw new NotHeldError('This Askwatch process does not hold the bot.');
    }
    return await fetch(input, init);
  };
}

export const methodOf = (input: Parameters<typeof fetch>[0]): string =>
  new URL(input instanceof Request ? input.url : input).pathname.split('/').at(-1) ?? '';
