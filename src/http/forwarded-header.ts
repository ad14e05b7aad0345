import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestCaller } from './trusted-proxies.ts';

/**
 * `v1;<unix ms>;<client address>;<protocol>;<host>;<times forwarded>;<signature>`. The signature is HMAC-SHA256 over the method, the
 * URL and the fields before it, as base64url; the fields are URI components.
 */
export const FORWARDED_HEADER = 'x-askwatch-forwarded';

/** A header older or newer than this was recorded, or comes from a machine whose clock is wrong. */
const VALID_MS = 60_000;

export interface ForwardedHeader {
  /** Absent if the time in the header is too far away. */
  caller?: RequestCaller;
  times: number;
  /** Age of the signature by this machine's clock; negative if it lies in the future. */
  ageMs: number;
}

export function signForwarded(
  request: IncomingMessage,
  { ip = '', protocol, host }: RequestCaller,
  { times, secret }: { times: number; secret: string },
): string {
  const fields = ['v1', Date.now(), ip, protocol, host, times].map(encodeURIComponent).join(';');
  return `${fields};${signatureOf(request, fields, secret)}`;
}

/** Takes the header off a request, so that nothing else sees it; `undefined` without one or with a forged one. */
export function takeForwarded(
  request: IncomingMessage,
  secret: string,
): ForwardedHeader | undefined {
  const text = request.headers[FORWARDED_HEADER];
  if (text === undefined) return undefined;
  delete request.headers[FORWARDED_HEADER];
  request.rawHeaders = withoutHeaders(request.rawHeaders, new Set([FORWARDED_HEADER]));
  const [, fields = '', signature = ''] = /^(v1;.*);([^;]*)$/.exec(String(text)) ?? [];
  const expected = Buffer.from(signatureOf(request, fields, secret));
  const received = Buffer.from(signature);
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined;
  const [, timeMs, ip, protocol = '', host = '', count] = fields.split(';').map(decodeURIComponent);
  const ageMs = Date.now() - Number(timeMs);
  const times = Number(count);
  return Math.abs(ageMs) > VALID_MS
    ? { ageMs, times }
    : { ageMs, times, caller: { ip, protocol, host } };
}

/** Removes headers by their lower-case names from raw headers, an array of alternating names and values. */
export const withoutHeaders = (rawHeaders: readonly string[], names: ReadonlySet<string>) =>
  rawHeaders.filter((_, at) => !names.has(rawHeaders[at - (at % 2)]?.toLowerCase() ?? ''));

const signatureOf = ({ method, url }: IncomingMessage, fields: string, secret: string) =>
  createHmac('sha256', secret).update(`${method}\n${url}\n${fields}`).digest('base64url');
