import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HttpReply, HttpRequest } from '../../http/server-types.ts';

const compress = promisify(gzip);

/** Smaller answers are sent as they are. */
const COMPRESSED_FROM_BYTES = 1_000;

/** Bodies that were compressed, as long as somebody may ask for them again. */
const compressed = new WeakMap<Buffer, Promise<Buffer>>();

/** Compresses a body where that is understood, once however often it is asked for. */
export async function compressedFor(
  body: Buffer,
  request: HttpRequest,
  reply: HttpReply,
): Promise<Buffer> {
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return body;
  reply.header('content-encoding', 'gzip');
  const small = compressed.get(body) ?? compress(body);
  compressed.set(body, small);
  return await small;
}

/** Something to send that whoever has it already need not be sent again. */
export interface Content {
  body: Buffer;
  /** Differs from one content to the next. */
  tag: string;
  type: string;
  cacheControl: string;
}

/** Sends it, compressed where that is understood, or says that it has not changed. Source: RFC 9110 §13.1.2. */
export async function sendConditional(
  request: HttpRequest,
  reply: HttpReply,
  { body, tag, type, cacheControl }: Content,
): Promise<HttpReply> {
  // Weak: what is the same to a reader may be written at another time, or compressed.
  const etag = `W/"${tag}"`;
  reply.header('etag', etag).header('cache-control', cacheControl);
  reply.header('vary', 'accept-encoding, cookie');
  if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send();
  reply.type(type);
  const isSmall = body.length < COMPRESSED_FROM_BYTES;
  return reply.send(isSmall ? body : await compressedFor(body, request, reply));
}

function isKnown(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header
    .split(',')
    .map((one) => one.trim())
    .some((one) => one === '*' || one.replace(/^W\//, '') === `"${tag}"`);
}
