import type { RestAnswer, RestRequest } from './http.ts';

/** A limit of requests per channel, or per interaction token, and time. */
export interface BucketLimit {
  requests: number;
  windowMs: number;
}

/** Discord does not write its figures down; these are what bots commonly meet. */
export const COMMON_LIMIT: BucketLimit = { requests: 5, windowMs: 5_000 };

type Route = (request: RestRequest) => RestAnswer | undefined;

/**
 * Routes that take no more than the limit and say in the headers of every answer what is left. What posts or edits messages
 * is limited, each by itself. Source: Discord docs, "Rate Limits": buckets by route and top-level resource, a window that
 * begins with its first request, the headers, and the body of a 429.
 */
export function withLimit(
  route: Route,
  { requests, windowMs }: BucketLimit,
  nowMs: () => number = () => performance.now(),
): Route {
  const windows = new Map<string, { left: number; endMs: number }>();
  return (request) => {
    const bucket = bucketOf(request);
    if (!bucket) return route(request);
    const key = `${bucket.hash} ${bucket.resource}`;
    const earlier = windows.get(key);
    const isOpen = earlier !== undefined && earlier.endMs > nowMs();
    const window = isOpen ? earlier : { left: requests, endMs: nowMs() + windowMs };
    windows.set(key, window);
    const seconds = (window.endMs - nowMs()) / 1000;
    const headers = {
      'x-ratelimit-limit': String(requests),
      'x-ratelimit-remaining': String(Math.max(0, window.left - 1)),
      'x-ratelimit-reset': String(Date.now() / 1000 + seconds),
      'x-ratelimit-reset-after': seconds.toFixed(3),
      'x-ratelimit-bucket': bucket.hash,
    };
    if (window.left === 0) return refused(seconds, headers);
    window.left -= 1;
    const answer = route(request);
    return answer && { ...answer, headers: { ...answer.headers, ...headers } };
  };
}

/** Requests per second and bot; interaction responses don't count. Source: Discord docs, "Global Rate Limit". */
const GLOBAL_PER_SECOND = 50;

/** Answers of these in ten minutes after which Cloudflare answers in Discord's place. Source: Discord docs, "Invalid Request Limit". */
const INVALID = new Set([401, 403, 429]);
const INVALID_WINDOW_MS = 600_000;
const INVALID_REQUESTS = 10_000;

/** Routes behind what Discord counts for a bot as a whole, and for its address. */
export function withGuards(
  route: Route,
  {
    invalidRequests = INVALID_REQUESTS,
    nowMs = () => performance.now(),
  }: { invalidRequests?: number; nowMs?: () => number } = {},
): Route {
  let second = { left: GLOBAL_PER_SECOND, endMs: 0 };
  let invalid = { count: 0, endMs: 0 };

  function limited(request: RestRequest): RestAnswer | undefined {
    if (/^\/(interactions|webhooks)\//.test(request.path)) return undefined;
    if (second.endMs <= nowMs()) second = { left: GLOBAL_PER_SECOND, endMs: nowMs() + 1_000 };
    second.left -= 1;
    if (second.left >= 0) return undefined;
    const seconds = (second.endMs - nowMs()) / 1000;
    return {
      status: 429,
      body: { message: 'You are being rate limited.', retry_after: seconds, global: true },
      headers: {
        'retry-after': String(Math.ceil(seconds)),
        'x-ratelimit-global': 'true',
        'x-ratelimit-scope': 'global',
      },
    };
  }

  return (request) => {
    if (invalid.endMs <= nowMs()) invalid = { count: 0, endMs: nowMs() + INVALID_WINDOW_MS };
    if (invalid.count >= invalidRequests) {
      const seconds = Math.ceil((invalid.endMs - nowMs()) / 1000);
      // A page of Cloudflare's: no code of Discord's, and none of its headers.
      return { status: 429, body: 'error code: 1015', headers: { 'retry-after': String(seconds) } };
    }
    const answer = limited(request) ?? route(request);
    const isShared = answer?.headers?.['x-ratelimit-scope'] === 'shared';
    if (answer && INVALID.has(answer.status) && !isShared) invalid.count += 1;
    return answer;
  };
}

const refused = (seconds: number, headers: Record<string, string>): RestAnswer => ({
  status: 429,
  body: { message: 'You are being rate limited.', retry_after: seconds, global: false },
  headers: {
    ...headers,
    'retry-after': String(Math.ceil(seconds)),
    'x-ratelimit-scope': 'user',
  },
});

/** The limit that a request falls under; none for what neither posts nor edits. */
function bucketOf({ method, path }: RestRequest): { hash: string; resource: string } | undefined {
  const [, kind = '', resource = '', message] =
    /^\/(channels|webhooks\/\d+)\/([^/]+)(?:\/messages(\/[^/]+)?)?$/.exec(path) ?? [];
  const isChannel = kind === 'channels';
  const isMessage = isChannel ? path.includes('/messages') : kind !== '';
  if (!isMessage || (method !== 'POST' && method !== 'PATCH')) return undefined;
  const what = message === undefined ? 'post' : 'edit';
  return { hash: `fake-${isChannel ? 'channel' : 'webhook'}-${what}`, resource };
}
