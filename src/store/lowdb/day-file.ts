import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { FILE_MODE, ifThere, makeFolder, syncFolder } from './files.ts';

const NEWLINE = 0x0a;
const CHUNK_BYTES = 64 * 1024;
const DAY_MS = 86_400_000;
const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.ndjson$/;

/** The last moment whose day has a name of four, two and two digits. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The day asked for last: records come in order of time, and making a date costs as much as checking a record. */
let last = { day: -1, name: '' };

/** The UTC day of a Unix time in milliseconds, as in `2026-12-01`; days in this form sort by time. */
export function dayOf(atMs: number): string {
  if (!(atMs >= 0 && atMs <= LAST_MS)) {
    throw new RangeError(`A record's atMs must be Unix time in milliseconds, and ${atMs} isn't.`);
  }
  const day = Math.floor(atMs / DAY_MS);
  if (day !== last.day) last = { day, name: new Date(atMs).toISOString().slice(0, 10) };
  return last.name;
}

/** The file of one day. */
export function dayPath(folder: string, day: string): string {
  return join(folder, `${day}.ndjson`);
}

/** The day of a file name, when it is one of a day. */
export function dayOfName(name: string): string | undefined {
  return DAY_FILE.exec(name)?.[1];
}

/** A file open for appending whole lines. One call at a time. */
export type AppendFile = Awaited<ReturnType<typeof openAppendFile>>;

/** Opens a file for appending; a last line that was never finished is cut off, or the next one would be glued to it. */
export async function openAppendFile(path: string, log: Logger) {
  await makeFolder(dirname(path));
  const handle = await open(path, 'a+', FILE_MODE);
  let size: number;
  try {
    const found = (await handle.stat()).size;
    size = await endOfLastLine(handle, found);
    if (size < found) {
      await handle.truncate(size);
      await handle.datasync();
      log.info(
        { file: basename(path), bytes: found - size },
        'a journal ended in the middle of a record; the partial record was cut off',
      );
    }
    if (size === 0) await syncFolder(dirname(path));
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    /** Resolves once the text is durable; when it cannot be, the file is as before, and must be closed. */
    async append(text: string): Promise<void> {
      const bytes = Buffer.from(text);
      try {
        await handle.writeFile(bytes);
        await handle.datasync();
      } catch (error) {
        // If this fails too, opening the file again cuts off what is half written.
        await handle.truncate(size).catch(() => {});
        throw error;
      }
      size += bytes.length;
    },
    /** Bytes that are durable. */
    size: () => size,
    close: () => handle.close(),
  };
}

async function endOfLastLine(handle: FileHandle, size: number): Promise<number> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - CHUNK_BYTES);
    const { bytesRead } = await handle.read(chunk, 0, end - start, start);
    const at = chunk.subarray(0, bytesRead).lastIndexOf(NEWLINE);
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return 0;
}

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

/** How far the whole lines of a file go, and how many they are; of a file that is not there, nothing. */
export async function extentOf(path: string): Promise<{ bytes: number; records: number }> {
  return (await ifThere(countLines(path))) ?? { bytes: 0, records: 0 };
}

async function countLines(path: string) {
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
  const held: Array<T | undefined> = [];
  let given = 0;
  for await (const item of source) {
    let at = held.length;
    while (at > given && rank(held[at - 1] as T) > rank(item)) at -= 1;
    held.splice(at, 0, item);
    if (held.length - given <= window) continue;
    const next = held[given] as T;
    // Not kept until the front is cut off: it would live long enough to become costly garbage.
    held[given] = undefined;
    given += 1;
    yield next;
    // The front is cut off in one go: cutting each time would copy the whole window for every item.
    if (given === window) {
      held.splice(0, given);
      given = 0;
    }
  }
  yield* held.slice(given) as T[];
}
