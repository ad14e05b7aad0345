import type { IncomingMessage } from 'node:http';
import { CheckFailure } from './check-result.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Where an answer sends the visitor, or `undefined` when it does not; a `CheckFailure` when that is no web address. */
export function redirectOf(answer: IncomingMessage, status: number, from: URL): URL | undefined {
  const { location } = answer.headers;
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const to = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  if (to === undefined || (to.protocol !== 'http:' && to.protocol !== 'https:')) {
    throw new CheckFailure('redirect', 'it redirects to something that is not a web address');
  }
  to.username = '';
  to.password = '';
  return to;
}

/** As browsers do: 303 turns into GET, and so does a POST at 301 and 302. Source: RFC 9110 §15.4. */
export function methodAfter(status: number, method: string): string {
  if (method === 'HEAD') return method;
  if (status === 303 || (method === 'POST' && status < 303)) return 'GET';
  return method;
}

/** The failure of a way that is too long: `been` are the pages that sent the visitor on, `to` is the next. */
export function tooManyRedirects(been: readonly string[], to: URL): CheckFailure {
  const limit = been.length - 1;
  if (limit === 0) return new CheckFailure('redirect', 'it redirects, and max_redirects is 0');
  const circle = been.includes(to.href) ? ', in a circle' : '';
  return new CheckFailure(
    'redirect',
    `more than ${limit} ${limit === 1 ? 'redirect' : 'redirects'}${circle}`,
  );
}
