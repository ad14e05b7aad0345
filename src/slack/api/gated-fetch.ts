/** Methods that show nothing: they pass before the lease is held, too, since a successor connects first. */
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

/** A request was not sent, because this process may not speak. */
export class NotHeldError extends Error {
  override name = 'NotHeldError' as const;
}

/**
 * The one gate to Slack: a `fetch` that sends what may show something only while `isHeld`, asked right before each request, and
 * else rejects with `NotHeldError`. Response addresses and uploads go through it as well as the Web API.
 */
export function gatedFetch(isHeld: () => boolean): typeof fetch {
  return async (input, init) => {
    if (!isHeld() && !READING.has(methodOf(input))) {
      throw new NotHeldError('This Askwatch process does not hold the bot.');
    }
    return await fetch(input, init);
  };
}

/** The method of the Web API that is called. */
export const methodOf = (input: Parameters<typeof fetch>[0]): string =>
  new URL(input instanceof Request ? input.url : input).pathname.split('/').at(-1) ?? '';
