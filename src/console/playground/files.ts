import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { kindOf } from '../../bot/files/file-kind.ts';
import { checkPicture } from '../../bot/files/picture.ts';
import type { Collection } from '../../bot/platform.ts';
import { FileError, GONE, type SharedFile, sharedFile } from '../../bot/shared/shared-file.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { ShownFile } from '../shared/api-types.ts';
import { MAX_FILE_BYTES } from '../shared/file-limits.ts';

/** Of all together; the oldest go first. */
const MAX_FILES = 300;
const MAX_BYTES = 100_000_000;

const KEEP_MS = 30 * 86_400_000;

/** What was never sent with a message is nobody's so long after. */
const UNSENT_MS = 60 * 60_000;

/** Small enough that no piece holds anybody up while it is stored. */
const PIECE_BYTES = 256 * 1024;

/** Files that may be on their way at once. */
const MAX_UNDER_WAY = 8;

const Entry = z.object({
  id: z.string(),
  channel: z.string(),
  /** Who sent it. */
  person: z.string(),
  name: z.string(),
  mediaType: z.string(),
  bytes: z.number(),
  atMs: z.number(),
  /** The channel message that it came with, or under which; none before it is sent. */
  message: z.string().optional(),
});
type Entry = z.infer<typeof Entry>;

const Index = z.object({ files: z.array(Entry) });
export type FileIndex = z.infer<typeof Index>;
const Piece = z.object({ base64: z.string() });
export type FilePiece = z.infer<typeof Piece>;

/** Where the console keeps which files there are: one document, since there is a limit to them all. */
export const filesCollection = {
  name: 'console-files',
  schema: Index,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** Where it keeps what is in them. */
export const piecesCollection = {
  name: 'console-file-pieces',
  schema: Piece,
  version: 1,
  whenCorrupt: 'forget' as const,
};

const DOCUMENT = 'files';

/** The files that people send at the console, for all processes. */
export type ConsoleFiles = ReturnType<typeof createFiles>;

/** Makes the place where they are kept. */
export function createFiles(index: Collection<FileIndex>, pieces: Collection<FilePiece>) {
  let underWay = 0;

  const all = async () => (await index.get(DOCUMENT))?.files ?? [];
  const find = async (id: string) => (await all()).find((one) => one.id === id);

  const change = (make: (files: readonly Entry[]) => Entry[]) =>
    index.update(DOCUMENT, (current) => ({ files: make(current?.files ?? []) }));

  /** Removes files: their pieces first, so that a kill in between leaves an entry that is removed again, and no lost piece. */
  async function remove(gone: readonly Entry[]) {
    if (gone.length === 0) return;
    for (const { id, bytes } of gone) {
      for (let no = 0; no * PIECE_BYTES < bytes; no += 1) {
        await pieces.update(pieceId(id, no), () => undefined);
      }
    }
    const ids = new Set(gone.map(({ id }) => id));
    await change((files) => files.filter(({ id }) => !ids.has(id)));
  }

  /** Removes files that are too old, and the oldest ones that have no room. */
  async function removeOld(nowMs: number) {
    const files = await all();
    const kept = new Set(filesToKeep(files, nowMs));
    await remove(files.filter((one) => !kept.has(one)));
  }

  async function* read(entry: Entry): AsyncGenerator<Buffer> {
    for (let no = 0; no * PIECE_BYTES < entry.bytes; no += 1) {
      const piece = await pieces.get(pieceId(entry.id, no));
      if (!piece) throw new FileError(GONE, { isGone: true });
      yield Buffer.from(piece.base64, 'base64');
    }
  }

  async function keep(of: { channel: string; person: string; name: string; bytes: Buffer }) {
    const { channel, person, bytes } = of;
    const { name } = sharedFile({ name: of.name, ref: {} });
    const mediaType = typeOf(bytes);
    const entry = { id: randomUUID(), channel, person, name, mediaType, bytes: bytes.length };
    const atMs = Date.now();
    await change((files) => [...files, { ...entry, atMs }]);
    await removeOld(atMs);
    for (let no = 0; no * PIECE_BYTES < bytes.length; no += 1) {
      const part = bytes.subarray(no * PIECE_BYTES, (no + 1) * PIECE_BYTES);
      const base64 = part.toString('base64');
      await pieces.update(pieceId(entry.id, no), () => ({ base64 }));
    }
    return shownFile(entry);
  }

  return {
    /** Keeps a file that somebody is about to send. Throws an `HttpError` for one that Askwatch does not read. */
    async add(of: { channel: string; person: string; name: string; bytes: Buffer }) {
      if (underWay >= MAX_UNDER_WAY) {
        const text = 'Too many files at once. Wait a moment and try again.';
        throw new HttpError(429, 'too_many_requests', text, { headers: { 'retry-after': '1' } });
      }
      underWay += 1;
      try {
        return await keep(of);
      } finally {
        underWay -= 1;
      }
    },
    /**
     * Files that somebody sends with a message in a channel, and from then on stay as long as the channel message that they
     * stand in or under. Throws an `HttpError` when one is not there, or is somebody else's.
     */
    async send(
      ids: readonly string[],
      { channel, person, message }: { channel: string; person: string; message: string },
    ): Promise<SharedFile[]> {
      if (ids.length === 0) return [];
      const there = await all();
      const files = ids.map((id) => {
        const found = there.find((one) => one.id === id);
        if (found?.channel === channel && found.person === person) return found;
        throw notFound('A file is no longer available. Remove it and attach it again.');
      });
      await change((before) =>
        before.map((one) => (ids.includes(one.id) ? { ...one, message } : one)),
      );
      return files.map(({ id, name, mediaType, bytes }) =>
        sharedFile({ name, mediaType, bytes, ref: { id } }),
      );
    },
    /** Streams a file that was sent in a channel. Throws a `FileError`. */
    async *read({ ref: { id = '' } }: SharedFile, channel: string): AsyncGenerator<Uint8Array> {
      const found = await find(id);
      if (found?.channel !== channel) throw new FileError(GONE, { isGone: true });
      yield* read(found);
    },
    /** What is in a file, for a browser. Throws an `HttpError`. */
    async fetch(id: string): Promise<{ name: string; mediaType: string; bytes: Buffer }> {
      const found = await find(id);
      if (!found) throw fileGone();
      const parts: Buffer[] = [];
      try {
        for await (const part of read(found)) parts.push(part);
      } catch (error) {
        throw error instanceof FileError ? fileGone() : error;
      }
      return { name: found.name, mediaType: found.mediaType, bytes: Buffer.concat(parts) };
    },
    /** Removes the files of channel messages that are gone, and of their threads. */
    async removeWith(messages: readonly string[]) {
      const gone = new Set(messages);
      await remove(
        (await all()).filter(({ message }) => message !== undefined && gone.has(message)),
      );
    },
    removeOld,
  };
}

/** A file as a message shows it. Pure. */
export const shownFile = ({
  id,
  name,
  mediaType,
}: Pick<Entry, 'id' | 'name' | 'mediaType'>): ShownFile => ({
  id,
  name,
  picture: mediaType.startsWith('image/'),
});

const fileGone = () => notFound('This file is no longer available.');

const pieceId = (id: string, no: number) => `${id} ${no}`;

/** The newest files that have room, without those that are too old. Pure. */
function filesToKeep(files: readonly Entry[], nowMs: number): Entry[] {
  let left = MAX_BYTES;
  const newest = files
    .filter(({ atMs, message }) => atMs > nowMs - (message === undefined ? UNSENT_MS : KEEP_MS))
    .slice(-MAX_FILES)
    .reverse()
    .filter(({ bytes }) => {
      left -= bytes;
      return left >= 0;
    });
  return newest.reverse();
}

/** What it is by what is in it; throws an `HttpError` that says why Askwatch does not read it. */
function typeOf(bytes: Buffer): string {
  const refused = (why: string) =>
    new HttpError(422, 'unreadable_file', `It can't be read: ${why}`);
  if (bytes.length === 0) throw refused('it is empty.');
  if (bytes.length > MAX_FILE_BYTES) {
    throw refused(`it is larger than ${MAX_FILE_BYTES / 1_000_000} MB.`);
  }
  const kind = kindOf(bytes.subarray(0, 4_096));
  if (kind.kind === 'pdf') return 'application/pdf';
  if (kind.kind === 'text') return 'text/plain';
  if (kind.kind === 'other') {
    throw refused(
      `it is ${kind.what}. Askwatch reads PNG, JPEG, WebP and GIF images, text files and PDFs.`,
    );
  }
  try {
    checkPicture(bytes, kind.mediaType);
  } catch (error) {
    throw error instanceof FileError ? refused(error.message) : error;
  }
  return kind.mediaType;
}
