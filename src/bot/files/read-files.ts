import type { Logger } from 'pino';
import type { Place } from '../shared/place.ts';
import { FileError, type SharedFile } from '../shared/shared-file.ts';
import { inWords } from '../shared/text-format.ts';
import { type FileKind, HEAD_BYTES, kindOf, type PictureType } from './file-kind.ts';
import { checkPicture } from './picture.ts';
import { decodeText } from './text-file.ts';

/** What is read at most. With all that may stand beside it in a request, it is less than a gateway takes. */
export const FILE_LIMITS = {
  /** Of one question. */
  files: 8,
  /** Each, and all that are shown to a model at once. */
  pictureBytes: 4_500_000,
  pdfBytes: 10_000_000,
  /** Of a text, from its beginning. */
  textBytes: 400_000,
  /** Of all that is read at once for one question. */
  heldBytes: 24_000_000,
  /** For one to come. */
  fetchMs: 20_000,
} as const;

export type FileLimits = Record<keyof typeof FILE_LIMITS, number>;

/** What is in a file, or why that is not known. */
export type FileContent =
  | { kind: 'picture'; mediaType: PictureType; bytes: number; base64: string }
  /** `more` says what of it was not read, where that is not all. */
  | { kind: 'text'; text: string; more?: string }
  | { kind: 'unread'; error: FileError };

/** The text of a PDF. */
export interface PdfText {
  text: string;
  /** What of it was not read. */
  more?: string;
}

/** Reads files that people sent. */
export type FileReader = ReturnType<typeof createFileReader>;

/** Reads what `open` streams; `readPdf` throws a `FileError` for what it cannot read, and the signal's reason. */
export function createFileReader(options: {
  open(place: Place, file: SharedFile, signal: AbortSignal): AsyncIterable<Uint8Array>;
  readPdf(bytes: Uint8Array, signal: AbortSignal): Promise<PdfText>;
  /** Others than `FILE_LIMITS` has. */
  limits?: Partial<FileLimits>;
  log: Logger;
}) {
  const { open, readPdf, log } = options;
  const limits: FileLimits = { ...FILE_LIMITS, ...options.limits };

  async function read(
    place: Place,
    file: SharedFile,
    room: { bytes: number },
    signal: AbortSignal,
  ): Promise<FileContent> {
    const time = new AbortController();
    const timer = setTimeout(() => time.abort(), limits.fetchMs);
    try {
      const both = AbortSignal.any([signal, time.signal]);
      const fetched = await fetchBytes(open(place, file, both), room);
      clearTimeout(timer);
      return await contentOf(fetched, signal);
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'unread', error: fileError(error, time.signal) };
    } finally {
      clearTimeout(timer);
    }
  }

  function fileError(error: unknown, { aborted }: AbortSignal): FileError {
    if (aborted) {
      const took = `it took longer than ${inWords(limits.fetchMs)} to download.`;
      return new FileError(`${took} Ask again in a moment.`, { cause: error });
    }
    if (error instanceof FileError) return error;
    log.error({ err: error }, 'could not read a file');
    const text = 'something went wrong. Your Askwatch admin can find the cause in the log.';
    return new FileError(text, { cause: error });
  }

  /** All of a picture or a PDF, or as much of a text as is read; leaves the stream when it knows enough. */
  async function fetchBytes(stream: AsyncIterable<Uint8Array>, room: { bytes: number }) {
    const parts: Uint8Array[] = [];
    let length = 0;
    let kind: Readable | undefined;
    let isWhole = true;
    for await (const part of stream) {
      room.bytes -= part.length;
      if (room.bytes < 0) throw new FileError(TOGETHER);
      parts.push(part);
      length += part.length;
      if (length >= HEAD_BYTES) kind ??= readable(Buffer.concat(parts));
      isWhole = kind === undefined || length <= most(kind);
      if (!isWhole) break;
    }
    if (length === 0) throw new FileError('it is empty.');
    const bytes = Buffer.concat(parts);
    kind ??= readable(bytes);
    isWhole &&= length <= most(kind);
    if (!isWhole && kind.kind !== 'text') throw tooLarge(kind, most(kind));
    return { kind, bytes: bytes.subarray(0, most(kind)), isWhole };
  }

  const most = ({ kind }: Readable) =>
    ({ picture: limits.pictureBytes, pdf: limits.pdfBytes, text: limits.textBytes })[kind];

  async function contentOf(
    { kind, bytes, isWhole }: Awaited<ReturnType<typeof fetchBytes>>,
    signal: AbortSignal,
  ): Promise<FileContent> {
    if (kind.kind === 'pdf') return { kind: 'text', ...(await readPdf(bytes, signal)) };
    if (kind.kind === 'text') {
      const text = decodeText(bytes, { isWhole });
      return { kind: 'text', text, ...(!isWhole && { more: 'the file continues after that' }) };
    }
    checkPicture(bytes, kind.mediaType);
    const { mediaType } = kind;
    return { kind: 'picture', mediaType, bytes: bytes.length, base64: bytes.toString('base64') };
  }

  return {
    /** What is in each, in their order, all read at once. Throws only the signal's reason. */
    async read(
      place: Place,
      files: readonly SharedFile[],
      signal: AbortSignal,
    ): Promise<FileContent[]> {
      const room = { bytes: limits.heldBytes };
      return await Promise.all(files.map((file) => read(place, file, room, signal)));
    },
  };
}

type Readable = Exclude<FileKind, { kind: 'other' }>;

const TOGETHER = 'the files of this question are too large together. Send fewer at a time.';

/** Throws a `FileError` for what models cannot take. */
function readable(head: Uint8Array): Readable {
  const kind = kindOf(head.subarray(0, HEAD_BYTES));
  if (kind.kind !== 'other') return kind;
  const { what } = kind;
  throw new FileError(
    `it is ${what}. Askwatch reads PNG, JPEG, WebP and GIF images, text files and PDFs.`,
  );
}

function tooLarge({ kind }: Readable, max: number): FileError {
  const advice =
    kind === 'picture' ? 'Make it smaller, or crop it.' : 'Send only the part that matters.';
  return new FileError(`it is larger than ${max / 1_000_000} MB. ${advice}`);
}
