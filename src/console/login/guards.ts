import { HttpError } from '../../http/errors.ts';
import type { HttpReply, HttpRequest } from '../../http/server-types.ts';
import { ownPath } from '../shared/own-path.ts';
import type { Login } from './login.ts';

/**
 * Pages may use their own scripts, styles and requests, and nothing else. Trusted types keep text from becoming HTML, and
 * let only the page's own workers become scripts.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types askwatch-worker',
].join('; ');

/** Strict-Transport-Security is missing: the operator of the HTTPS proxy sets it, for a name that is theirs. */
const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Members may see all of the console; on a public status page, anyone else sees less. */
export type Viewer = 'member' | 'anyone';

/** Hooks for the console's routes. Each throws an `HttpError` for a request that it refuses. */
export type Guards = ReturnType<typeof createGuards>;

/**
 * With a login, members are the logged-in browsers, under any host name. Without one, everyone on this machine is a member,
 * under its own names only.
 */
export function createGuards(options: { login?: Login; statusPublic?: boolean } = {}) {
  const { login, statusPublic = false } = options;
  const isElsewhere = (request: HttpRequest) =>
    isCrossSite(request, { behindTls: login !== undefined });

  function isMember(request: HttpRequest): boolean {
    if (!login) return isUnderLoopbackName(request) && !cameThroughProxy(request);
    return login.sessionOf(request) !== undefined;
  }

  /** Call before anything is awaited: a session that ends in the meantime must find the response. */
  function endWithSession(request: HttpRequest, reply: HttpReply) {
    const session = login?.sessionOf(request);
    if (session) login?.endWith(session, reply.raw);
  }

  async function loginPage(request: HttpRequest, reply: HttpReply): Promise<void> {
    await enter(request, reply);
    const { to } = request.query as { to?: unknown };
    if (isMember(request)) reply.redirect(ownPath(typeof to === 'string' ? to : '/'), 303);
  }

  /** Sets the headers and refuses foreign host names, which DNS rebinding would bring. */
  async function file(request: HttpRequest, reply: HttpReply): Promise<void> {
    await setHeaders(request, reply);
    if (!login) requireNear(request);
  }

  async function enter(request: HttpRequest, reply: HttpReply): Promise<void> {
    await file(request, reply);
    await login?.load(request);
  }

  /** Keeps answers out of caches and the browser's history, unless the route says otherwise. */
  async function loginFetch(request: HttpRequest, reply: HttpReply): Promise<void> {
    await enter(request, reply);
    reply.header('cache-control', 'no-store');
    if (isElsewhere(request)) throw crossSite();
  }

  async function loginWrite(request: HttpRequest, reply: HttpReply): Promise<void> {
    await loginFetch(request, reply);
    requireOwnJson(request);
  }

  async function page(request: HttpRequest, reply: HttpReply): Promise<void> {
    await enter(request, reply);
    if (isMember(request)) return;
    reply.header('cache-control', 'no-store');
    reply.redirect(`/login?to=${encodeURIComponent(ownPath(request.url))}`, 303);
  }

  async function fetch(request: HttpRequest, reply: HttpReply): Promise<void> {
    await loginFetch(request, reply);
    if (!isMember(request)) throw notLoggedIn();
    endWithSession(request, reply);
  }

  async function write(request: HttpRequest, reply: HttpReply): Promise<void> {
    await loginWrite(request, reply);
    if (!isMember(request)) throw notLoggedIn();
  }

  /** Opens the status page to anyone, and loads the session so that members keep their navigation. */
  async function publicPage(request: HttpRequest, reply: HttpReply): Promise<void> {
    await setHeaders(request, reply);
    await login?.load(request);
  }

  const viewer = (request: HttpRequest): Viewer =>
    isMember(request) && !isElsewhere(request) ? 'member' : 'anyone';

  /** Lets other sites embed the answers that anyone may read. */
  async function publicFetch(request: HttpRequest, reply: HttpReply): Promise<void> {
    await publicPage(request, reply);
    endWithSession(request, reply);
    if (viewer(request) === 'anyone') reply.header('cross-origin-resource-policy', 'cross-origin');
  }

  return {
    /** Scripts, styles and icons, which hold no one's data. */
    file: statusPublic ? setHeaders : file,
    page,
    /** Requests of a page. A stream is cut off when its session ends. */
    fetch,
    write,
    /** `page`, `fetch` and `write` for the login itself, without a session. */
    loginPage,
    loginFetch,
    loginWrite,
    /** The status page: `page`, or open to anyone under any name if it is public. */
    statusPage: statusPublic ? publicPage : page,
    /** Requests of the status page and embedded badges: `fetch`, or open to anyone. */
    statusFetch: statusPublic ? publicFetch : fetch,
    /** Call it behind `statusPage` or `statusFetch`. */
    viewer,
    /** Sets the headers of every page, and refuses nothing. */
    bare: setHeaders,
  };
}

type Guard = (request: HttpRequest, reply: HttpReply) => Promise<void>;

/** Options of a console route: behind a guard, and hidden from the services' OpenAPI document. */
export const guarded = <Schema extends object>(guard: Guard, schema = {} as Schema) => ({
  schema: { hide: true, ...schema },
  onRequest: guard,
});

async function setHeaders(_request: HttpRequest, reply: HttpReply): Promise<void> {
  reply.headers(HEADERS);
}

function requireNear(request: HttpRequest): void {
  if (!isUnderLoopbackName(request)) {
    throw new HttpError(
      403,
      'host_not_allowed',
      'Without CONSOLE_PASSWORD, the console can be opened only at localhost, 127.0.0.1 or [::1].',
    );
  }
  if (cameThroughProxy(request)) {
    throw new HttpError(
      403,
      'proxy_not_allowed',
      'This request came through a proxy, and the console has no password. Set CONSOLE_PASSWORD.',
    );
  }
}

/** Refuses a change that doesn't prove that it comes from the console's own page, or isn't JSON. */
function requireOwnJson(request: HttpRequest): void {
  if (!hasOwnOrigin(request)) throw crossSite();
  // A form or a simple cross-site request can't send this type without a preflight.
  if (!/^application\/json *(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new HttpError(
      415,
      'unsupported_media_type',
      'Send the body as JSON, with the header Content-Type: application/json.',
    );
  }
}

const crossSite = () =>
  new HttpError(403, 'cross_site', 'The console accepts requests only from its own pages.');

const notLoggedIn = () =>
  new HttpError(401, 'not_logged_in', "You aren't logged in. Log in at /login.");

/** `Host` headers that reach only this machine, with any port. */
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/** Proxies add these headers; some also put our own name into `Host`. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

const isUnderLoopbackName = ({ headers }: HttpRequest): boolean =>
  LOOPBACK_HOST.test(headers.host ?? '');

const cameThroughProxy = ({ headers }: HttpRequest): boolean =>
  PROXY_HEADERS.some((name) => headers[name] !== undefined);

/** Reads headers that only the browser can set, never a script of another site. */
function isCrossSite(request: HttpRequest, options: { behindTls: boolean }): boolean {
  // `request.host` is the name that the browser uses: the request's, or the one that a trusted proxy reports.
  const { headers, host } = request;
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  // Behind a proxy the browser may use a name and a scheme that we never see, so its own verdict counts.
  if (options.behindTls && site === 'same-origin') return false;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const schemes = options.behindTls ? ['http', 'https'] : ['http'];
  const own = schemes.map((scheme) => `${scheme}://${host}`.toLowerCase());
  return origin !== undefined && !own.includes(origin.toLowerCase());
}

/** Call it after `isCrossSite`, which has refused every other origin. */
const hasOwnOrigin = ({ headers }: HttpRequest): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin';
