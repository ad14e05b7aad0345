import { readFile, rename, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { STORED_NAME } from '../documents.ts';
import { CorruptDocumentError } from '../errors.ts';
import {
  assertNotMarked,
  type FolderPart,
  type RawFolder,
  type RawState,
  StateMark,
  type StatePart,
} from '../raw-state.ts';
import { ACKNOWLEDGED, openAcknowledged } from './acknowledged.ts';
import { checkedContent, withChecksum } from './checksum.ts';
import { prepareDataFolder } from './data-folder.ts';
import { dayOfName, dayPath, linesOf } from './day-file.ts';
import { envelopeIn, fileNameOf, PREVIOUS } from './document-file.ts';
import {
  ifThere,
  makeFolder,
  namesIn,
  removeIfThere,
  removeTemporaryFiles,
  replaceFile,
  syncFolder,
  writeTemporary,
} from './files.ts';
import { MAX_LINE_BYTES } from './journal.ts';
import { createKeyFile, writeKeyFile } from './key-file.ts';
import { LEASES } from './leases.ts';
import { takeLock } from './lock.ts';
import { QUARANTINE } from './quarantine.ts';

/** File of the data folder that says that the program must not use it. */
export const MOVED = 'moved.json';

/** Files that are written at once. */
const WRITE_COUNT = 32;

/** Characters of a journal that are written at once. */
const PIECE_LENGTH = 1024 * 1024;

const DOCUMENT_FILE = /^([0-9a-f]{40}\.json)(?:\.bak)?$/;

const DocumentItem = z.tuple([z.string(), z.int(), z.unknown()]);
const RecordItem = z.tuple([z.number(), z.int(), z.unknown()]);
const LeaseItem = z.tuple([z.string(), z.int()]);
const KeyItem = z.tuple([z.string()]);

/**
 * Opens a data folder to move what is in it; the program must not run. `parts` are those that have tables of their own in the
 * other engine. With `readOnly` nothing in it is changed. Throws as the engine does when it cannot be used.
 */
export async function openLowdbState(options: {
  folder: string;
  parts: readonly FolderPart[];
  readOnly?: boolean;
  log: Logger;
}): Promise<RawState> {
  const { parts, readOnly = false, log } = options;
  const folder = resolve(options.folder);
  if (!readOnly) await prepareDataFolder(folder, log);
  const lock = (await isThere(folder)) ? await takeLock(folder) : undefined;
  return {
    place: placeOf(folder),
    howToEmpty: HOW_TO_EMPTY,
    parts: [
      secretKey(folder),
      leases(folder),
      documents(
        folder,
        parts.flatMap(({ collections }) => collections),
      ),
      records(
        folder,
        parts.flatMap(({ journals }) => journals),
      ),
      ...parts.map((part) => part.in(rawFolder(folder))),
    ],
    lost: new AbortController().signal,
    mark: () => readMark(folder),
    async setMark(mark) {
      const path = join(folder, MOVED);
      if (mark) return await replaceFile(path, `${JSON.stringify(mark)}\n`);
      await removeIfThere(path);
      await syncFolder(folder);
    },
    async close() {
      await lock?.release();
    },
  };
}

/** Throws `StateMovedError` when what is in a data folder was moved away, or is still on its way here. */
export async function assertNotMoved(folder: string): Promise<void> {
  assertNotMarked(placeOf(folder), await readMark(folder), {
    useOther: 'set DATABASE_URL to it',
    goOn: 'npx askwatch move-state --back',
    howToEmpty: HOW_TO_EMPTY,
  });
}

const HOW_TO_EMPTY = 'empty the folder, or set DATA_DIR to another one';

const placeOf = (folder: string) => `the data folder ${folder}`;

async function isThere(folder: string): Promise<boolean> {
  // Throws where a file has its name.
  return (await namesIn(folder)).length > 0;
}

/** Of a folder in which there is none, or that is not there, `undefined`. */
export async function readMark(folder: string): Promise<StateMark | undefined> {
  const path = join(folder, MOVED);
  const text = await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return undefined;
  try {
    return StateMark.parse(JSON.parse(text));
  } catch {
    throw new CorruptDocumentError(
      `The file ${path}, which says where the state was moved, is damaged. Restore it from a backup, or remove it if you are sure that you want to use this folder.`,
    );
  }
}

/** Folders of documents or of journals, by what is in them. */
async function foldersWith(folder: string, isOne: (name: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  for (const name of await namesIn(folder)) {
    const isStored = STORED_NAME.test(name) && ![QUARANTINE, ACKNOWLEDGED].includes(name);
    if (isStored && (await namesIn(join(folder, name))).some(isOne)) found.push(name);
  }
  return found;
}

/** Every collection but those that another part holds. */
function documents(folder: string, others: readonly string[]): StatePart {
  return {
    name: 'documents',
    async groups() {
      const all = await foldersWith(folder, (name) => DOCUMENT_FILE.test(name));
      return all.filter((name) => name !== LEASES.name && !others.includes(name));
    },
    async *read(group) {
      for await (const { id, version, document } of documentsIn(join(folder, group))) {
        yield JSON.stringify([id, version, document]);
      }
    },
    async replace(group, items) {
      await replaceDocuments(
        join(folder, group),
        mapped(items, (text) => {
          const [id, version, document] = DocumentItem.parse(JSON.parse(text));
          return { id, version, document };
        }),
      );
    },
  };
}

/** The last fence of each kind of lease, so that none is given out again. */
function leases(folder: string): StatePart {
  const path = join(folder, LEASES.name);
  return {
    name: 'leases',
    groups: async () => ((await documentsFilesIn(path)).length > 0 ? [LEASES.name] : []),
    async *read() {
      for await (const { id, document } of documentsIn(path)) {
        yield JSON.stringify([id, LEASES.schema.parse(document).fence]);
      }
    },
    async replace(_group, items) {
      await replaceDocuments(
        path,
        mapped(items, (text) => {
          const [id, fence] = LeaseItem.parse(JSON.parse(text));
          return { id, version: LEASES.version, document: { fence } };
        }),
      );
    },
  };
}

/** The key of the stored data, or the word that says that it is gone for good. */
function secretKey(folder: string): StatePart {
  const file = createKeyFile(folder, () => {});
  const group = 'secret-key';
  async function* read() {
    const found = await file.read();
    if (found === 'missing') return;
    yield JSON.stringify([found === 'given up' ? 'lost' : found.key]);
  }
  return {
    name: 'keys of secrets',
    async groups() {
      return (await file.read()) === 'missing' ? [] : [group];
    },
    read,
    async replace(_group, items) {
      let key: string | undefined;
      for await (const text of items) [key] = KeyItem.parse(JSON.parse(text));
      await writeKeyFile(folder, key);
    },
  };
}

/** Every journal but those that another part holds, day by day. */
function records(folder: string, others: readonly string[]): StatePart {
  const where = (group: string) => {
    const [journal = '', day = ''] = group.split('/');
    return [join(folder, journal), day] as const;
  };
  return {
    name: 'records',
    async groups() {
      const journals = await foldersWith(folder, (name) => dayOfName(name) !== undefined);
      const groups: string[] = [];
      for (const journal of journals.filter((name) => !others.includes(name))) {
        const days = await daysIn(join(folder, journal));
        groups.push(...days.map((day) => `${journal}/${day}`));
      }
      return groups;
    },
    async *read(group) {
      // Records of one millisecond stay apart, and in their order.
      const before = new Map<number, number>();
      for await (const { atMs, record } of recordsIn(...where(group))) {
        const no = before.get(atMs) ?? 0;
        before.set(atMs, no + 1);
        yield JSON.stringify([atMs, no, record]);
      }
    },
    async replace(group, items) {
      const [journal, day] = where(group);
      const content = mapped(items, (text) => RecordItem.parse(JSON.parse(text))[2]);
      await replaceRecords(folder, basename(journal), day, content);
    },
  };
}

/** What another part finds in the folder, and puts there. */
function rawFolder(folder: string): RawFolder {
  return {
    days: (journal) => daysIn(join(folder, journal)),
    records: (journal, day) =>
      mapped(recordsIn(join(folder, journal), day), ({ record }) => record),
    replaceRecords: (journal, day, content) => replaceRecords(folder, journal, day, content),
    ids: (collection) => all(mapped(documentsIn(join(folder, collection)), ({ id }) => id)),
    async document(collection, id) {
      const path = join(folder, collection);
      const name = fileNameOf(id);
      if (!(await documentsFilesIn(path)).includes(name)) return undefined;
      return (await readDocumentFile(path, name)).document;
    },
    async putDocument(collection, { id, version, document }) {
      const path = join(folder, collection);
      const file = join(path, fileNameOf(id));
      if (document === undefined) {
        await removeIfThere(file);
        await removeIfThere(file + PREVIOUS);
        if (await isThere(path)) await syncFolder(path);
        return;
      }
      await makeFolder(path);
      await replaceFile(file, withChecksum({ id, version, document }));
    },
  };
}

/** The days of a journal. */
async function daysIn(journal: string): Promise<string[]> {
  const days: string[] = [];
  for (const name of await namesIn(journal)) {
    const day = dayOfName(name);
    if (day === undefined) continue;
    // A file may hold no whole record.
    for await (const _ of linesOf(join(journal, name), MAX_LINE_BYTES)) {
      days.push(day);
      break;
    }
  }
  return days;
}

async function* recordsIn(journal: string, day: string) {
  const path = dayPath(journal, day);
  let line = 0;
  if (!(await ifThere(stat(path)))) return;
  for await (const text of linesOf(path, MAX_LINE_BYTES)) {
    line += 1;
    yield recordIn(text, `${path}, line ${line}`);
  }
}

async function replaceRecords(
  folder: string,
  journal: string,
  day: string,
  content: AsyncIterable<unknown>,
): Promise<void> {
  const path = dayPath(join(folder, journal), day);
  const notes = await openAcknowledged(join(folder, ACKNOWLEDGED, journal));
  const extent = { bytes: 0, records: 0 };
  async function* pieces() {
    let piece = '';
    for await (const record of content) {
      const line = `${withChecksum({ record })}\n`;
      extent.bytes += Buffer.byteLength(line);
      extent.records += 1;
      piece += line;
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = '';
    }
    yield piece;
  }
  await makeFolder(join(folder, journal));
  // What is replaced on purpose must not be missed.
  await replaceFile(path, pieces(), () => notes.forget([day]));
  if (extent.records > 0) await notes.note(day, extent);
  else await removeIfThere(path);
  await syncFolder(join(folder, journal));
  await notes.close();
}

const Line = z.strictObject({ record: z.looseObject({ atMs: z.number() }) });

function recordIn(line: string | undefined, place: string) {
  try {
    // Not what a schema makes of it, which may put fields in another order.
    const content = checkedContent(line ?? '') as { record: unknown };
    const { atMs } = Line.parse(content).record;
    return { atMs, record: content.record };
  } catch {
    throw new CorruptDocumentError(
      `A stored record is damaged (${place}). Restore the file from a backup, or remove this line to continue without it.`,
    );
  }
}

/** Names of the files of documents, of which there may be only the version before. */
async function documentsFilesIn(folder: string): Promise<string[]> {
  const names = (await namesIn(folder)).map((name) => DOCUMENT_FILE.exec(name)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))];
}

async function* documentsIn(folder: string) {
  for (const name of await documentsFilesIn(folder)) yield await readDocumentFile(folder, name);
}

/** What the program would use: the file, or the version before where that is damaged. */
async function readDocumentFile(folder: string, name: string) {
  let reason = 'it is missing';
  for (const path of [join(folder, name), join(folder, name + PREVIOUS)]) {
    const text = await ifThere(readFile(path, 'utf8'));
    if (text === undefined) continue;
    try {
      const found = envelopeIn(text);
      if (fileNameOf(found.id) === name) return found;
      reason = 'it belongs to another document';
    } catch (error) {
      reason = (error as Error).message;
    }
  }
  const path = join(folder, name);
  throw new CorruptDocumentError(
    `The stored document ${path} is damaged (${reason}), and so is the previous version. Restore the file from a backup, or remove it and ${basename(path)}${PREVIOUS} to continue without its data.`,
  );
}

interface Content {
  id: string;
  version: number;
  document: unknown;
}

async function replaceDocuments(folder: string, wanted: AsyncIterable<Content>): Promise<void> {
  await makeFolder(folder);
  await removeTemporaryFiles(folder);
  const kept = new Set<string>();
  async function write(content: Content) {
    const name = fileNameOf(content.id);
    kept.add(name);
    const path = join(folder, name);
    await rename(await writeTemporary(path, withChecksum(content)), path);
  }
  let batch: Content[] = [];
  for await (const content of wanted) {
    batch.push(content);
    if (batch.length < WRITE_COUNT) continue;
    await Promise.all(batch.map(write));
    batch = [];
  }
  await Promise.all(batch.map(write));
  for (const name of await namesIn(folder)) {
    if (DOCUMENT_FILE.test(name) && !kept.has(name)) await removeIfThere(join(folder, name));
  }
  await syncFolder(folder);
}

async function* mapped<T, R>(items: AsyncIterable<T>, change: (item: T) => R) {
  for await (const item of items) yield change(item);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
