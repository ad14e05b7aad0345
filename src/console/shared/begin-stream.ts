import type { ServerResponse } from 'node:http';
import type { HttpReply } from '../../http/server-types.ts';

/** Writes the head of an event stream, with the headers that guards have set, and hands its rest over. */
export function beginStream(reply: HttpReply): ServerResponse {
  reply.hijack();
  reply.header('content-type', 'text/event-stream; charset=utf-8');
  reply.header('cache-control', 'no-store');
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.writeHead(200);
  return reply.raw;
}
