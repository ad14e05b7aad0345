import type { IncomingMessage, RequestListener } from 'node:http';
import { parse } from 'node:querystring';
import { isValidSlackRequest } from '@slack/bolt';
import type { Logger } from 'pino';
import { JsonLimitError, parseUntrustedJson } from '../../contracts/parse-json.ts';

/** Source: Slack docs, "Verifying requests from Slack". */
const MAX_AHEAD_SECONDS = 5 * 60;

/**
 * Refuses requests that Slack never sends, before Bolt reads them. `rawBody` holds the body. A request with a wrong signature
 * is left to Bolt, which refuses it unparsed.
 *
 * A signed body that isn't an object, or holds too much, gets a 400. Bolt reads its fields outside of all error handling
 * (@slack/bolt 5.1.0, `HTTPReceiver.handleIncomingEvent`), so the body `null` ended the program.
 *
 * A request signed more than five minutes ahead gets a 401. Bolt refuses only older ones (@slack/bolt 5.1.0,
 * `verifySlackRequest`), so a recorded request would stay valid until then.
 */
export function guardRequests(
  handle: RequestListener,
  { signingSecret, log }: { signingSecret: string; log: Logger },
): RequestListener {
  return (request, response) => {
    const refuse = (status: number) => response.writeHead(status, { connection: 'close' }).end();
    const { rawBody } = request as IncomingMessage & { rawBody: Buffer };
    const signedAtSeconds = Number(request.headers['x-slack-request-timestamp']);
    const fault = isSigned(request, rawBody, { signedAtSeconds, signingSecret })
      ? bodyFault(request, rawBody)
      : undefined;
    if (fault !== undefined) {
      log.warn(`refused a signed request to /slack/events: it ${fault}`);
      return void refuse(400);
    }
    const aheadSeconds = Math.round(signedAtSeconds - Date.now() / 1000);
    if (aheadSeconds > MAX_AHEAD_SECONDS) {
      log.warn(
        { aheadSeconds },
        "refused a request to /slack/events that was signed in the future; if Slack sent it, set this machine's clock",
      );
      return void refuse(401);
    }
    handle(request, response);
  };
}

function isSigned(
  { headers }: IncomingMessage,
  rawBody: Buffer,
  { signedAtSeconds, signingSecret }: { signedAtSeconds: number; signingSecret: string },
): boolean {
  return isValidSlackRequest({
    signingSecret,
    body: rawBody.toString(),
    headers: {
      'x-slack-signature': String(headers['x-slack-signature']),
      'x-slack-request-timestamp': signedAtSeconds,
    },
  });
}

/** Why Bolt must not get this body. Bolt itself refuses text that isn't JSON. */
function bodyFault({ headers }: IncomingMessage, rawBody: Buffer): string | undefined {
  let text = rawBody.toString();
  if (headers['content-type'] === 'application/x-www-form-urlencoded') {
    const { payload } = parse(text);
    if (typeof payload !== 'string') return undefined;
    text = payload;
  }
  try {
    const body = parseUntrustedJson(text);
    return typeof body === 'object' && body !== null ? undefined : 'is not an object';
  } catch (error) {
    return error instanceof JsonLimitError ? error.message : undefined;
  }
}
