import type { HttpRequest } from '../../http/server-types.ts';

/** Names under which only this machine is reached, in a `Host` header with any port. */
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/** What proxies add to a request that they hand on; some also put our own name into its `Host`. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** Whether a request came under a name of this machine. Under any other name, this is how DNS rebinding looks. */
export const isUnderLoopbackName = ({ headers }: HttpRequest): boolean =>
  LOOPBACK_HOST.test(headers.host ?? '');

/** Whether a proxy says that it hands on what somebody else asks, who may be anywhere. */
export const cameThroughProxy = ({ headers }: HttpRequest): boolean =>
  PROXY_HEADERS.some((name) => headers[name] !== undefined);

/** Whether a browser says, by what only it can set, that a page of another site asks. */
export function isCrossSite(request: HttpRequest, options: { behindTls: boolean }): boolean {
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
export const saysItIsOurs = ({ headers }: HttpRequest): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin';
