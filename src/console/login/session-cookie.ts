import { isHttps } from '../../http/public-address.ts';
import type { HttpRequest } from '../../http/server-types.ts';
import { SESSION_LIFE_MS } from './sessions.ts';

const NAME = 'askwatch-session';

/** Browsers take a cookie of such a name over HTTPS only, and from no other host. Source: RFC 6265bis, "The __Host- Prefix". */
const SECURE_NAME = `__Host-${NAME}`;

/** The values of all cookies that may name a session, well-formed or not. */
export function tokensOf(request: HttpRequest): string[] {
  return (request.headers.cookie ?? '').split(';').flatMap((pair) => {
    const [name = '', value = ''] = pair.split('=', 2);
    return [NAME, SECURE_NAME].includes(name.trim()) ? [value.trim()] : [];
  });
}

/** The `Set-Cookie` that gives a browser its token. */
export function cookieFor(token: string, request: HttpRequest): string {
  const lifeSeconds = SESSION_LIFE_MS / 1000;
  return cameOverHttps(request)
    ? secureCookie(token, lifeSeconds)
    : cookie(NAME, token, lifeSeconds);
}

/** The `Set-Cookie`s that take it away, whichever of the two it is. */
export const clearedCookies = () => [cookie(NAME, '', 0), secureCookie('', 0)];

const cookie = (name: string, value: string, lifeSeconds: number) =>
  `${name}=${value}; Max-Age=${lifeSeconds}; Path=/; HttpOnly; SameSite=Strict`;

const secureCookie = (value: string, lifeSeconds: number) =>
  `${cookie(SECURE_NAME, value, lifeSeconds)}; Secure`;

/**
 * Whether the browser sees HTTPS: a proxy in front says so, or the browser itself does. A lie about it only harms the
 * liar, whose own cookie is made stricter by it, so that no proxy need be trusted for it. One that is says it in the last
 * place, behind whatever was there; in the first stands what the proxy has seen that is nearest to the browser.
 */
export function cameOverHttps(request: HttpRequest): boolean {
  if (isHttps(request)) return true;
  const { headers } = request;
  const forwarded = String(headers['x-forwarded-proto'] ?? '').split(',')[0];
  return forwarded?.trim().toLowerCase() === 'https' || /^https:/i.test(headers.origin ?? '');
}
