import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { kindOf } from '../../bot/files/file-kind.ts';
import { checkPicture } from '../../bot/files/picture.ts';
import type { Collection } from '../../bot/platform.ts';
import { FileError, GONE, type SharedFile, sharedFile } from '../../bot/shared/shared-file.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { ShownFile } from '../shared/api-types.ts';
import { MAX_FILE_BYTES } from '../shared/file-limits.ts';

/** Limits of all files together; the oldest go first. */
const MAX_FILES = 300;
const MAX_BYTES = 100_000_000;

const KEEP_MS = 30 * 86_400_000;

/** A file that nobody has sent with a message is removed after this time. */
const UNSENT_MS = 60 * 60_000;

/** Storing one piece must not delay other writes. */
const PIECE_BYTES = 256 * 1024;

const MAX_UPLOADS = 8;

const FileEntry = z.object({
  id: z.string(),
  channel: z.string(),
  person: z.string(),
  name: z.string(),
  mediaType: z.string(),
  bytes: z.number(),
  atMs: z.number(),
  /** The channel message that it was sent with, or under; absent before it is sent. */
  message: z.string().optional(),
});
type FileEntry = z.infer<typeof FileEntry>;

const FileIndex = z.object({ files: z.array(FileEntry) });
export type FileIndex = z.infer<typeof FileIndex>;
const FilePiece = z.object({ base64: z.string() });
export type FilePiece = z.infer<typeof FilePiece>;

/** The list of all files: one document, because their number is limited. */
export const filesCollection = {
  name: 'console-files',
  schema: FileIndex,
  version: 1,
  whenCorrupt: 'forget' as const,
};

export const piecesCollection = {
  name: 'console-file-pieces',
  schema: FilePiece,
  version: 1,
  whenCorrupt: 'forget' as const,
};

const DOCUMENT = 'files';

interface FileUpload {
  channel: string;
  person: string;
  name: string;
  bytes: Buffer;
}

/**
 * The files that people send at the console. An upload is unsent for an hour at most. Sending it with a message keeps it for 30
 * days, or until the message is deleted or newer files need the room.
 */
export class ConsoleFiles {
  private readonly index: Collection<FileIndex>;
  private readonly pieces: Collection<FilePiece>;
  private uploads = 0;

  constructor(index: Collection<FileIndex>, pieces: Collection<FilePiece>) {
    this.index = index;
    this.pieces = pieces;
  }

  /** Stores a file that someone is about to send. Throws an `HttpError` for one that Askwatch doesn't read. */
  async add(upload: FileUpload): Promise<ShownFile> {
    if (this.uploads >= MAX_UPLOADS) {
      const text = 'Too many files at once. Wait a moment and try again.';
      throw new HttpError(429, 'too_many_requests', text, { headers: { 'retry-after': '1' } });
    }
    this.uploads += 1;
    try {
      return await this.store(upload);
    } finally {
      this.uploads -= 1;
    }
  }

  /** Sends stored files with a message, or under it. Throws an `HttpError` if one is missing or someone else's. */
  async send(
    ids: readonly string[],
    { channel, person, message }: { channel: string; person: string; message: string },
  ): Promise<SharedFile[]> {
    if (ids.length === 0) return [];
    const all = await this.all();
    const sent = ids.map((id) => {
      const file = all.find((one) => one.id === id);
      if (file?.channel === channel && file.person === person) return file;
      throw notFound('A file is no longer available. Remove it and attach it again.');
    });
    await this.change((files) =>
      files.map((one) => (ids.includes(one.id) ? { ...one, message } : one)),
    );
    return sent.map(({ id, name, mediaType, bytes }) =>
      sharedFile({ name, mediaType, bytes, ref: { id } }),
    );
  }

  /** Streams a file that was sent in a channel. Throws a `FileError`. */
  async *read({ ref: { id = '' } }: SharedFile, channel: string): AsyncGenerator<Uint8Array> {
    const file = await this.find(id);
    if (file?.channel !== channel) throw new FileError(GONE, { isGone: true });
    yield* this.readPieces(file);
  }

  /** Reads a whole file for a browser. Throws an `HttpError`. */
  async fetch(id: string): Promise<{ name: string; mediaType: string; bytes: Buffer }> {
    const file = await this.find(id);
    if (!file) throw fileGone();
    const parts: Buffer[] = [];
    try {
      for await (const part of this.readPieces(file)) parts.push(part);
    } catch (error) {
      throw error instanceof FileError ? fileGone() : error;
    }
    return { name: file.name, mediaType: file.mediaType, bytes: Buffer.concat(parts) };
  }

  async removeWith(messages: readonly string[]): Promise<void> {
    const deleted = new Set<string | undefined>(messages);
    await this.remove((await this.all()).filter(({ message }) => deleted.has(message)));
  }

  /** Removes files that are too old, and the oldest ones if all together are too large. */
  async removeOld(nowMs: number): Promise<void> {
    const files = await this.all();
    const kept = new Set(filesToKeep(files, nowMs));
    await this.remove(files.filter((one) => !kept.has(one)));
  }

  private async store({ channel, person, name: anyName, bytes }: FileUpload) {
    const { name } = sharedFile({ name: anyName, ref: {} });
    const mediaType = mediaTypeOf(bytes);
    const atMs = Date.now();
    const id = randomUUID();
    const entry = { id, channel, person, name, mediaType, bytes: bytes.length, atMs };
    await this.change((files) => [...files, entry]);
    await this.removeOld(atMs);
    for (const { pieceId, start, end } of piecesOf(entry)) {
      const base64 = bytes.subarray(start, end).toString('base64');
      await this.pieces.update(pieceId, () => ({ base64 }));
    }
    return shownFile(entry);
  }

  private async *readPieces(entry: FileEntry): AsyncGenerator<Buffer> {
    for (const { pieceId } of piecesOf(entry)) {
      const piece = await this.pieces.get(pieceId);
      if (!piece) throw new FileError(GONE, { isGone: true });
      yield Buffer.from(piece.base64, 'base64');
    }
  }

  /** Removes the pieces first: a kill in between leaves entries that are removed again, and no piece without an entry. */
  private async remove(removed: readonly FileEntry[]) {
    if (removed.length === 0) return;
    for (const { pieceId } of removed.flatMap(piecesOf)) {
      await this.pieces.update(pieceId, () => undefined);
    }
    const ids = new Set(removed.map(({ id }) => id));
    await this.change((files) => files.filter(({ id }) => !ids.has(id)));
  }

  private async all(): Promise<FileEntry[]> {
    return (await this.index.get(DOCUMENT))?.files ?? [];
  }

  private async find(id: string) {
    return (await this.all()).find((one) => one.id === id);
  }

  private async change(change: (files: readonly FileEntry[]) => FileEntry[]) {
    await this.index.update(DOCUMENT, (current) => ({ files: change(current?.files ?? []) }));
  }
}

export const shownFile = ({
  id,
  name,
  mediaType,
}: Pick<FileEntry, 'id' | 'name' | 'mediaType'>): ShownFile => ({
  id,
  name,
  picture: mediaType.startsWith('image/'),
});

const piecesOf = ({ id, bytes }: FileEntry) =>
  Array.from({ length: Math.ceil(bytes / PIECE_BYTES) }, (_, index) => ({
    pieceId: `${id} ${index}`,
    start: index * PIECE_BYTES,
    end: (index + 1) * PIECE_BYTES,
  }));

const fileGone = () => notFound('This file is no longer available.');

/** The newest files within the limits, without the ones that are too old. */
function filesToKeep(files: readonly FileEntry[], nowMs: number): FileEntry[] {
  let roomBytes = MAX_BYTES;
  const newest = files
    .filter(({ atMs, message }) => atMs > nowMs - (message === undefined ? UNSENT_MS : KEEP_MS))
    .slice(-MAX_FILES)
    .reverse()
    .filter(({ bytes }) => {
      roomBytes -= bytes;
      return roomBytes >= 0;
    });
  return newest.reverse();
}

/** Finds the type from the content. Throws an `HttpError` that says why Askwatch doesn't read it. */
function mediaTypeOf(bytes: Buffer): string {
  const unreadable = (why: string) =>
    new HttpError(422, 'unreadable_file', `It can't be read: ${why}`);
  if (bytes.length === 0) throw unreadable('it is empty.');
  if (bytes.length > MAX_FILE_BYTES) {
    throw unreadable(`it is larger than ${MAX_FILE_BYTES / 1_000_000} MB.`);
  }
  const kind = kindOf(bytes.subarray(0, 4_096));
  if (kind.kind === 'pdf') return 'application/pdf';
  if (kind.kind === 'text') return 'text/plain';
  if (kind.kind === 'other') {
    throw unreadable(
      `it is ${kind.what}. Askwatch reads PNG, JPEG, WebP and GIF images, text files and PDFs.`,
    );
  }
  try {
    checkPicture(bytes, kind.mediaType);
  } catch (error) {
    throw error instanceof FileError ? unreadable(error.message) : error;
  }
  return kind.mediaType;
}
