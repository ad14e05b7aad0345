import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { FILE_MODE, makeFolder, syncFolder } from './files.ts';

const NEWLINE = 0x0a;
const CHUNK_BYTES = 64 * 1024;
const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.ndjson$/;

export const dayPath = (folder: string, day: string): string => join(folder, `${day}.ndjson`);

/** The day of a file name; `undefined` for another file. */
export const dayOfName = (name: string): string | undefined => DAY_FILE.exec(name)?.[1];

/** A file open for appending whole lines. One call at a time. */
export type AppendFile = Awaited<ReturnType<typeof openAppendFile>>;

/** Opens a file for appending and cuts off an unfinished last line, which the next one would be glued to. */
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
        'a file ended in the middle of a record; the partial record was cut off',
      );
    }
    if (size === 0) await syncFolder(dirname(path));
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    /** Resolves once the text is durable. If it rejects, the file is as before and must be closed. */
    async append(text: string): Promise<void> {
      const bytes = Buffer.from(text);
      try {
        await handle.writeFile(bytes);
        await handle.datasync();
      } catch (error) {
        // If this fails too, the next open cuts off the unfinished line.
        await handle.truncate(size).catch(() => {});
        throw error;
      }
      size += bytes.length;
    },
    /** Durable bytes. */
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
 * Reads the lines of a file without their line breaks, and `undefined` for a line longer than `maxBytes`. A last line
 * without a line break is left out; `onUnfinished` receives its length. Only one line and one chunk are in memory.
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

/** Sorts items that are nearly in order: an item may come up to `window` places late. It holds that many in memory. */
export async function* inOrder<T>(
  source: AsyncIterable<T>,
  rank: (item: T) => number,
  window: number,
): AsyncGenerator<T> {
  const held: T[] = [];
  let yielded = 0;
  for await (const item of source) {
    let at = held.length;
    while (at > yielded && rank(held[at - 1] as T) > rank(item)) at -= 1;
    held.splice(at, 0, item);
    if (held.length - yielded <= window) continue;
    yield held[yielded] as T;
    yielded += 1;
    // The front is cut off in one go, because each cut copies the whole window.
    if (yielded < window) continue;
    held.splice(0, yielded);
    yielded = 0;
  }
  yield* held.slice(yielded);
}
