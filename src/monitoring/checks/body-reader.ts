import type { IncomingMessage } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { CheckFailure, CLOSED_EARLY } from './check-result.ts';

/** Limit of a page's bytes, both as received and unpacked. */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** Content codings on top of one another; servers use one. */
const MAX_CODINGS = 2;

export interface PageText {
  text: string;
  bytes: number;
  /** The page is longer than the limit. */
  cut: boolean;
  /** Content type for people, such as `HTML`. */
  kind: string;
}

/**
 * Reads at most 1 MiB of a page as text: unpacks it (gzip, deflate, br) and decodes its charset. The limit holds for unpacked bytes,
 * so a small answer that unpacks to gigabytes costs no more. Throws a `CheckFailure` if it can't be unpacked.
 */
export async function readPageText(answer: IncomingMessage): Promise<PageText> {
  const { bytes, cut } = await readLimited(unpacked(answer));
  const text = decoderFor(answer, bytes).decode(bytes);
  return { text, bytes: bytes.length, cut, kind: kindOf(answer) };
}

function kindOf(answer: IncomingMessage): string {
  const type = answer.headers['content-type'] ?? '';
  return /\b(html|json|xml)\b/i.exec(type)?.[1]?.toUpperCase() ?? 'text';
}

/** Reads an answer to its end or the limit without keeping it, to find answers that break off. */
export function drain(answer: IncomingMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = BODY_LIMIT_BYTES;
    answer.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) resolve();
    });
    answer.once('end', resolve);
    answer.on('error', reject);
    // The answer may have broken off before.
    if (answer.errored) reject(answer.errored);
    answer.once('close', () => reject(CLOSED_EARLY));
  });
}

async function readLimited(
  source: AsyncIterable<Uint8Array>,
): Promise<{ bytes: Buffer; cut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > BODY_LIMIT_BYTES) break;
  }
  const bytes = Buffer.concat(chunks).subarray(0, BODY_LIMIT_BYTES);
  return { bytes, cut: size > BODY_LIMIT_BYTES };
}

/** Passes on one byte more than the limit, so that the reader notices a longer page. */
async function* limited(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = BODY_LIMIT_BYTES + 1;
  for await (const chunk of source) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

function unpacked(answer: IncomingMessage): AsyncIterable<Uint8Array> {
  const codings = (answer.headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > MAX_CODINGS) throw unknownCoding(codings.join(', '));
  return codings.reduceRight<AsyncIterable<Uint8Array>>(
    (source, coding) => unpack(source, coding),
    limited(answer),
  );
}

async function* unpack(
  source: AsyncIterable<Uint8Array>,
  coding: string,
): AsyncGenerator<Uint8Array> {
  const [first, all] = await withFirst(source);
  if (first === undefined) return;
  const unpacker = unpackerFor(coding, first);
  let sourceError: unknown;
  pipeline(watched(all), unpacker, () => {});
  try {
    yield* unpacker as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (sourceError !== undefined) throw sourceError;
    throw new CheckFailure('protocol', `the answer could not be decompressed (${coding})`, {
      cause: error,
    });
  } finally {
    unpacker.destroy();
  }

  /** Distinguishes a broken connection from invalid packing. */
  async function* watched(chunks: AsyncIterable<Uint8Array>) {
    try {
      yield* chunks;
    } catch (error) {
      sourceError = error;
      throw error;
    }
  }
}

function unpackerFor(coding: string, first: Uint8Array): Transform {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'br':
      return createBrotliDecompress();
    case 'deflate':
      // Some servers leave out the zlib header (RFC 1950: low nibble 8).
      return ((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw();
    default:
      throw unknownCoding(coding);
  }
}

const unknownCoding = (coding: string) =>
  new CheckFailure(
    'protocol',
    `the answer has an unknown encoding (${coding.replace(/[^\w ,.-]/g, '').slice(0, 40)})`,
  );

async function withFirst(
  source: AsyncIterable<Uint8Array>,
): Promise<[Uint8Array | undefined, AsyncIterable<Uint8Array>]> {
  const iterator = source[Symbol.asyncIterator]();
  const { value: first, done } = await iterator.next();
  if (done || first === undefined) return [undefined, source];
  async function* all() {
    yield first as Uint8Array;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return [first, all()];
}

/** By byte order mark, then header, then the page's own `<meta charset>`, else UTF-8. Source: WHATWG HTML §13.2.3. */
function decoderFor(answer: IncomingMessage, bytes: Buffer): TextDecoder {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be');
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le');
  const pattern = /charset\s*=\s*["']?([\w:.-]{1,40})/i;
  const label =
    pattern.exec(answer.headers['content-type'] ?? '')?.[1] ??
    pattern.exec(bytes.subarray(0, 1024).toString('latin1'))?.[1];
  try {
    return new TextDecoder(label ?? 'utf-8');
  } catch {
    // Most keywords read the same in UTF-8 as in an unknown charset.
    return new TextDecoder('utf-8');
  }
}
