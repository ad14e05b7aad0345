import { createParser } from 'eventsource-parser';
import { isWholeData } from '../../contracts/server-sent-events.ts';
import { BrokenStreamError } from './answer-stream.ts';

/**
 * The `data` of each server-sent event, as the bytes come in. A last event may lack its empty line, and its line break too
 * where it is whole without: JSON or `[DONE]`. Returns false when anything else is left, so that the body was cut.
 * Throws `BrokenStreamError` for what is not UTF-8, and when more than `limit` characters wait for the end of their event.
 */
export async function* readEventData(
  body: AsyncIterable<Uint8Array>,
  limit: number,
): AsyncGenerator<string, boolean, undefined> {
  const arrived: string[] = [];
  let tooLong = false;
  const parser = createParser({
    onEvent: ({ data }) => void arrived.push(data),
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
    if (tooLong) throw new BrokenStreamError('is garbled');
  }
  parser.feed('\n\n');
  const [rest] = arrived;
  const isData = line.startsWith('data');
  const isWhole = line.startsWith('data:') && rest !== undefined && isWholeData(rest);
  if (isData && !isWhole) return false;
  if (rest !== undefined) yield rest;
  return isData || line.trimEnd() === '' || line.startsWith(':');
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw new BrokenStreamError('is garbled', { cause });
  }
}
