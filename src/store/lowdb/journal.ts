import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { CorruptDocumentError } from '../errors.ts';
import type { Journal, JournalDeclaration, JournalRecord } from '../store.ts';
import { type Acknowledged, type Extent, openAcknowledged } from './acknowledged.ts';
import { checkedContent, isWhole, textWithChecksum } from './checksum.ts';
import {
  type AppendFile,
  dayOf,
  dayOfName,
  dayPath,
  extentOf,
  inOrder,
  linesOf,
  openAppendFile,
} from './day-file.ts';
import { ifThere, isMissing, namesIn, removeIfThere, replaceFile, syncFolder } from './files.ts';
import type { Losses } from './losses.ts';

/** Longer records are refused, and longer lines skipped. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** How many places late a record may come and still be read in its place: what runs side by side ends in any order. */
const REORDER_WINDOW = 1_000;

/** Bytes written with one fsync at most, so that a flood does not become one giant write. */
const MAX_BATCH_LENGTH = 4 * 1024 * 1024;

/** Characters written at once when a file is rewritten. */
const PIECE_LENGTH = 1024 * 1024;

const Line = z.strictObject({ record: z.unknown() });

interface Erasure<T> {
  change: (record: T) => T | undefined;
  /** Lines without any of them are left as they are; none for all lines. */
  texts: readonly string[];
}

interface Waiting {
  day: string;
  line: string;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** A journal of one file per UTC day, a record with its checksum on each line. At most one file is open for appending. */
export function createLowdbJournal<T extends JournalRecord>(
  declaration: JournalDeclaration<T>,
  options: {
    folder: string;
    /** File of the notes about how far its files go. */
    acknowledged: string;
    losses: Losses;
    assertOpen: () => void;
    assertWritable: () => void;
    log: Logger;
  },
): Journal<T> & { close(): Promise<void> } {
  const { folder, acknowledged, losses, assertOpen, assertWritable, log } = options;
  let waiting: Waiting[] = [];
  let last: Promise<void> = Promise.resolve();
  let current: { day: string; file: AppendFile; records: number } | undefined;
  let notes: Promise<Acknowledged> | undefined;
  /** Days found when the folder was first read, and those opened since: while the store is locked, nobody else adds any. */
  let found: Set<string> | undefined;
  const opened = new Set<string>();

  /** Runs tasks on the files one after another. */
  function inTurn(task: () => Promise<void>): Promise<void> {
    const result = last.then(task);
    last = result.catch(() => {});
    return result;
  }

  async function closeCurrent(): Promise<void> {
    const closing = current;
    current = undefined;
    await closing?.file.close();
  }

  /** The notes about how far its files go. */
  function notesOf(): Promise<Acknowledged> {
    notes ??= openAcknowledged(acknowledged).catch((error: unknown) => {
      // Read again the next time.
      notes = undefined;
      throw error;
    });
    return notes;
  }

  async function appendTo(day: string, text: string, count: number): Promise<void> {
    const noted = await notesOf();
    if (current?.day !== day) {
      await closeCurrent();
      opened.add(day);
      const path = dayPath(folder, day);
      const file = await openAppendFile(path, log);
      current = { day, file, records: 0 };
      current.records = await recordsIn(path, file.size(), noted.of(day));
    }
    try {
      await current.file.append(text);
    } catch (error) {
      await closeCurrent().catch(() => {});
      throw error;
    }
    current.records += count;
    await note(day, { bytes: current.file.size(), records: current.records });
  }

  async function note(day: string, extent: Extent): Promise<void> {
    try {
      await (await notesOf()).note(day, extent);
    } catch (error) {
      // The records are durable all the same. An older note only misses that these could be lost.
      log.warn(
        { err: error, file: acknowledged },
        'could not record how far a journal was written',
      );
    }
  }

  async function recordsIn(path: string, bytes: number, noted: Extent | undefined) {
    if (noted?.bytes === bytes) return noted.records;
    return bytes === 0 ? 0 : (await extentOf(path)).records;
  }

  async function flush(): Promise<void> {
    const all = waiting;
    waiting = [];
    for (const batch of batchesOf(all)) {
      try {
        const text = batch.records.map(({ line }) => line).join('');
        await appendTo(batch.day, text, batch.records.length);
        for (const { resolve } of batch.records) resolve();
      } catch (error) {
        for (const { reject } of batch.records) reject(error);
      }
    }
  }

  async function* readDay(day: string): AsyncGenerator<T> {
    let unreadable = 0;
    const unfinished = (bytes: number) => {
      // What is open for appending may be in the middle of it.
      if (current?.day === day) return;
      log.info(
        { file: dayPath(folder, day), bytes },
        'a journal ends in the middle of a record; the partial record was left out',
      );
    };
    try {
      for await (const line of linesOf(dayPath(folder, day), MAX_LINE_BYTES, unfinished)) {
        const record = line === undefined ? undefined : decode(declaration, line);
        if (!record && declaration.whenUnreadable === 'refuse') throw unreadableIn(day);
        if (record) yield record;
        else unreadable += 1;
      }
    } catch (error) {
      // Pruned since the folder was read.
      if (!isMissing(error)) throw error;
    } finally {
      await reportUnreadable(day, unreadable);
    }
  }

  async function reportUnreadable(day: string, unreadable: number): Promise<void> {
    if (unreadable === 0) return;
    log.error({ file: dayPath(folder, day), unreadable }, 'skipped damaged records of a journal');
    const damaged = unreadable === 1 ? 'a damaged record' : `${unreadable} damaged records`;
    await losses.note(
      join(declaration.name, `${day}.ndjson`),
      `holds ${damaged}, which cannot be read and are skipped`,
    );
  }

  function unreadableIn(day: string): CorruptDocumentError {
    const path = dayPath(folder, day);
    return new CorruptDocumentError(
      `The stored journal ${path} is damaged. Restore the folder ${folder} from a backup, or remove it to continue without its data.`,
    );
  }

  async function days(): Promise<string[]> {
    found ??= new Set((await namesIn(folder)).map(dayOfName).filter((day) => day !== undefined));
    return [...new Set([...found, ...opened])].sort();
  }

  async function remove(old: string[]): Promise<void> {
    if (old.length === 0) return;
    // First: what is removed on purpose must not be missed.
    await (await notesOf()).forget(old);
    for (const day of old) await removeIfThere(dayPath(folder, day));
    await syncFolder(folder);
    for (const day of old) {
      found?.delete(day);
      opened.delete(day);
    }
  }

  /** What becomes of a line when something is erased: the same line, another one, or none. */
  function lineLeft(day: string, line: string | undefined, { change, texts }: Erasure<T>) {
    const isOther = texts.length > 0 && !texts.some((text) => line?.includes(text));
    if (line !== undefined && isOther && isWhole(line)) return { line };
    const record = line === undefined ? undefined : decode(declaration, line);
    if (!record && declaration.whenUnreadable === 'refuse') throw unreadableIn(day);
    if (!record) return { line: undefined, unreadable: true };
    const wanted = change(record);
    if (wanted === record || wanted === undefined) return { line: wanted && line };
    if (dayOf(wanted.atMs) !== day) throw new RangeError('An erased record stays on its day.');
    return { line: encode(declaration, wanted).trimEnd() };
  }

  async function isToErase(day: string, erasure: Erasure<T>): Promise<boolean> {
    let unfinished = 0;
    const onUnfinished = (bytes: number) => {
      unfinished = bytes;
    };
    for await (const line of linesOf(dayPath(folder, day), MAX_LINE_BYTES, onUnfinished)) {
      if (line === undefined || lineLeft(day, line, erasure).line !== line) return true;
    }
    return unfinished > 0;
  }

  /** The file as it is to be, in pieces; counts what is in it. */
  async function* piecesLeft(day: string, erasure: Erasure<T>, kept: Extent) {
    let unreadable = 0;
    let piece = '';
    for await (const line of linesOf(dayPath(folder, day), MAX_LINE_BYTES)) {
      const left = lineLeft(day, line, erasure);
      if (left.unreadable) unreadable += 1;
      if (left.line === undefined) continue;
      kept.bytes += Buffer.byteLength(left.line) + 1;
      kept.records += 1;
      piece += `${left.line}\n`;
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = '';
    }
    yield piece;
    await reportUnreadable(day, unreadable);
  }

  async function eraseIn(day: string, erasure: Erasure<T>): Promise<void> {
    const path = dayPath(folder, day);
    // One that is not there was noted, and is lost.
    if (!(await ifThere(isToErase(day, erasure)))) return;
    if (current?.day === day) await closeCurrent();
    const kept = { bytes: 0, records: 0 };
    // What is removed on purpose must not be missed.
    const makeWay = async () => (await notesOf()).forget([day]);
    await replaceFile(path, piecesLeft(day, erasure, kept), makeWay);
    if (kept.records === 0) await remove([day]);
    else await note(day, kept);
  }

  return {
    async append(record) {
      assertWritable();
      const day = dayOf(record.atMs);
      const line = encode(declaration, record);
      await new Promise<void>((resolve, reject) => {
        waiting.push({ day, line, resolve, reject });
        if (waiting.length === 1) void inTurn(flush);
      });
    },

    async *read({ fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = {}) {
      assertOpen();
      for (const day of await days()) {
        const startMs = Date.parse(day);
        if (startMs >= toMs || startMs + 86_400_000 <= fromMs) continue;
        for await (const record of inOrder(readDay(day), ({ atMs }) => atMs, REORDER_WINDOW)) {
          if (record.atMs >= fromMs && record.atMs < toMs) yield record;
        }
      }
    },

    async prune(beforeMs) {
      assertWritable();
      const firstKept = dayOf(beforeMs);
      await inTurn(async () => {
        if (current && current.day < firstKept) await closeCurrent();
        await remove((await days()).filter((day) => day < firstKept));
      });
    },

    async clear() {
      assertWritable();
      await inTurn(async () => {
        await closeCurrent();
        await remove(await days());
      });
    },

    async erase(change, { mentioning = [] } = {}) {
      assertWritable();
      // As they stand in a line.
      const texts = mentioning.map((text) => JSON.stringify(text).slice(1, -1));
      // What waits to be appended comes first; then day by day, so that appends have their turn in between.
      await inTurn(flush);
      for (const day of await days()) await inTurn(() => eraseIn(day, { change, texts }));
    },

    /** Waits for appends under way and closes the file. */
    close: () =>
      inTurn(async () => {
        await closeCurrent();
        await (await notes?.catch(() => undefined))?.close();
      }),
  };
}

/** Puts records of one day that came one after another together, up to the size of a batch. */
function batchesOf(all: Waiting[]): Array<{ day: string; records: Waiting[] }> {
  const batches: Array<{ day: string; records: Waiting[]; length: number }> = [];
  for (const each of all) {
    let batch = batches.at(-1);
    if (batch?.day !== each.day || batch.length + each.line.length > MAX_BATCH_LENGTH) {
      batch = { day: each.day, records: [], length: 0 };
      batches.push(batch);
    }
    batch.records.push(each);
    batch.length += each.line.length;
  }
  return batches;
}

/** The line of a record. Throws when what a reader would find there does not fit the schema. */
function encode<T extends JournalRecord>(declaration: JournalDeclaration<T>, record: T): string {
  const text = JSON.stringify({ record });
  // Of the text, not of the record: what JSON leaves out or turns into null would be found missing only when it is read.
  declaration.schema.parse((JSON.parse(text) as { record?: unknown }).record);
  const line = textWithChecksum(text);
  if (Buffer.byteLength(line) > MAX_LINE_BYTES) {
    throw new RangeError(`A record of '${declaration.name}' is too large for a journal.`);
  }
  return `${line}\n`;
}

function decode<T extends JournalRecord>(
  declaration: JournalDeclaration<T>,
  line: string,
): T | undefined {
  try {
    return declaration.schema.parse(Line.parse(checkedContent(line)).record);
  } catch {
    // Counted by the reader, and reported once a file.
    return undefined;
  }
}
