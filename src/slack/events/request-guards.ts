import type { IncomingMessage, RequestListener } from 'node:http';
import { parse } from 'node:querystring';
import { isValidSlackRequest } from '@slack/bolt';
import type { Logger } from 'pino';
import { JsonLimitError, parseUntrustedJson } from '../../contracts/parse-json.ts';

/** How far a request's time may lie from ours. Source: Slack docs, "Verifying requests from Slack". */
const MAX_AHEAD_SECONDS = 5 * 60;

/**
 * Refuses, before Bolt reads it, what Slack never sends. The request comes with its body in `rawBody`.
 *
 * Bolt verifies the signature before it parses the body, so a request with a wrong one is left to it unparsed.
 *
 * A signed body that isn't an object, or holds more than is parsed, is a 400. Bolt reads fields of whatever it parsed, outside of
 * all that catches errors (@slack/bolt 5.1.0, `HTTPReceiver.handleIncomingEvent`), so that a body `null` ended the program.
 *
 * A request that was signed more than five minutes ahead is a 401. Bolt refuses older ones only (@slack/bolt 5.1.0,
 * `verifySlackRequest`), so a recorded request would be good until then.
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

/** Why Bolt cannot have this body; it refuses by itself what isn't JSON. */
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
