import { HttpError } from '../http/errors.ts';
import type { HttpReply, HttpRequest } from '../http/server.ts';

/** Names under which only this machine is reached, in a `Host` header with any port. */
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/**
 * What the page may do: its own script, style and requests, nothing else. Trusted types let only the sanitiser turn
 * text into HTML.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types dompurify',
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Who looks at the status page: those who may see all of the console, or whoever is there when it is public. */
export type Viewer = 'member' | 'anyone';

type Guard = (request: HttpRequest, reply: HttpReply) => Promise<void>;

/** Who may ask what of the console, as hooks for its routes. Each throws an `HttpError`. */
export interface Guards {
  /** Scripts, styles and icons: nothing that is anybody's. */
  file: Guard;
  /** Pages that a browser opens. */
  page: Guard;
  /** What a page fetches. */
  fetch: Guard;
  /** What changes something. */
  write: Guard;
  /** The status page: as `page`, or for anyone under any name when it is public. */
  statusPage: Guard;
  /** What the status page fetches, and what others show of it, such as a badge: as `fetch`, or for anyone. */
  statusFetch: Guard;
  /** Whether the route may tell all, or only what is public; ask it behind `statusPage` or `statusFetch`. */
  viewer(request: HttpRequest): Viewer;
}

/** The guards of a console that opens on this machine only, and for everyone there. */
export function createGuards({ statusPublic = false }: { statusPublic?: boolean } = {}): Guards {
  const viewer = (request: HttpRequest): Viewer =>
    isNear(request) && !isCrossSite(request) ? 'member' : 'anyone';

  return {
    file: statusPublic ? setHeaders : guardHost,
    page: guardHost,
    fetch: guardFetch,
    write: guardWrite,
    statusPage: statusPublic ? setHeaders : guardHost,
    statusFetch: statusPublic ? guardPublic : guardFetch,
    viewer,
  };

  /** What anyone may read may also be shown on other sites. */
  async function guardPublic(request: HttpRequest, reply: HttpReply): Promise<void> {
    await setHeaders(request, reply);
    if (viewer(request) === 'anyone') reply.header('cross-origin-resource-policy', 'cross-origin');
  }
}

async function setHeaders(_request: HttpRequest, reply: HttpReply): Promise<void> {
  reply.headers(HEADERS);
}

/**
 * Guards every route of the console: refuses a request that came under another name than this machine's own, which is
 * how DNS rebinding looks, and sets the security headers.
 */
async function guardHost(request: HttpRequest, reply: HttpReply): Promise<void> {
  await setHeaders(request, reply);
  if (!isNear(request)) {
    throw new HttpError(
      403,
      'host_not_allowed',
      'The console answers only under localhost, 127.0.0.1 and [::1].',
    );
  }
}

/** Guards what the page fetches: a browser that says it asks for another site is refused. */
async function guardFetch(request: HttpRequest, reply: HttpReply): Promise<void> {
  await guardHost(request, reply);
  if (isCrossSite(request)) throw crossSite();
}

/** Guards what changes something: it must say that it comes from this very page, and be JSON. */
async function guardWrite(request: HttpRequest, reply: HttpReply): Promise<void> {
  await guardFetch(request, reply);
  const { origin } = request.headers;
  if (origin === undefined && request.headers['sec-fetch-site'] !== 'same-origin') {
    throw crossSite();
  }
  // A form or a simple cross-site request cannot send this type without asking first.
  if (!/^application\/json *(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new HttpError(
      415,
      'unsupported_media_type',
      'Send the body as JSON, with the header Content-Type: application/json.',
    );
  }
}

const isNear = (request: HttpRequest) => LOOPBACK_HOST.test(request.headers.host ?? '');

function isCrossSite(request: HttpRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin } = request.headers;
  return origin !== undefined && !isOwn(origin, request);
}

function isOwn(origin: string, request: HttpRequest): boolean {
  return origin.toLowerCase() === `http://${request.headers.host ?? ''}`.toLowerCase();
}

const crossSite = () =>
  new HttpError(403, 'cross_site', 'The console takes requests from its own page only.');
