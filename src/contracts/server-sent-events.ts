import { parseUntrustedJson } from './parse-json.ts';

/**
 * Our choice, because the contract doesn't show the wire form: a `data:` event for each chunk, then `data: [DONE]`. A stream without
 * it was cut off, unless `choice-ends.ts` says that it is whole.
 */
export const STREAM_DONE = '[DONE]';

export const EVENT_STREAM = 'text/event-stream';

export function dataEvent(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

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
