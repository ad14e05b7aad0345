import { isWholeData } from '../../contracts/server-sent-events.ts';

const LINE_BREAK = 0x0a;
const PARTS_TOGETHER = 1024;

/** A stream of events that is none: too long a line, or not UTF-8. */
export class GarbledStreamError extends Error {
  override name = 'GarbledStreamError' as const;
}

/**
 * The `data` of each server-sent event, as the bytes come in. Lines are cut as bytes, so a character that two packets
 * share is whole again; comments and other fields are skipped. A last event may lack its empty line, and its line break too
 * where it is whole without: JSON or `[DONE]`. Returns false when anything else is left, so that the body was cut.
 * Throws `GarbledStreamError` for an event of more than `limitBytes`.
 * Source: WHATWG HTML, "Interpreting an event stream".
 */
export async function* readEventData(
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<string, boolean, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let unfinished: Uint8Array[] = [];
  let data: string[] = [];
  let length = 0;
  for await (const bytes of body) {
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(LINE_BREAK, start);
      const part = bytes.subarray(start, end === -1 ? bytes.length : end);
      unfinished.push(part);
      // A part may be a byte, and its Buffer takes two hundred.
      if (unfinished.length === PARTS_TOGETHER) unfinished = [Buffer.concat(unfinished)];
      length += part.length;
      if (length > limitBytes) throw new GarbledStreamError('an event is too long');
      if (end === -1) break;
      const line = decodeLine(decoder, unfinished);
      unfinished = [];
      start = end + 1;
      if (line.startsWith('data:')) data.push(dataIn(line));
      else if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
        length = 0;
      }
    }
  }
  const last = Buffer.concat(unfinished).toString().trimEnd();
  const isData = last.startsWith('data:');
  if (isData) data.push(dataIn(last));
  if (isData && !isWholeData(data.join('\n'))) return false;
  if (data.length > 0) yield data.join('\n');
  return isData || last === '' || last.startsWith(':');
}

/** The value of a `data` line. */
export function dataIn(line: string): string {
  return line.slice(line[5] === ' ' ? 6 : 5);
}

function decodeLine(decoder: InstanceType<typeof TextDecoder>, parts: Uint8Array[]): string {
  const [only] = parts;
  const bytes = parts.length === 1 && only ? only : Buffer.concat(parts);
  try {
    return decoder.decode(bytes).replace(/\r$/, '');
  } catch (cause) {
    throw new GarbledStreamError('a line is not UTF-8', { cause });
  }
}
