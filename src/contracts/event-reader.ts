import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { isWholeData } from './server-sent-events.ts';

/** A stream of events that is none: too long an event, or not UTF-8. */
export class GarbledStreamError extends Error {
  override name = 'GarbledStreamError' as const;
}

/**
 * The server-sent events of a body, as the bytes come in. A last event may lack its empty line, and its line break too
 * where it is whole without: JSON or `[DONE]`. Returns false when anything else is left, so that the body was cut.
 * Throws `GarbledStreamError` when more than `limit` characters wait for the end of their event.
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
    yield* arrived.splice(0);
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

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw new GarbledStreamError('streams text that is not UTF-8', { cause });
  }
}
