import { HttpError } from '../../http/errors.ts';
import type { HttpReply, HttpRequest } from '../../http/server-types.ts';
import { ownPath } from '../shared/own-path.ts';
import type { Login } from './login.ts';

/**
 * What the page may do: its own scripts, style and requests, nothing else. Trusted types let no text become HTML, and
 * only the page's own workers become scripts.
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

/** No Strict-Transport-Security: whoever puts HTTPS in front says it for the name that is theirs. */
const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Who looks at the status page: those who may see all of the console, or whoever is there when it is public. */
export type Viewer = 'member' | 'anyone';

/** Who may ask what of the console, as hooks for its routes. Each throws an `HttpError`. */
export type Guards = ReturnType<typeof createGuards>;

/**
 * The guards of a console: with a login, for those who are logged in, under any name; without one, for everyone on this
 * machine, under its own names only.
 */
export function createGuards(options: { login?: Login; statusPublic?: boolean } = {}) {
  const { login, statusPublic = false } = options;
  const isElsewhere = (request: HttpRequest) =>
    isCrossSite(request, { behindTls: login !== undefined });

  function isMember(request: HttpRequest): boolean {
    if (!login) return isUnderLoopbackName(request) && !cameThroughProxy(request);
    return login.sessionOf(request) !== undefined;
  }

  /** Before anything is awaited: a session that ends meanwhile must find the answer. */
  function endWithSession(request: HttpRequest, reply: HttpReply) {
    const session = login?.sessionOf(request);
    if (session) login?.endWith(session, reply.raw);
  }

  async function loginPage(request: HttpRequest, reply: HttpReply): Promise<void> {
    await enter(request, reply);
    const { to } = request.query as { to?: unknown };
    if (isMember(request)) reply.redirect(ownPath(typeof to === 'string' ? to : '/'), 303);
  }

  /** What comes first for all that is not public: the headers, and the names that DNS rebinding does not have. */
  async function file(request: HttpRequest, reply: HttpReply): Promise<void> {
    await setHeaders(request, reply);
    if (!login) requireNear(request);
  }

  /** The same where it matters who asks. */
  async function enter(request: HttpRequest, reply: HttpReply): Promise<void> {
    await file(request, reply);
    await login?.load(request);
  }

  /** What a page fetches is kept by no cache and no history of a browser, unless the route says otherwise. */
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

  /** What anyone may read may also be shown on other sites. */
  async function publicFetch(request: HttpRequest, reply: HttpReply): Promise<void> {
    await setHeaders(request, reply);
    await login?.load(request);
    endWithSession(request, reply);
    if (viewer(request) === 'anyone') reply.header('cross-origin-resource-policy', 'cross-origin');
  }

  return {
    /** Scripts, styles and icons: nothing that is anybody's. */
    file: statusPublic ? setHeaders : file,
    /** Pages that a browser opens; who is not logged in is led to the login. */
    page,
    /** What a page fetches; a stream is cut off when the session it was opened in ends. */
    fetch,
    /** What changes something. */
    write,
    /** The login itself, as `page`, `fetch` and `write`, for who is not logged in. */
    loginPage,
    loginFetch,
    loginWrite,
    /** The status page: as `page`, or for anyone under any name when it is public. */
    statusPage: statusPublic ? publicPage : page,
    /** What the status page fetches, and what others show of it, such as a badge: as `fetch`, or for anyone. */
    statusFetch: statusPublic ? publicFetch : fetch,
    /** Whether the route may tell all, or only what is public; ask it behind `statusPage` or `statusFetch`. */
    viewer,
    /** Sets the headers of every page and asks for no login. */
    bare: setHeaders,
  };
}

type Guard = (request: HttpRequest, reply: HttpReply) => Promise<void>;

/** Options of a route of the console: behind a guard, and absent from the description of the services. */
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

/** What changes something must say that it comes from this very page, and be JSON. */
function requireOwnJson(request: HttpRequest): void {
  if (!saysItIsOurs(request)) throw crossSite();
  // A form or a simple cross-site request cannot send this type without asking first.
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

/** Names under which only this machine is reached, in a `Host` header with any port. */
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/** What proxies add to a request that they hand on; some also put our own name into its `Host`. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** Whether a request came under a name of this machine. Under any other name, this is how DNS rebinding looks. */
const isUnderLoopbackName = ({ headers }: HttpRequest): boolean =>
  LOOPBACK_HOST.test(headers.host ?? '');

/** Whether a proxy says that it hands on what somebody else asks, who may be anywhere. */
const cameThroughProxy = ({ headers }: HttpRequest): boolean =>
  PROXY_HEADERS.some((name) => headers[name] !== undefined);

/** Whether a browser says, by what only it can set, that a page of another site asks. */
function isCrossSite(request: HttpRequest, options: { behindTls: boolean }): boolean {
  // The name under which the browser knows us: that of the request, or what a trusted proxy says.
  const { headers, host } = request;
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  // Behind a proxy the browser knows us by a name and a scheme that we may not hear of, and so its own word counts.
  if (options.behindTls && site === 'same-origin') return false;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const schemes = options.behindTls ? ['http', 'https'] : ['http'];
  const own = schemes.map((scheme) => `${scheme}://${host}`.toLowerCase());
  return origin !== undefined && !own.includes(origin.toLowerCase());
}

/** Whether a browser says that a page of ours asks; others may say nothing of it. To be asked after `isCrossSite`. */
const saysItIsOurs = ({ headers }: HttpRequest): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin';
