import type { Logger } from 'pino';
import { z } from 'zod';
import type { Closable, StoreAccess } from '../local-store.ts';
import {
  DAY_MS,
  dayOf,
  encodeErased,
  encodeRecord,
  MAX_RECORD_BYTES,
  textsInJson,
} from '../records.ts';
import type { Journal, JournalDeclaration, JournalRecord } from '../store.ts';
import { checkedContent, isWhole, textWithChecksum } from './checksum.ts';
import {
  type AppendFile,
  dayOfName,
  dayPath,
  inOrder,
  linesOf,
  openAppendFile,
} from './day-file.ts';
import { ifThere, namesIn, removeIfThere, replaceFile, syncFolder } from './files.ts';
import type { Quarantine } from './quarantine.ts';

/** A record and its checksum; longer lines are skipped. */
const MAX_LINE_BYTES = MAX_RECORD_BYTES + 100;

/** A record that is late by so many places is still read in order: concurrent work ends in any order. */
const REORDER_WINDOW = 1_000;

/** Bytes written with one fsync at most, so that a flood doesn't become one giant write. */
const MAX_BATCH_LENGTH = 4 * 1024 * 1024;

/** Characters written at once when a file is rewritten. */
const PIECE_LENGTH = 1024 * 1024;

/** Characters of damaged lines that are kept for people. */
const MAX_DAMAGE_LENGTH = 1024 * 1024;

const Line = z.strictObject({ record: z.unknown() });

interface PendingLine {
  day: string;
  line: string;
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Erasure<T> {
  change: (record: T) => T | undefined;
  /** Lines without any of them stay as they are; an empty list stands for all lines. */
  texts: readonly string[];
}

type JournalFilesOptions = StoreAccess & { folder: string; quarantine: Quarantine; log: Logger };

/** A journal with one file per UTC day, and on each line a record with its checksum. At most one file is open for appending. */
export function createLowdbJournal<T extends JournalRecord>(
  declaration: JournalDeclaration<T>,
  options: JournalFilesOptions,
): Closable<Journal<T>> {
  const files = new JournalFiles(declaration, options);
  return {
    append: (record) => files.append(record),
    read: (range) => files.read(range),
    prune: (beforeMs) => files.prune(beforeMs),
    clear: () => files.clear(),
    erase: (change, { mentioning = [] } = {}) =>
      files.erase({ change, texts: textsInJson(mentioning) }),
    close: () => files.close(),
  };
}

class JournalFiles<T extends JournalRecord> {
  private readonly declaration: JournalDeclaration<T>;
  private readonly options: JournalFilesOptions;
  private pending: PendingLine[] = [];
  private last: Promise<void> = Promise.resolve();
  private current: { day: string; file: AppendFile } | undefined;
  /** Days that have a file, once the folder was read: no other process adds any. */
  private foundDays: Set<string> | undefined;
  private readonly appendedDays = new Set<string>();

  constructor(declaration: JournalDeclaration<T>, options: JournalFilesOptions) {
    this.declaration = declaration;
    this.options = options;
  }

  async append(record: T): Promise<void> {
    this.options.assertWritable();
    const day = dayOf(record.atMs);
    const line = this.lineOf(encodeRecord(this.declaration, record));
    await new Promise<void>((resolve, reject) => {
      this.pending.push({ day, line: `${line}\n`, resolve, reject });
      if (this.pending.length === 1) void this.run(() => this.writePending());
    });
  }

  async *read({ fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = {}) {
    this.options.assertOpen();
    for (const day of await this.days()) {
      const startMs = Date.parse(day);
      if (startMs >= toMs || startMs + DAY_MS <= fromMs) continue;
      for await (const record of inOrder(this.readDay(day), ({ atMs }) => atMs, REORDER_WINDOW)) {
        if (record.atMs >= fromMs && record.atMs < toMs) yield record;
      }
    }
  }

  async prune(beforeMs: number): Promise<void> {
    this.options.assertWritable();
    const firstKept = dayOf(beforeMs);
    await this.run(async () => {
      if (this.current && this.current.day < firstKept) await this.closeCurrent();
      await this.deleteDays((await this.days()).filter((day) => day < firstKept));
    });
  }

  async clear(): Promise<void> {
    this.options.assertWritable();
    await this.run(async () => {
      await this.closeCurrent();
      await this.deleteDays(await this.days());
    });
  }

  async erase(erasure: Erasure<T>): Promise<void> {
    this.options.assertWritable();
    // Pending records first, then day by day, so that appends get their turn in between.
    await this.run(() => this.writePending());
    for (const day of await this.days()) await this.run(() => this.eraseIn(day, erasure));
  }

  close(): Promise<void> {
    return this.run(() => this.closeCurrent());
  }

  /** Runs tasks on the files one after another. */
  private run(task: () => Promise<void>): Promise<void> {
    const result = this.last.then(task);
    this.last = result.catch(() => {});
    return result;
  }

  private async writePending(): Promise<void> {
    const all = this.pending;
    this.pending = [];
    for (const batch of batchesOf(all)) {
      try {
        await this.appendTo(batch.day, batch.records.map(({ line }) => line).join(''));
        for (const { resolve } of batch.records) resolve();
      } catch (error) {
        for (const { reject } of batch.records) reject(error);
      }
    }
  }

  private async appendTo(day: string, text: string): Promise<void> {
    if (this.current?.day !== day) {
      await this.closeCurrent();
      this.appendedDays.add(day);
      this.current = { day, file: await openAppendFile(this.pathOf(day), this.options.log) };
    }
    try {
      await this.current.file.append(text);
    } catch (error) {
      await this.closeCurrent().catch(() => {});
      throw error;
    }
  }

  private async closeCurrent(): Promise<void> {
    const closing = this.current;
    this.current = undefined;
    await closing?.file.close();
  }

  private async days(): Promise<string[]> {
    const { folder } = this.options;
    this.foundDays ??= new Set((await namesIn(folder)).flatMap((name) => dayOfName(name) ?? []));
    return [...new Set([...this.foundDays, ...this.appendedDays])].sort();
  }

  private async deleteDays(days: readonly string[]): Promise<void> {
    if (days.length === 0) return;
    const { folder, quarantine } = this.options;
    for (const day of days) {
      await quarantine.erase(this.pathOf(day));
      await removeIfThere(this.pathOf(day));
    }
    await syncFolder(folder);
    for (const day of days) {
      this.foundDays?.delete(day);
      this.appendedDays.delete(day);
    }
  }

  private async *readDay(day: string): AsyncGenerator<T> {
    const damage = new DamagedLines();
    const onUnfinished = (bytes: number) => {
      // The writer may be in the middle of it.
      if (this.current?.day === day) return;
      const message = 'a journal ends in the middle of a record; the partial record was left out';
      this.options.log.info({ file: this.pathOf(day), bytes }, message);
    };
    try {
      for await (const line of linesOf(this.pathOf(day), MAX_LINE_BYTES, onUnfinished)) {
        const record = line === undefined ? undefined : this.decode(line);
        if (record) yield record;
        else damage.add(line);
      }
    } catch (error) {
      // Pruned after the folder was read.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    } finally {
      await this.reportDamage(day, damage);
    }
  }

  /** Keeps a copy of damaged lines in the quarantine, once for each file. */
  private async reportDamage(day: string, { count, text }: DamagedLines): Promise<void> {
    if (count === 0) return;
    const { quarantine, log } = this.options;
    const file = this.pathOf(day);
    log.error({ file, unreadable: count }, 'skipped damaged records of a journal');
    await quarantine.keepCopy(file, text).catch((error: unknown) => {
      log.warn({ err: error, file }, 'could not keep a copy of damaged records');
    });
  }

  private async eraseIn(day: string, erasure: Erasure<T>): Promise<void> {
    if (!(await ifThere(this.hasToErase(day, erasure)))) return;
    if (this.current?.day === day) await this.closeCurrent();
    const path = this.pathOf(day);
    let isEmpty = true;
    const remaining = this.remainingPieces(day, erasure);
    async function* pieces() {
      for await (const piece of remaining) {
        if (piece !== '') isEmpty = false;
        yield piece;
      }
    }
    await this.options.quarantine.erase(path);
    await replaceFile(path, pieces());
    if (isEmpty) await this.deleteDays([day]);
  }

  private async hasToErase(day: string, erasure: Erasure<T>): Promise<boolean> {
    let unfinishedBytes = 0;
    const onUnfinished = (bytes: number) => {
      unfinishedBytes = bytes;
    };
    for await (const line of linesOf(this.pathOf(day), MAX_LINE_BYTES, onUnfinished)) {
      if (line === undefined || this.remainingLine(line, erasure) !== line) return true;
    }
    return unfinishedBytes > 0;
  }

  private async *remainingPieces(day: string, erasure: Erasure<T>): AsyncGenerator<string> {
    let piece = '';
    for await (const line of linesOf(this.pathOf(day), MAX_LINE_BYTES)) {
      const remaining = line === undefined ? undefined : this.remainingLine(line, erasure);
      if (remaining === undefined) continue;
      piece += `${remaining}\n`;
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = '';
    }
    yield piece;
  }

  /** The line after an erasure; `undefined` if it is deleted. */
  private remainingLine(line: string, { change, texts }: Erasure<T>): string | undefined {
    const isOther = texts.length > 0 && !texts.some((text) => line.includes(text));
    if (isOther && isWhole(line)) return line;
    const record = this.decode(line);
    const wanted = record && change(record);
    if (wanted === undefined || wanted === record) return wanted && line;
    return this.lineOf(encodeErased(this.declaration, wanted, record?.atMs ?? 0));
  }

  private lineOf(json: string): string {
    return textWithChecksum(`{"record":${json}}`);
  }

  private decode(line: string): T | undefined {
    try {
      return this.declaration.schema.parse(Line.parse(checkedContent(line)).record);
    } catch {
      // The reader reports damaged lines once for each file.
      return undefined;
    }
  }

  private pathOf(day: string): string {
    return dayPath(this.options.folder, day);
  }
}

class DamagedLines {
  count = 0;
  text = '';

  /** `undefined` for a line that was too long to read. */
  add(line: string | undefined): void {
    this.count += 1;
    if (this.text.length < MAX_DAMAGE_LENGTH) this.text += `${line ?? '(too long)'}\n`;
  }
}

/** Joins records of one day that came one after another, up to the size of a batch. */
function batchesOf(all: PendingLine[]): Array<{ day: string; records: PendingLine[] }> {
  const batches: Array<{ day: string; records: PendingLine[]; length: number }> = [];
  for (const record of all) {
    let batch = batches.at(-1);
    if (batch?.day !== record.day || batch.length + record.line.length > MAX_BATCH_LENGTH) {
      batch = { day: record.day, records: [], length: 0 };
      batches.push(batch);
    }
    batch.records.push(record);
    batch.length += record.line.length;
  }
  return batches;
}
