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

/** First responses to an interaction that show no message. Source: Discord docs, "Interaction Callback Type". */
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

/** The token of the interaction that an address is about. */
function tokenIn(url: string): string {
  const [major, , token = ''] = pathOf(url);
  return major === 'webhooks' ? decodeURIComponent(token) : '';
}

/** The parts of an address of Discord's API, from the kind of thing that it is about on. */
const pathOf = (url: string): string[] =>
  new URL(url).pathname.replace(/^.*\/v\d+\//, '').split('/');

/** Every call that carries the bot's token; interactions have limits of their own. */
const GLOBAL = 'global';

/** Every call from here: it is not Discord that refuses, but what stands before it. */
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

/** `Retry-After` is rounded up to whole seconds; the same wait may be given exactly beside it. */
function waitMsOf(headers: Headers): number {
  const wait = Number(headers.get('retry-after'));
  const exact = Number(headers.get('x-ratelimit-reset-after'));
  return 1_000 * (exact > 0 && Math.ceil(exact) === wait ? exact : wait);
}

/**
 * What Discord counts together: calls of one method that differ in no more than which message, thread or member they are
 * about.
 */
function kindOf(url: string, method: string): string {
  const [major, id, ...more] = pathOf(url);
  const minor = more.map((part) => (/^\d{16,20}$/.test(part) ? ':id' : part));
  return `${method} ${[major, id, ...minor].join('/')}`;
}

/** As Discord writes it of calls of one kind. */
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
    if (status >= 400) throw new Error(`Could not check the token after a 401: status ${status}`);
    const second = await send(url, init);
    if (second.status !== 401) return second;
    throw new Error('Discord answered with 401 although it accepts the token');
  };
}
