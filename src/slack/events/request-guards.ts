import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import type { Logger } from 'pino';

/** Bytes of a request of Slack; the largest, a form with all it holds, is a quarter of that. Also Bolt's own limit. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;

/** How far a request's time may lie from ours. Source: Slack docs, "Verifying requests from Slack". */
const MAX_AHEAD_SECONDS = 5 * 60;

/**
 * Refuses, before Bolt reads it, what Slack never sends.
 *
 * With a 400 what is JSON and no object. Bolt reads fields of whatever came, outside of all that catches errors
 * (@slack/bolt 5.1.0, `HTTPReceiver.handleIncomingEvent`), so that a body `null` ended the program.
 *
 * With a 401 what says that it was signed more than five minutes from now. Bolt refuses what is older than that, and takes
 * any time to come (@slack/bolt 5.1.0, `verifySlackRequest`), so that a signed request once recorded was good until then.
 */
export function guardRequests(handle: RequestListener, log: Logger): RequestListener {
  return (request, response) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on('data', (part: Buffer) => {
      length += part.length;
      // The rest of what is too large is read and forgotten.
      if (length <= BODY_LIMIT_BYTES) parts.push(part);
    });
    request.once('end', () => {
      const rawBody = Buffer.concat(parts);
      if (length > BODY_LIMIT_BYTES) return refuse(response, 413);
      if (!isReadable(request, rawBody)) {
        log.warn(
          'a request to /slack/events holds no object and is refused; Slack sends no such thing',
        );
        return refuse(response, 400);
      }
      const aheadSeconds = signedAtSeconds(request) - Date.now() / 1000;
      if (aheadSeconds > MAX_AHEAD_SECONDS) {
        log.warn(
          { aheadSeconds: Math.round(aheadSeconds) },
          'a request to /slack/events was signed in the future and is refused; if Slack sent it, set the clock of this machine',
        );
        return refuse(response, 401);
      }
      // Bolt takes a body that was read before. Source: `HTTPModuleFunctions.bufferIncomingMessage`.
      handle(Object.assign(request, { rawBody }), response);
    });
  };
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: 'close' }).end();
}

/** What is no JSON at all Bolt refuses itself. */
function isReadable({ headers }: IncomingMessage, rawBody: Buffer): boolean {
  let text = rawBody.toString();
  if (headers['content-type'] === 'application/x-www-form-urlencoded') {
    const { payload } = parse(text);
    if (typeof payload !== 'string') return true;
    text = payload;
  }
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null;
  } catch {
    return true;
  }
}

/** What is no number is left to Bolt, which refuses it. */
function signedAtSeconds({ headers }: IncomingMessage): number {
  const seconds = Number(headers['x-slack-request-timestamp']);
  return Number.isNaN(seconds) ? 0 : seconds;
}
