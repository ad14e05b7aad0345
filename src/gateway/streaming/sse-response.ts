import type { ErrorBody } from '../../contracts/error.ts';
import {
  DONE_EVENT,
  dataEvent,
  EVENT_STREAM,
  PING_COMMENT,
} from '../../contracts/server-sent-events.ts';
import type { Exchange } from '../../http/direct-route.ts';
import { toByteString } from './answer-stream.ts';

/** Names and values in turn. */
const STREAM_HEADERS = [
  'content-type',
  `${EVENT_STREAM}; charset=utf-8`,
  'cache-control',
  'no-cache',
  // Tells nginx not to hold events back. Source: nginx docs, ngx_http_proxy_module, "proxy_buffering".
  'x-accel-buffering',
  'no',
] as const;

/** Source: RFC 9112, section 7.1. */
const LAST_CHUNK = '0\r\n\r\n';

/** How long the error event may take to leave before the connection is closed over it. */
const FAIL_LIMIT_MS = 1_000;

/**
 * Prepares a streamed answer on its way to the client. Its status is sent with the first write, so until then it can be
 * refused. While nothing else is sent, a comment goes out every `pingMs`, so that no proxy takes the connection for dead
 * while a model thinks. `headers`, names and values in turn, are asked for when the answer begins.
 */
export function createSseResponse(options: {
  exchange: Exchange;
  pingMs: number;
  /** A client that takes nothing for so long is treated as gone. */
  drainMs: number;
  headers: () => readonly string[];
}) {
  const { exchange, pingMs, drainMs, headers } = options;
  const { response } = exchange;
  let begun = false;
  let chunked = false;

  function begin() {
    if (begun) return;
    begun = true;
    if (response.destroyed) return;
    response.writeHead(200, [...STREAM_HEADERS, 'x-request-id', exchange.id, ...headers()]);
    // The chunks are written here from now on: Node would give each to the socket in four pieces, for half of what an event
    // costs on its way. It is not chunked where the client speaks HTTP/1.0.
    chunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  /** Latin-1 as the body takes it. */
  function framed(events: string): string {
    return chunked ? `${events.length.toString(16)}\r\n${events}\r\n` : events;
  }

  const pings = setInterval(() => {
    if (response.destroyed || response.writableNeedDrain) return;
    begin();
    response.write(framed(PING_COMMENT), 'latin1');
  }, pingMs);

  return {
    get begun() {
      return begun;
    },
    write(events: string): boolean {
      begin();
      pings.refresh();
      return response.write(framed(events), 'latin1') || response.destroyed;
    },
    async drained(): Promise<void> {
      if (response.destroyed) return;
      await new Promise<void>((resolve) => {
        const limit = setTimeout(() => response.destroy(), drainMs);
        const done = () => {
          clearTimeout(limit);
          response.off('drain', done).off('close', done);
          resolve();
        };
        response.on('drain', done).on('close', done);
      });
    },
    /** Says that the answer is whole, and ends it. */
    end(): void {
      begin();
      response.end(framed(DONE_EVENT) + (chunked ? LAST_CHUNK : ''), 'latin1');
    },
    /** Says that the answer broke, and ends it so that it cannot be taken for whole. */
    fail(error: ErrorBody): void {
      begin();
      const limit = setTimeout(() => response.destroy(), FAIL_LIMIT_MS);
      response.write(framed(toByteString(dataEvent(error))), 'latin1', () => {
        clearTimeout(limit);
        response.destroy();
      });
    },
    /** Stops the comments; call it always. */
    release: () => clearInterval(pings),
  };
}
