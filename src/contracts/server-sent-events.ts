import { parseUntrustedJson } from './parse-json.ts';

/**
 * The wire form of a streamed answer.
 * Our choice: the gateway contract doesn't show it, so it is the `chat.completion.chunk` convention: one `data:` event for
 * each chunk, then `data: [DONE]`. A stream without `[DONE]` was cut off, unless `choice-ends.ts` says that it is whole.
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

/** A comment, which clients skip. It stops proxies from closing a waiting connection. */
export const PING_COMMENT = ': ping\n\n';

/** Returns true if the data of a stream's last event is complete: `[DONE]`, or JSON that wasn't cut off. */
export function isWholeData(data: string): boolean {
  if (data === STREAM_DONE) return true;
  try {
    parseUntrustedJson(data);
    return true;
  } catch {
    return false;
  }
}
