import { isHttps } from '../../http/public-address.ts';
import type { HttpRequest } from '../../http/server-types.ts';
import { SESSION_LIFE_MS } from './sessions.ts';

const NAME = 'askwatch-session';

/** Browsers accept a cookie with this prefix over HTTPS only, and from no other host. Source: RFC 6265bis, "The __Host- Prefix". */
const SECURE_NAME = `__Host-${NAME}`;

/** The values of all cookies that may name a session, well-formed or not. */
export function tokensOf(request: HttpRequest): string[] {
  return (request.headers.cookie ?? '').split(';').flatMap((pair) => {
    const [name = '', value = ''] = pair.split('=', 2);
    return [NAME, SECURE_NAME].includes(name.trim()) ? [value.trim()] : [];
  });
}

export function cookieFor(token: string, request: HttpRequest): string {
  const lifeSeconds = SESSION_LIFE_MS / 1000;
  return cameOverHttps(request)
    ? secureCookie(token, lifeSeconds)
    : cookie(NAME, token, lifeSeconds);
}

/** `Set-Cookie` headers that delete both cookies. */
export const clearedCookies = () => [cookie(NAME, '', 0), secureCookie('', 0)];

const cookie = (name: string, value: string, lifeSeconds: number) =>
  `${name}=${value}; Max-Age=${lifeSeconds}; Path=/; HttpOnly; SameSite=Strict`;

const secureCookie = (value: string, lifeSeconds: number) =>
  `${cookie(SECURE_NAME, value, lifeSeconds)}; Secure`;

/**
 * Tells if the browser uses HTTPS, by the word of the browser or of any proxy. No proxy need be trusted for it: a liar only
 * gets a stricter cookie. `isHttps` reads the last value of the header, from a trusted proxy; the first value is from the
 * proxy next to the browser.
 */
export function cameOverHttps(request: HttpRequest): boolean {
  if (isHttps(request)) return true;
  const { headers } = request;
  const forwarded = String(headers['x-forwarded-proto'] ?? '').split(',')[0];
  return forwarded?.trim().toLowerCase() === 'https' || /^https:/i.test(headers.origin ?? '');
}
