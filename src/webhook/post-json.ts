import { type LookupAddress, lookup } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { DeliveryError } from '../bot/shared/errors.ts';
import { literalAddress } from '../http/address.ts';

const LIMIT_MS = 10_000;

/** The reason of an error is never shown, so this only lets a receiver finish. */
const MAX_ANSWER_BYTES = 4096;

export interface WebhookPost {
  url: URL;
  headers: Record<string, string>;
  body: string;
  /** IP addresses that may be connected to. */
  allows(address: string): boolean;
  signal: AbortSignal;
}

/**
 * Posts once, without following a redirect. Throws a `DeliveryError`: temporary if a later try may succeed, closed if a
 * person must change something. Its message has no part of the address.
 */
export async function postJson(post: WebhookPost): Promise<void> {
  const { status, retryAfter = '' } = await answerTo(post);
  if (status >= 200 && status <= 299) return;
  const isTemporary = status >= 500 || [408, 425, 429].includes(status);
  const isRedirect = status >= 300 && status <= 399;
  const advice = isRedirect ? 'Use the address that it redirects to.' : 'Check its address.';
  throw new DeliveryError(`The webhook answered ${status}.${isTemporary ? '' : ` ${advice}`}`, {
    permanent: !isTemporary,
    closed: true,
    retryAfterMs: /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined,
  });
}

async function answerTo(post: WebhookPost): Promise<{ status: number; retryAfter?: string }> {
  const { url, headers, body, allows, signal } = post;
  const literal = literalAddress(url.hostname);
  if (literal !== undefined && !allows(literal)) throw notAllowed();
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  try {
    return await new Promise((resolve, reject) => {
      const sent = request(url, {
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        lookup: guardedLookup(allows),
        // A pooled connection could lead to an address that only another webhook may use.
        agent: false,
        signal,
      });
      const limit = setTimeout(() => sent.destroy(lateAnswer()), LIMIT_MS);
      sent.on('error', reject).once('close', () => clearTimeout(limit));
      sent.once('response', (answer) => {
        // The status says all, so what happens to the rest of the answer doesn't matter.
        sent.off('error', reject).on('error', () => {});
        let bytes = 0;
        answer.on('data', (part: Buffer) => {
          bytes += part.length;
          if (bytes > MAX_ANSWER_BYTES) answer.destroy();
        });
        answer.on('error', () => {});
        answer.once('close', () =>
          resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] }),
        );
      });
      sent.end(body);
    });
  } catch (cause) {
    if (cause instanceof DeliveryError) throw cause;
    const { code } = cause as { code?: string };
    const message = `The webhook can’t be reached (${code ?? 'the connection failed'}). Check its address.`;
    throw new DeliveryError(message, { permanent: false, cause });
  }
}

/** The connection gets exactly the allowed addresses, so a name that changes its answer (DNS rebinding) can't slip through. */
const guardedLookup =
  (allows: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '');
      const allowed = (found as LookupAddress[]).filter(({ address }) => allows(address));
      const [first] = allowed;
      if (!first) return callback(notAllowed(), '');
      return options.all
        ? callback(null, allowed)
        : callback(null, first.address, isIP(first.address));
    });

const lateAnswer = () =>
  new DeliveryError(`The webhook didn’t answer within ${LIMIT_MS / 1000} s.`, { permanent: false });

const notAllowed = () =>
  new DeliveryError(
    'The webhook is in a network that Askwatch may not reach. Use a public https address, or ask your Askwatch admin to allow the network with MONITOR_ALLOW_PRIVATE.',
    { permanent: true, closed: true },
  );
