import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HttpReply, HttpRequest } from '../../http/server-types.ts';

const compress = promisify(gzip);

/** Smaller bodies are sent uncompressed. */
const COMPRESSED_FROM_BYTES = 1_000;

const compressed = new WeakMap<Buffer, Promise<Buffer>>();

/** Compresses a body once, for clients that accept gzip. */
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

/** A body with a tag, so that a client that has it gets a 304. */
export interface TaggedBody {
  body: Buffer;
  tag: string;
  type: string;
  cacheControl: string;
}

/** Sends a body, or a 304 if the client has it. Source: RFC 9110 §13.1.2. */
export async function sendConditional(
  request: HttpRequest,
  reply: HttpReply,
  { body, tag, type, cacheControl }: TaggedBody,
): Promise<HttpReply> {
  // The tag is weak, because equal content may be compressed or have another time in it.
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
