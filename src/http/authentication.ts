import type { IncomingMessage } from 'node:http';
import { ErrorCode } from '../contracts/error.ts';
import { clientKeyOf } from './client-address.ts';
import { HttpError } from './errors.ts';
import type { KeyInfo, Keys } from './keys.ts';
import { createRateLimit, rateLimitHeaders } from './rate-limit.ts';

/** Failed tries per address and minute; beyond them the answer is 429. */
const FAILURES_PER_MINUTE = 60;

export interface KeyedRequest {
  raw: IncomingMessage;
  /** The client's address, behind trusted proxies. */
  ip: string | undefined;
}

/** Returns the key's owner, or throws the 401 or 429. Call `confirm` before acting on the request. */
export type Authenticate = ((request: KeyedRequest) => KeyInfo) & Pick<Keys, 'confirm'>;

/** Reads `Authorization: Bearer` and, where allowed, `X-API-Key`. Two different keys are refused: which one counts would be a guess. */
export function createAuthentication(
  keys: Keys,
  options: { acceptApiKeyHeader: boolean },
): Authenticate {
  const failures = createRateLimit({ limit: FAILURES_PER_MINUTE, windowMs: 60_000 });

  function refuse(request: KeyedRequest, code: string, message: string): never {
    const verdict = failures.take(clientKeyOf(request.ip));
    if (!verdict.allowed) {
      throw new HttpError(
        429,
        ErrorCode.rateLimited,
        'Too many requests without a valid key from this address. Wait a minute.',
        { headers: rateLimitHeaders(verdict) },
      );
    }
    throw new HttpError(401, code, message, {
      headers: { 'www-authenticate': 'Bearer', ...rateLimitHeaders(verdict) },
    });
  }

  const authenticate = (request: KeyedRequest): KeyInfo => {
    const { bearer, apiKey } = keysIn(request.raw, options);
    // Node's `headers` keeps only the first Authorization header; `rawHeaders` has all of them.
    const repeated = timesSent(request.raw, 'authorization') > 1;
    if (repeated || (bearer && apiKey && bearer !== apiKey)) {
      refuse(
        request,
        ErrorCode.conflictingKeys,
        'This request has more than one API key. Send only one.',
      );
    }
    const key = bearer ?? apiKey;
    if (!key) {
      refuse(
        request,
        ErrorCode.missingKey,
        options.acceptApiKeyHeader
          ? 'This request needs an API key. Send it as X-API-Key or as Authorization: Bearer <key>.'
          : 'This request needs an API key. Send it as Authorization: Bearer <key>.',
      );
    }
    const known = keys.verify(key);
    if (!known) {
      refuse(
        request,
        ErrorCode.invalidKey,
        `This is not a valid key for the ${keys.service} service. Check it, or create a new one with: npx askwatch keys create --service ${keys.service} --name <name>`,
      );
    }
    return known;
  };
  return Object.assign(authenticate, { confirm: (key: KeyInfo) => keys.confirm(key) });
}

/** Returns the key of an authenticated request, to call another service for the same caller. */
export function keyIn(request: IncomingMessage): string {
  const { bearer, apiKey } = keysIn(request, { acceptApiKeyHeader: true });
  return bearer ?? apiKey ?? '';
}

function keysIn(
  { headers }: IncomingMessage,
  { acceptApiKeyHeader }: { acceptApiKeyHeader: boolean },
) {
  const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  const header = acceptApiKeyHeader ? headers['x-api-key'] : undefined;
  return { bearer, apiKey: Array.isArray(header) ? header[0] : header };
}

function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let times = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] as string;
    if (sent.length === name.length && sent.toLowerCase() === name) times += 1;
  }
  return times;
}
