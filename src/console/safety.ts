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

/** Who may ask what of the console, as hooks for its routes. Each throws an `HttpError`. */
export interface Guards {
  /** Scripts, styles and icons: nothing that is anybody's. */
  file(request: HttpRequest, reply: HttpReply): Promise<void>;
  /** Pages that a browser opens. */
  page(request: HttpRequest, reply: HttpReply): Promise<void>;
  /** What a page fetches. */
  fetch(request: HttpRequest, reply: HttpReply): Promise<void>;
  /** What changes something. */
  write(request: HttpRequest, reply: HttpReply): Promise<void>;
}

/** The guards of a console that opens on this machine only, and for everyone there. */
export function createGuards(): Guards {
  return { file: guardHost, page: guardHost, fetch: guardFetch, write: guardWrite };
}

/**
 * Guards every route of the console: refuses a request that came under another name than this machine's own, which is
 * how DNS rebinding looks, and sets the security headers.
 */
async function guardHost(request: HttpRequest, reply: HttpReply): Promise<void> {
  reply.headers(HEADERS);
  if (!LOOPBACK_HOST.test(request.headers.host ?? '')) {
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
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw crossSite();
  const { origin } = request.headers;
  if (origin !== undefined && !isOwn(origin, request)) throw crossSite();
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

function isOwn(origin: string, request: HttpRequest): boolean {
  return origin.toLowerCase() === `http://${request.headers.host ?? ''}`.toLowerCase();
}

const crossSite = () =>
  new HttpError(403, 'cross_site', 'The console takes requests from its own page only.');
