import { parseUntrustedJson } from './parse-json.ts';

/**
 * The wire form of a streamed answer.
 * Our choice: the gateway contract does not show it, so it is the `chat.completion.chunk` convention: one
 * `data:` event a chunk, then `data: [DONE]`. A stream that ends without `[DONE]` was cut, unless `choice-ends.ts` says that
 * it is whole all the same.
 */
export const STREAM_DONE = '[DONE]';

/** Media type of a streamed answer. */
export const EVENT_STREAM = 'text/event-stream';

/** One event carrying `value` as JSON; JSON has no raw line break, so one `data:` line always holds it. */
export function dataEvent(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** The event that says the stream is whole. */
export const DONE_EVENT = `data: ${STREAM_DONE}\n\n`;

/** A comment, which clients skip: it keeps proxies from closing a connection that waits. */
export const PING_COMMENT = ': ping\n\n';

/** Whether the data of an event that nothing follows is all of it: `[DONE]`, or JSON that was not cut. */
export function isWholeData(data: string): boolean {
  if (data === STREAM_DONE) return true;
  try {
    parseUntrustedJson(data);
    return true;
  } catch {
    return false;
  }
}
