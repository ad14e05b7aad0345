import type { HttpConfig } from '../../contracts/monitoring.ts';

/** Headers that belong to the connection, and `host`, which belongs to the target. Source: RFC 9110 §7.6.1, RFC 9112. */
const NOT_FOR_SETTINGS = new Set([
  'host',
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers that describe a body and go with it. Source: WHATWG Fetch, "request-body-header name". */
const OF_THE_BODY = new Set([
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
]);

/** Says what is wrong with a header that settings ask for; `undefined` when nothing is. */
export function headerProblem(
  name: string,
  value: string,
  all: HttpConfig['headers'],
): string | undefined {
  const key = name.toLowerCase();
  if (key === 'host') return 'leave it out; the host is that of the target';
  if (NOT_FOR_SETTINGS.has(key) || key.startsWith('proxy-')) {
    return 'leave it out; it belongs to the connection, which the check makes itself';
  }
  // What else could come to mean two headers to the server: a line break begins another one.
  if (!/^[\x20-\x7e\xa0-\xff]*$/.test(value)) {
    return 'a value holds no line breaks, control characters or characters beyond Latin-1';
  }
  const twin = Object.keys(all).find((other) => other !== name && other.toLowerCase() === key);
  if (twin !== undefined) return `it is there twice, also as ${twin}`;
  return undefined;
}

/** The headers of a request: those of settings go over ours. */
export function withOwnHeaders(
  ours: Record<string, string>,
  own: HttpConfig['headers'],
): Record<string, string> {
  const headers = { ...ours };
  for (const [name, value] of Object.entries(own)) headers[name.toLowerCase()] = value;
  return headers;
}

/** Without the headers that only describe a body. */
export function withoutBodyHeaders(headers: HttpConfig['headers']): HttpConfig['headers'] {
  return pick(headers, (name) => !OF_THE_BODY.has(name));
}

/** What may be sent on to another origin: what describes the body, as long as there is one; nothing secret is there. */
export function forOtherOrigin(headers: HttpConfig['headers']): HttpConfig['headers'] {
  return pick(headers, (name) => OF_THE_BODY.has(name));
}

function pick(
  headers: HttpConfig['headers'],
  keeps: (name: string) => boolean,
): HttpConfig['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => keeps(name.toLowerCase())));
}
