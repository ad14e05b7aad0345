import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { isWholeData } from './server-sent-events.ts';

/** The body isn't a usable stream of events: an event is too long, or the text isn't UTF-8. */
export class GarbledStreamError extends Error {
  override name = 'GarbledStreamError' as const;
}

/** Time that a stream may take to close after it said that it is whole. */
const TAIL_LIMIT_MS = 1_000;

/**
 * Reads server-sent events as their bytes arrive. The last event may lack its empty line, and its line break if its data is
 * whole. Returns false if the body was cut off. Throws `GarbledStreamError` if an event has more than `limit` characters.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  limit: number,
): AsyncGenerator<EventSourceMessage, boolean, undefined> {
  const arrived: EventSourceMessage[] = [];
  let tooLong = false;
  const parser = createParser({
    onEvent: (event) => void arrived.push(event),
    onError: ({ type }) => {
      tooLong ||= type === 'max-buffer-size-exceeded';
    },
    maxBufferSize: limit,
  });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = '';
  for await (const bytes of body) {
    const text = decode(decoder, bytes);
    const lineAt = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
    line = lineAt === 0 ? line + text : text.slice(lineAt);
    parser.feed(text);
    for (const event of arrived.splice(0)) yield event;
    if (tooLong) throw new GarbledStreamError('streams more than the limit for one answer');
  }
  parser.feed('\n\n');
  const [rest] = arrived;
  const isData = line.startsWith('data');
  const isWhole = line.startsWith('data:') && rest !== undefined && isWholeData(rest.data);
  if (isData && !isWhole) return false;
  if (rest !== undefined) yield rest;
  return isData || line.trimEnd() === '' || line.startsWith(':');
}

/**
 * Reads the end of a whole stream, so that its connection can serve the next call. Calls `close` at the end, if anything
 * follows, and after a second.
 */
export async function readTail(events: AsyncGenerator<unknown>, close: () => void): Promise<void> {
  const timer = setTimeout(close, TAIL_LIMIT_MS);
  try {
    await events.next();
  } catch {
    // The answer was whole, so it doesn't matter how its connection ends.
  } finally {
    clearTimeout(timer);
    close();
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw new GarbledStreamError('streams text that is not UTF-8', { cause });
  }
}
