import type { RESTOptions } from 'discord.js';
import type { PlatformLimits } from '../../bot/shared/platform-limits.ts';

type MakeRequest = RESTOptions['makeRequest'];

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
  const path = new URL(url).pathname.replace(/^.*\/v\d+\//, '');
  const [major, id, ...more] = path.split('/');
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
