import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { CorruptDocumentError } from '../errors.ts';
import { applyChanges, encodeItems, fitItems } from '../keyed-items.ts';
import type { Closable, StoreAccess } from '../local-store.ts';
import type { Keyed, KeyedChanges, KeyedDeclaration } from '../store.ts';
import { checkedContent, textWithChecksum } from './checksum.ts';
import { type AppendFile, linesOf, openAppendFile } from './day-file.ts';
import { ifThere, makeFolder, replaceFile } from './files.ts';
import type { Quarantine } from './quarantine.ts';

/** The only file of a keyed map. */
export const ITEMS_FILE = 'items.ndjson';

/** Bytes of writes after a snapshot until the next snapshot, unless that was larger. */
const SNAPSHOT_AFTER_BYTES = 4 * 1024 * 1024;

/** Characters of items on one line of a snapshot. */
const SNAPSHOT_LINE_LENGTH = 256 * 1024;

/** One write. Lines are numbered, so that a missing one is noticed. */
const Line = z.strictObject({
  no: z.int().positive(),
  puts: z.array(z.tuple([z.string(), z.unknown()])),
  deletes: z.array(z.string()),
});

type KeyedFileOptions = StoreAccess & {
  folder: string;
  quarantine: Quarantine;
  log: Logger;
  snapshotAfterBytes?: number;
};

/** Opens a keyed map: one file that begins with a snapshot of all items, followed by a line for each write since. */
export async function openLowdbKeyed<T>(
  declaration: KeyedDeclaration<T>,
  options: KeyedFileOptions,
): Promise<Closable<Keyed<T>>> {
  const { items, lastNo, isDamaged } = await readItems(declaration, options);
  const keyed = new KeyedFile(declaration, options, items, lastNo);
  if (isDamaged) await keyed.replaceDamaged();
  return {
    items: () => keyed.items,
    write: (changes) => keyed.run(() => keyed.write(changes)),
    erase: (changes) => keyed.run(() => keyed.erase(changes)),
    close: () => keyed.close(),
  };
}

class KeyedFile<T> {
  items: Map<string, T>;
  private readonly declaration: KeyedDeclaration<T>;
  private readonly options: KeyedFileOptions;
  private readonly path: string;
  private lastNo: number;
  private file: AppendFile | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private snapshotBytes = 0;
  /** True after a failed write, which the file may hold all the same, until the next snapshot. */
  private isUnsure = false;

  constructor(
    declaration: KeyedDeclaration<T>,
    options: KeyedFileOptions,
    items: Map<string, T>,
    lastNo: number,
  ) {
    this.declaration = declaration;
    this.options = options;
    this.path = join(options.folder, ITEMS_FILE);
    this.items = items;
    this.lastNo = lastNo;
  }

  /** Runs writes one after another. */
  async run(task: () => Promise<void>): Promise<void> {
    this.options.assertWritable();
    const result = this.last.then(task);
    this.last = result.catch(() => {});
    await result;
  }

  async write(changes: KeyedChanges<T>): Promise<void> {
    const { puts, deletes } = await encodeItems(this.declaration, changes);
    if (this.isUnsure) {
      const next = new Map(this.items);
      applyChanges(next, changes);
      await this.writeSnapshot(next);
      this.items = next;
      return;
    }
    const texts = puts.map(({ id, text }) => `[${JSON.stringify(id)},${text}]`);
    await this.append(`"puts":[${texts.join()}],"deletes":${JSON.stringify(deletes)}`);
    applyChanges(this.items, changes);
    await this.shrink();
  }

  /** Writes a snapshot, so that no older value is left in the file or in a damaged copy of it. */
  async erase(changes: KeyedChanges<T>): Promise<void> {
    await encodeItems(this.declaration, changes);
    const next = new Map(this.items);
    applyChanges(next, changes);
    await this.options.quarantine.erase(this.path);
    await this.writeSnapshot(next);
    this.items = next;
  }

  async replaceDamaged(): Promise<void> {
    const { quarantine, log } = this.options;
    const quarantined = await quarantine.take(this.path);
    await this.writeSnapshot(this.items);
    const message = 'stored items were damaged; continuing without them';
    log.error({ file: this.path, quarantined }, message);
  }

  async close(): Promise<void> {
    await this.last;
    await this.closeFile();
  }

  private async append(fields: string): Promise<void> {
    try {
      this.file ??= await openAppendFile(this.path, this.options.log);
      await this.file.append(`${textWithChecksum(`{"no":${this.lastNo + 1},${fields}}`)}\n`);
      this.lastNo += 1;
    } catch (error) {
      this.isUnsure = true;
      await this.closeFile().catch(() => {});
      throw error;
    }
  }

  private async shrink(): Promise<void> {
    const { snapshotAfterBytes = SNAPSHOT_AFTER_BYTES, log } = this.options;
    const grownBytes = (this.file?.size() ?? 0) - this.snapshotBytes;
    if (grownBytes <= Math.max(snapshotAfterBytes, this.snapshotBytes)) return;
    try {
      await this.writeSnapshot(this.items);
    } catch (error) {
      // A full disk isn't tried with a whole snapshot at every write.
      this.snapshotBytes += grownBytes;
      const { name } = this.declaration;
      log.error({ err: error }, `could not compact '${name}'; retrying later`);
    }
  }

  private async writeSnapshot(items: ReadonlyMap<string, T>): Promise<void> {
    await makeFolder(this.options.folder);
    let no = 0;
    let bytes = 0;
    async function* lines() {
      for await (const puts of snapshotLines(items)) {
        no += 1;
        const line = `${textWithChecksum(`{"no":${no},"puts":[${puts}],"deletes":[]}`)}\n`;
        bytes += Buffer.byteLength(line);
        yield line;
      }
    }
    await replaceFile(this.path, lines());
    await this.closeFile();
    this.lastNo = no;
    this.snapshotBytes = bytes;
    this.isUnsure = false;
  }

  private async closeFile(): Promise<void> {
    const closing = this.file;
    this.file = undefined;
    await closing?.close();
  }
}

async function* snapshotLines(items: ReadonlyMap<string, unknown>): AsyncGenerator<string> {
  let puts: string[] = [];
  let length = 0;
  for (const item of items) {
    const text = JSON.stringify(item);
    puts.push(text);
    length += text.length;
    if (length < SNAPSHOT_LINE_LENGTH) continue;
    yield puts.join();
    puts = [];
    length = 0;
  }
  yield puts.join();
}

/** A last line without a line break was never acknowledged, and is left out. */
async function readItems<T>(declaration: KeyedDeclaration<T>, { folder, log }: KeyedFileOptions) {
  const { name, whenCorrupt } = declaration;
  const path = join(folder, ITEMS_FILE);
  const found = new Map<string, unknown>();
  let lastNo = 0;
  let isDamaged = false;
  const refuse = (reason: string) => {
    if (whenCorrupt === 'forget') return;
    throw new CorruptDocumentError(
      `The stored file ${path} is damaged (${reason}). Restore it from a backup, or remove it to start without its data.`,
    );
  };
  async function readLines() {
    for await (const text of linesOf(path, Number.POSITIVE_INFINITY)) {
      try {
        const { no, puts, deletes } = Line.parse(checkedContent(text ?? ''));
        if (no !== lastNo + 1) throw new Error('a line is missing');
        lastNo = no;
        for (const [id, value] of puts) found.set(id, value);
        for (const id of deletes) found.delete(id);
      } catch (error) {
        refuse(`line ${lastNo + 1}: ${(error as Error).message}`);
        isDamaged = true;
        lastNo += 1;
      }
    }
  }
  await ifThere(readLines());
  const items = fitItems(declaration, found, (id, reason) => {
    refuse(`item ${id}: ${reason}`);
    log.error({ reason }, `left out a damaged item of '${name}'`);
  });
  return { items, lastNo, isDamaged };
}
