import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FILE_MODE, ifThere, makeFolder, replaceFile } from './files.ts';

/** Folder of the data folder that holds a file for each journal: outside of it, so that a missing journal is missed. */
export const ACKNOWLEDGED = 'acknowledged';

/** How far a file of a journal goes. */
export interface Extent {
  bytes: number;
  records: number;
}

/**
 * How far the files of a journal were acknowledged to go, by day: what shows that one has become shorter, which cannot be
 * seen from the file itself where it was cut between two records.
 */
export type Acknowledged = Awaited<ReturnType<typeof openAcknowledged>>;

/** Lines of one length are overwritten in place. */
const LINE_BYTES = 38;
const lineOf = (day: string, { bytes, records }: Extent) =>
  `${day} ${String(bytes).padStart(15, '0')} ${String(records).padStart(10, '0')}\n`;
const LINE = /^(\d{4}-\d{2}-\d{2}) (\d{15}) (\d{10})$/;

/** Opens the notes about a journal; lines that cannot be read say nothing. One call at a time. */
export async function openAcknowledged(path: string) {
  let extents = await readAcknowledged(path);
  /** Where each day's line stands in the file, once we have rewritten that. */
  let places: Map<string, number> | undefined;
  let handle: FileHandle | undefined;

  async function close() {
    const closing = handle;
    handle = undefined;
    places = undefined;
    await closing?.close();
  }

  async function rewrite() {
    await close();
    await makeFolder(dirname(path));
    await replaceFile(path, [...extents].map(([day, extent]) => lineOf(day, extent)).join(''));
  }

  return {
    days: () => extents.entries(),
    of: (day: string) => extents.get(day),
    /**
     * Survives a kill once it resolves. No fsync: after a power failure an older note may be there, of a file that has only
     * grown since, so that nothing is missed that is there.
     */
    async note(day: string, extent: Extent): Promise<void> {
      const isNew = !extents.has(day);
      extents.set(day, extent);
      if (isNew || !places) {
        await rewrite();
        places = new Map([...extents.keys()].map((each, at) => [each, at * LINE_BYTES]));
        return;
      }
      handle ??= await open(path, 'r+', FILE_MODE);
      await handle.write(lineOf(day, extent), places.get(day));
    },
    /** Durable; to be called before the files of these days are removed. */
    async forget(days: readonly string[]): Promise<void> {
      if (!days.some((day) => extents.has(day))) return;
      extents = new Map([...extents].filter(([day]) => !days.includes(day)));
      await rewrite();
    },
    close,
  };
}

/** What was noted about a journal. */
export async function readAcknowledged(path: string): Promise<Map<string, Extent>> {
  const text = (await ifThere(readFile(path, 'utf8'))) ?? '';
  const lines = text.split('\n').map((line) => LINE.exec(line));
  return new Map(
    lines.flatMap((found) => {
      const [, day, bytes, records] = found ?? [];
      return day === undefined ? [] : [[day, { bytes: Number(bytes), records: Number(records) }]];
    }),
  );
}
