import type { ServerResponse } from 'node:http';
import type { HttpReply } from '../../http/server-types.ts';

/** A browser that lags so many bytes behind is cut off. It reconnects and starts over. */
const MAX_UNREAD_BYTES = 4_000_000;

/** A silent stream gets a comment, so that no proxy takes it for dead. */
const HEARTBEAT_MS = 15_000;

const STILL_HERE = ': still here\n\n';

/** Writes the head of an event stream, with the headers set by guards, and returns the response. */
export function beginStream(reply: HttpReply): ServerResponse {
  reply.hijack();
  reply.header('content-type', 'text/event-stream; charset=utf-8');
  reply.header('cache-control', 'no-store');
  // nginx buffers an answer without this header. Source: nginx docs, ngx_http_proxy_module, "proxy_buffering".
  reply.header('x-accel-buffering', 'no');
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.writeHead(200);
  return reply.raw;
}

/** Writes events. The limit ignores the new text, because one large event doesn't make a slow reader. */
export function writeEvents(response: ServerResponse, text: string | Buffer): void {
  if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
  else response.write(text);
}

/** Sends comments to silent streams until the timer is cleared. */
export function keepAlive(streams: () => Iterable<ServerResponse>): NodeJS.Timeout {
  return setInterval(() => {
    for (const response of streams()) writeEvents(response, STILL_HERE);
  }, HEARTBEAT_MS).unref();
}
