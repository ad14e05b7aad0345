import { DefaultRestOptions, type RESTOptions } from 'discord.js';

type MakeRequest = RESTOptions['makeRequest'];

/** Asking whether the token is taken may hold up no more than one call to Discord may. */
const CHECK_TIMEOUT_MS = 10_000;

/**
 * Sends requests as `send` does, and does not take the first 401 for an answer: Discord is asked whether it takes the token,
 * and if so the request, of which nothing was done, is sent again. A 401 comes back only with a token that is refused
 * twice. Throws what `send` throws, and an error of its own where Discord does not say.
 * Source: @discordjs/rest 2.6 forgets its token after a single 401, and every later call fails.
 */
export function withTokenCheck(send: MakeRequest, apiUrl: string): MakeRequest {
  const address = `${apiUrl}/v${DefaultRestOptions.version}/gateway/bot`;
  let checking: Promise<number> | undefined;

  /** The status of a call that needs nothing but the token; one at a time, however many were refused. */
  function check(authorization: string): Promise<number> {
    async function ask() {
      const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
      const headers = { authorization };
      const answer = await send(address, { method: 'GET', headers, signal });
      await answer.arrayBuffer();
      return answer.status;
    }
    checking ??= ask().finally(() => {
      checking = undefined;
    });
    return checking;
  }

  return async (url, init) => {
    const headers = new Headers(Object.entries(init.headers ?? {}));
    const authorization = headers.get('authorization');
    const first = await send(url, init);
    // Calls for an interaction carry a token of their own, in the address.
    if (first.status !== 401 || authorization === null) return first;
    const status = await check(authorization);
    if (status === 401) return first;
    // Its connection is free again once it is read.
    await first.arrayBuffer();
    if (status >= 400)
      throw new Error(`Discord could not be asked about its 401: status ${status}`);
    const second = await send(url, init);
    if (second.status !== 401) return second;
    throw new Error('Discord answers with 401, though it takes the token');
  };
}
