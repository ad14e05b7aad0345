import type { Logger } from 'pino';
import type { Place } from '../shared/place.ts';
import { FileError, type SharedFile } from '../shared/shared-file.ts';
import { inWords } from '../shared/text-format.ts';
import { type FileKind, HEAD_BYTES, kindOf, type PictureType } from './file-kind.ts';
import { checkPicture } from './picture.ts';
import { decodeText } from './text-file.ts';

/** Together with the rest of a request, this is less than a gateway accepts. */
export const FILE_LIMITS = {
  /** Per question. */
  files: 8,
  /** Each image, and all that a model gets at once. */
  pictureBytes: 4_500_000,
  pdfBytes: 10_000_000,
  /** The rest of a text is not read. */
  textBytes: 400_000,
  /** Everything that is read at once for one question. */
  heldBytes: 24_000_000,
  fetchMs: 20_000,
} as const;

export type FileLimits = Record<keyof typeof FILE_LIMITS, number>;

export type FileContent =
  | { kind: 'picture'; mediaType: PictureType; bytes: number; base64: string }
  /** `more` says which part was not read. */
  | { kind: 'text'; text: string; more?: string }
  | { kind: 'unread'; error: FileError };

export interface PdfText {
  text: string;
  /** The part that was not read. */
  more?: string;
}

/** Bytes of a file with its kind. */
interface FetchedFile {
  kind: ReadableKind;
  bytes: Buffer;
  isWhole: boolean;
}

type ReadableKind = Exclude<FileKind, { kind: 'other' }>;

const TOGETHER = 'the files of this question are too large together. Send fewer at a time.';

export type FileReader = ReturnType<typeof createFileReader>;

/** Reads the files that `open` streams. `readPdf` throws a `FileError`, or the signal's reason. */
export function createFileReader(options: {
  open(place: Place, file: SharedFile, signal: AbortSignal): AsyncIterable<Uint8Array>;
  readPdf(bytes: Uint8Array, signal: AbortSignal): Promise<PdfText>;
  limits?: Partial<FileLimits>;
  log: Logger;
}) {
  const { open, readPdf, log } = options;
  const limits: FileLimits = { ...FILE_LIMITS, ...options.limits };

  async function readOne(
    place: Place,
    file: SharedFile,
    room: { bytes: number },
    signal: AbortSignal,
  ): Promise<FileContent> {
    const late = AbortSignal.timeout(limits.fetchMs);
    let isFetched = false;
    try {
      const stream = open(place, file, AbortSignal.any([signal, late]));
      const fetched = await fetchBytes(stream, room, limits);
      isFetched = true;
      return await contentOf(fetched, (bytes) => readPdf(bytes, signal));
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'unread', error: fileError(error, late.aborted && !isFetched) };
    }
  }

  function fileError(error: unknown, isLate: boolean): FileError {
    if (isLate) {
      const took = `it took longer than ${inWords(limits.fetchMs)} to download.`;
      return new FileError(`${took} Ask again in a moment.`, { cause: error });
    }
    if (error instanceof FileError) return error;
    log.error({ err: error }, 'could not read a file');
    const text = 'something went wrong. Your Askwatch admin can find the cause in the log.';
    return new FileError(text, { cause: error });
  }

  return {
    /** Reads all files at once; contents are in the same order. Throws only the signal's reason. */
    async read(
      place: Place,
      files: readonly SharedFile[],
      signal: AbortSignal,
    ): Promise<FileContent[]> {
      const room = { bytes: limits.heldBytes };
      return await Promise.all(files.map((file) => readOne(place, file, room, signal)));
    },
  };
}

/** Fetches a whole image or PDF, or the beginning of a text; stops as soon as more would be too much. */
async function fetchBytes(
  stream: AsyncIterable<Uint8Array>,
  room: { bytes: number },
  limits: FileLimits,
): Promise<FetchedFile> {
  const parts: Uint8Array[] = [];
  let length = 0;
  let kind: ReadableKind | undefined;
  let isWhole = true;
  for await (const part of stream) {
    room.bytes -= part.length;
    if (room.bytes < 0) throw new FileError(TOGETHER);
    parts.push(part);
    length += part.length;
    if (length >= HEAD_BYTES) kind ??= readableKind(Buffer.concat(parts));
    isWhole = kind === undefined || length <= maxBytes(kind, limits);
    if (!isWhole) break;
  }
  if (length === 0) throw new FileError('it is empty.');
  const bytes = Buffer.concat(parts);
  kind ??= readableKind(bytes);
  const max = maxBytes(kind, limits);
  isWhole &&= length <= max;
  if (!isWhole && kind.kind !== 'text') throw tooLarge(kind, max);
  return { kind, bytes: bytes.subarray(0, max), isWhole };
}

const maxBytes = ({ kind }: ReadableKind, limits: FileLimits) =>
  ({ picture: limits.pictureBytes, pdf: limits.pdfBytes, text: limits.textBytes })[kind];

/** Throws a `FileError` for files that models can't read. */
function readableKind(head: Uint8Array): ReadableKind {
  const kind = kindOf(head.subarray(0, HEAD_BYTES));
  if (kind.kind !== 'other') return kind;
  throw new FileError(
    `it is ${kind.what}. Askwatch reads PNG, JPEG, WebP and GIF images, text files and PDFs.`,
  );
}

function tooLarge({ kind }: ReadableKind, max: number): FileError {
  const advice =
    kind === 'picture' ? 'Make it smaller, or crop it.' : 'Send only the part that matters.';
  return new FileError(`it is larger than ${max / 1_000_000} MB. ${advice}`);
}

async function contentOf(
  { kind, bytes, isWhole }: FetchedFile,
  readPdf: (bytes: Uint8Array) => Promise<PdfText>,
): Promise<FileContent> {
  if (kind.kind === 'pdf') return { kind: 'text', ...(await readPdf(bytes)) };
  if (kind.kind === 'text') {
    const more = isWhole ? undefined : 'the file continues after that';
    return { kind: 'text', text: decodeText(bytes, { isWhole }), more };
  }
  const { mediaType } = kind;
  checkPicture(bytes, mediaType);
  return { kind: 'picture', mediaType, bytes: bytes.length, base64: bytes.toString('base64') };
}
