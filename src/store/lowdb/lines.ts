import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isMissing } from './files.ts';

const NEWLINE = 0x0a;

/**
 * The lines of a file one after another, without their line breaks; `undefined` for one longer than `maxBytes`, which is
 * skipped. What follows the last line break is no line yet, and only its length is given. Holds no more than a line and a
 * chunk in memory.
 */
export async function* linesOf(
  path: string,
  maxBytes: number,
  onUnfinished: (bytes: number) => void = () => {},
): AsyncGenerator<string | undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  const file = createReadStream(path);
  for await (const chunk of file as AsyncIterable<Buffer>) {
    let from = 0;
    for (;;) {
      const to = chunk.indexOf(NEWLINE, from);
      const part = chunk.subarray(from, to === -1 ? chunk.length : to);
      length += part.length;
      if (length <= maxBytes) parts.push(part);
      else parts = [];
      if (to === -1) break;
      yield length <= maxBytes ? Buffer.concat(parts).toString('utf8') : undefined;
      parts = [];
      length = 0;
      from = to + 1;
    }
  }
  if (length > 0) onUnfinished(length);
}

/**
 * How far the whole lines of a file go, and how many they are; of a file that is not there, nothing. With
 * `ifShorterThan`, `undefined` for a file of that length or more, which then is not read.
 */
export async function extentOf(
  path: string,
  options?: { ifShorterThan: number },
): Promise<{ bytes: number; records: number } | undefined> {
  try {
    if (options && (await stat(path)).size >= options.ifShorterThan) return undefined;
    let bytes = 0;
    let records = 0;
    let read = 0;
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) {
        records += 1;
        bytes = read + at + 1;
      }
      read += chunk.length;
    }
    return { bytes, records };
  } catch (error) {
    if (isMissing(error)) return { bytes: 0, records: 0 };
    throw error;
  }
}

/**
 * Puts things in order that come nearly in order: each may come up to `window` places late.
 * Later ones come out late too. Holds `window` of them in memory.
 */
export async function* inOrder<T>(
  source: AsyncIterable<T>,
  rank: (item: T) => number,
  window: number,
): AsyncGenerator<T> {
  const held: T[] = [];
  let given = 0;
  for await (const item of source) {
    let at = held.length;
    while (at > given && rank(held[at - 1] as T) > rank(item)) at -= 1;
    held.splice(at, 0, item);
    if (held.length - given <= window) continue;
    yield held[given] as T;
    given += 1;
    // The front is cut off in one go: cutting each time would copy the whole window for every item.
    if (given === window) {
      held.splice(0, given);
      given = 0;
    }
  }
  yield* held.slice(given);
}
