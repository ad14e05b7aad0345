import type { IncomingMessage, RequestListener } from 'node:http';
import type { Logger } from 'pino';

/** How far a request's time may lie from ours. Source: Slack docs, "Verifying requests from Slack". */
const MAX_AHEAD_SECONDS = 5 * 60;

/**
 * Refuses what says that it was signed more than five minutes from now. Bolt refuses what is older than that, and takes
 * any time to come (@slack/bolt 5.1.0, `verifySlackRequest`), so that a signed request once recorded was good until then.
 */
export function refuseFutureTimestamps(handle: RequestListener, log: Logger): RequestListener {
  return (request, response) => {
    const aheadSeconds = signedAtSeconds(request) - Date.now() / 1000;
    if (aheadSeconds <= MAX_AHEAD_SECONDS) return handle(request, response);
    log.warn(
      { aheadSeconds: Math.round(aheadSeconds) },
      'a request to /slack/events was signed in the future and is refused; if Slack sent it, set the clock of this machine',
    );
    response.writeHead(401, { connection: 'close' }).end();
  };
}

/** What is no number is left to Bolt, which refuses it. */
function signedAtSeconds({ headers }: IncomingMessage): number {
  const seconds = Number(headers['x-slack-request-timestamp']);
  return Number.isNaN(seconds) ? 0 : seconds;
}
