import type { ServerResponse } from 'node:http';
import type { HttpReply } from '../../http/server-types.ts';

/** A browser that has not read so many bytes is cut off; it comes back and begins anew. */
const MAX_UNREAD_BYTES = 4_000_000;

/** How often a silent stream gets a comment, so that nothing between takes it for dead. */
const HEARTBEAT_MS = 15_000;

const STILL_HERE = ': still here\n\n';

/** Writes the head of an event stream, with the headers that guards have set, and hands its rest over. */
export function beginStream(reply: HttpReply): ServerResponse {
  reply.hijack();
  reply.header('content-type', 'text/event-stream; charset=utf-8');
  reply.header('cache-control', 'no-store');
  // nginx buffers an answer unless it says this. Source: nginx docs, ngx_http_proxy_module, "proxy_buffering".
  reply.header('x-accel-buffering', 'no');
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.writeHead(200);
  return reply.raw;
}

/** Writes events to a stream. Checks what is unread before it adds: one large frame alone is no sign of a slow reader. */
export function writeEvents(response: ServerResponse, text: string | Buffer): void {
  if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
  else response.write(text);
}

/** Keeps streams from looking dead until the timer is cleared. */
export function keepAlive(streams: () => Iterable<ServerResponse>): NodeJS.Timeout {
  return setInterval(() => {
    for (const response of streams()) writeEvents(response, STILL_HERE);
  }, HEARTBEAT_MS).unref();
}
