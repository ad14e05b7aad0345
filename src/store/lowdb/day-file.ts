import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { FILE_MODE, makeFolder, syncFolder } from './files.ts';

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
    throw new RangeError(`A record's atMs is Unix time in milliseconds, and ${atMs} is none.`);
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
        'a journal ended in the middle of a record; that is cut off',
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
