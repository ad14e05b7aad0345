import type { ErrorBody } from '../contracts/error.ts';
import {
  DONE_EVENT,
  dataEvent,
  EVENT_STREAM,
  PING_COMMENT,
} from '../contracts/server-sent-events.ts';
import type { HttpReply } from '../http/server.ts';

/** A streamed answer on its way to the caller. Its status is sent with the first write, so until then it can be refused. */
export interface EventStream {
  readonly begun: boolean;
  /** Sends one event; resolves when the caller takes more. */
  send(value: unknown): Promise<void>;
  /** Says that the answer is whole, and ends it. */
  end(): void;
  /** Says that the answer broke, and ends it so that it cannot be taken for whole. */
  fail(error: ErrorBody): void;
  /** Stops the comments; call it always. */
  release(): void;
}

/** A caller that takes nothing for so long is treated as gone. */
const DRAIN_LIMIT_MS = 60_000;

/** How long the error event may take to leave before the connection is closed over it. */
const FAIL_LIMIT_MS = 1_000;

/**
 * Prepares a streamed answer. While nothing else is sent, a comment goes out every `pingMs`, so that no proxy takes the
 * connection for dead while a model thinks.
 */
export function createEventStream(reply: HttpReply, pingMs: number): EventStream {
  const { raw } = reply;
  let begun = false;

  function begin() {
    if (begun) return;
    begun = true;
    reply.hijack();
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': `${EVENT_STREAM}; charset=utf-8`,
      'cache-control': 'no-cache',
      // Tells nginx not to hold events back. Source: nginx docs, ngx_http_proxy_module, "proxy_buffering".
      'x-accel-buffering': 'no',
    });
  }

  const pings = setInterval(() => {
    if (raw.destroyed || raw.writableNeedDrain) return;
    begin();
    raw.write(PING_COMMENT);
  }, pingMs);

  return {
    get begun() {
      return begun;
    },
    async send(value) {
      begin();
      pings.refresh();
      if (!raw.write(dataEvent(value)) && !raw.destroyed) await drained(reply);
    },
    end() {
      begin();
      raw.end(DONE_EVENT);
    },
    fail(error) {
      begin();
      const limit = setTimeout(() => raw.destroy(), FAIL_LIMIT_MS);
      raw.write(dataEvent(error), () => {
        clearTimeout(limit);
        raw.destroy();
      });
    },
    release: () => clearInterval(pings),
  };
}

async function drained({ raw }: HttpReply): Promise<void> {
  await new Promise<void>((resolve) => {
    const limit = setTimeout(() => raw.destroy(), DRAIN_LIMIT_MS);
    const done = () => {
      clearTimeout(limit);
      raw.off('drain', done).off('close', done);
      resolve();
    };
    raw.on('drain', done).on('close', done);
  });
}
