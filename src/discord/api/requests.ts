import { DefaultRestOptions, InteractionResponseType, type RESTOptions } from 'discord.js';
import { DeliveryError } from '../../bot/shared/errors.ts';
import type { PlatformLimits } from '../../bot/shared/platform-limits.ts';

/**
 * Sends a request as discord.js does, but with a form written out as bytes. discord.js hands a form to the undici that
 * was loaded first in the process, and one of another version than its own fails with "action is not a function".
 * Source: measured with undici 6.29 in discord.js and undici 7.30 beside it.
 */
export const makeRequest: RESTOptions['makeRequest'] = async (url, init) => {
  if (!(init.body instanceof FormData)) return await DefaultRestOptions.makeRequest(url, init);
  const form = new Response(init.body);
  const body = new Uint8Array(await form.arrayBuffer());
  const headers = new Headers(Object.entries(init.headers ?? {}));
  // With the boundary between the parts.
  headers.set('content-type', form.headers.get('content-type') ?? '');
  return await DefaultRestOptions.makeRequest(url, {
    ...init,
    body,
    headers: Object.fromEntries(headers),
  });
};

type MakeRequest = RESTOptions['makeRequest'];

/**
 * Sends requests as `send` does, but none that shows something unless this process is the one that may speak, so that nothing
 * is said twice after another one has begun to. Reading, acknowledging interactions and registering commands are free: the
 * next process does them before it speaks. So are replies to `unstored` interactions, by their tokens: nobody else knows of those.
 * What is not sent may be sent another time.
 */
export function withGate(
  send: MakeRequest,
  { isHeld, unstored }: { isHeld: () => boolean; unstored?: ReadonlySet<string> },
): MakeRequest {
  return async (url, init) => {
    if (shows(url, init) && !isHeld() && !unstored?.has(tokenIn(url)))
      throw new DeliveryError(NOT_HELD, { permanent: false });
    return await send(url, init);
  };
}

const NOT_HELD = 'This process no longer speaks for Askwatch.';

/** Source: Discord docs, "Interaction Callback Type". */
const ACKNOWLEDGEMENTS: readonly number[] = [
  InteractionResponseType.DeferredChannelMessageWithSource,
  InteractionResponseType.DeferredMessageUpdate,
  InteractionResponseType.ApplicationCommandAutocompleteResult,
  InteractionResponseType.Modal,
];

function shows(url: string, { method = 'GET', body }: Parameters<MakeRequest>[1]): boolean {
  if (method === 'GET') return false;
  const [major, ...more] = pathOf(url);
  if (major === 'applications') return false;
  const isCallback = major === 'interactions' && more.at(-1) === 'callback';
  if (!isCallback || typeof body !== 'string') return true;
  // discord.js writes the kind of response first.
  const [, type] = /^\{"type":(\d+)/.exec(body) ?? [];
  return !ACKNOWLEDGEMENTS.includes(Number(type));
}

function tokenIn(url: string): string {
  const [major, , token = ''] = pathOf(url);
  return major === 'webhooks' ? decodeURIComponent(token) : '';
}

const pathOf = (url: string): string[] =>
  new URL(url).pathname.replace(/^.*\/v\d+\//, '').split('/');

/** All requests with the bot's token; interactions have their own limits. */
const GLOBAL = 'global';

/** All requests: a proxy in front of Discord refused. */
const ALL = 'all';

/**
 * Sends requests as `send` does, but none before Discord's `Retry-After` for calls of its kind is over: meanwhile it answers
 * as Discord would, without asking it. discord.js waits by itself where that is short, but forgets a longer wait with the
 * call, and all of it with the client. Source: Discord docs, "Rate Limits".
 */
export function withRateLimits(send: MakeRequest, limits: PlatformLimits): MakeRequest {
  return async (url, init) => {
    const kind = kindOf(url, init.method ?? 'GET');
    const isBots = new Headers(Object.entries(init.headers ?? {})).has('authorization');
    const leftMs = Math.max(
      ...[kind, ALL, ...(isBots ? [GLOBAL] : [])].map((each) => limits.leftMs(each)),
    );
    if (leftMs > 0) return refusal(leftMs);
    const response = await send(url, init);
    const waitMs = response.status === 429 ? waitMsOf(response.headers) : 0;
    if (waitMs > 0) await limits.limited(scopeOf(response.headers) ?? kind, waitMs);
    return response;
  };
}

type Answer = Awaited<ReturnType<MakeRequest>>;

type Headers = Answer['headers'];

function scopeOf(headers: Headers): typeof GLOBAL | typeof ALL | undefined {
  if (headers.get('x-ratelimit-global') !== null) return GLOBAL;
  return headers.get('x-ratelimit-scope') === null ? ALL : undefined;
}

/** `Retry-After` is rounded up to seconds; the other header may be exact. */
function waitMsOf(headers: Headers): number {
  const wait = Number(headers.get('retry-after'));
  const exact = Number(headers.get('x-ratelimit-reset-after'));
  return 1_000 * (exact > 0 && Math.ceil(exact) === wait ? exact : wait);
}

/** Discord counts requests together if they differ only in a message, thread or member. */
function kindOf(url: string, method: string): string {
  const [major, id, ...more] = pathOf(url);
  const minor = more.map((part) => (/^\d{16,20}$/.test(part) ? ':id' : part));
  return `${method} ${[major, id, ...minor].join('/')}`;
}

function refusal(waitMs: number): Answer {
  const seconds = waitMs / 1_000;
  const body = { message: 'You are being rate limited.', retry_after: seconds, global: false };
  const response: unknown = new Response(JSON.stringify(body), {
    status: 429,
    headers: {
      'content-type': 'application/json',
      'retry-after': String(seconds),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset-after': String(seconds),
      'x-ratelimit-scope': 'user',
    },
  });
  // Node and undici name the types of their streams differently.
  return response as Answer;
}

const CHECK_TIMEOUT_MS = 10_000;

/**
 * Confirms a 401 before it counts: if Discord still accepts the token, the request is sent again, since the first one did
 * nothing. Throws the errors of `send`, and its own if Discord doesn't say.
 *
 * Source: @discordjs/rest 2.6 forgets its token after a single 401, and every later request fails.
 */
export function withTokenCheck(send: MakeRequest, apiUrl: string): MakeRequest {
  const address = `${apiUrl}/v${DefaultRestOptions.version}/gateway/bot`;
  let checking: Promise<number> | undefined;

  /** One request at a time, however many 401s there are. */
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
    // Reading the answer frees its connection.
    await first.arrayBuffer();
    if (status >= 400) throw new Error(`Could not check the token after a 401: status ${status}`);
    const second = await send(url, init);
    if (second.status !== 401) return second;
    throw new Error('Discord answered with 401 although it accepts the token');
  };
}
