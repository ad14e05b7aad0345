import type { ErrorBody } from '../../contracts/error.ts';
import {
  DONE_EVENT,
  dataEvent,
  EVENT_STREAM,
  PING_COMMENT,
} from '../../contracts/server-sent-events.ts';
import type { Exchange } from '../../http/direct-route.ts';

/** Names and values in turn. */
const STREAM_HEADERS = [
  'content-type',
  `${EVENT_STREAM}; charset=utf-8`,
  'cache-control',
  'no-cache',
  // Stops nginx from holding events back. Source: nginx docs, ngx_http_proxy_module, "proxy_buffering".
  'x-accel-buffering',
  'no',
] as const;

/** Time for the error event to leave before the connection is closed anyway. */
const FAIL_LIMIT_MS = 1_000;

/**
 * A streamed answer on its way to the client. The first write sends its status, so it can be refused until then. While nothing
 * else is sent, a comment goes out every `pingMs`, so that no proxy closes the connection while a model thinks.
 */
export class SseResponse {
  readonly #exchange: Exchange;
  readonly #drainMs: number;
  readonly #headers: () => readonly string[];
  readonly #pings: NodeJS.Timeout;
  #hasBegun = false;
  /** Events that leave at the end of this turn. */
  #unsent = '';

  constructor(options: {
    exchange: Exchange;
    pingMs: number;
    /** A client that reads nothing for this long is treated as gone. */
    drainMs: number;
    /** Names and values in turn, asked for when the answer begins. */
    headers: () => readonly string[];
  }) {
    this.#exchange = options.exchange;
    this.#drainMs = options.drainMs;
    this.#headers = options.headers;
    this.#pings = setInterval(() => this.#ping(), options.pingMs);
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /**
   * Sends an event; returns false if the caller should wait for `drained` before the next one. Events that arrived in one
   * packet leave in one write, because a write costs as much as everything else about an event.
   */
  write(event: string): boolean {
    const { response } = this.#exchange;
    this.#begin();
    if (this.#unsent === '') process.nextTick(() => this.#send());
    this.#unsent += event;
    return !response.writableNeedDrain || response.destroyed;
  }

  /** Waits until the client has read enough, or is gone. `gone` also aborts for a response that is queued behind another one. */
  async drained(gone: AbortSignal): Promise<void> {
    const { response } = this.#exchange;
    if (response.destroyed || gone.aborted) return;
    await new Promise<void>((resolve) => {
      const limit = setTimeout(() => response.destroy(), this.#drainMs);
      const done = () => {
        clearTimeout(limit);
        response.off('drain', done).off('close', done);
        gone.removeEventListener('abort', done);
        resolve();
      };
      response.on('drain', done).on('close', done);
      gone.addEventListener('abort', done);
    });
  }

  /** Says that the answer is whole, and ends it. */
  end(): void {
    this.#begin();
    this.#exchange.response.end(this.#takeUnsent() + DONE_EVENT);
  }

  /** Says that the answer broke, and ends it so that no client takes it for whole. */
  fail(error: ErrorBody): void {
    const { response } = this.#exchange;
    this.#begin();
    const limit = setTimeout(() => response.destroy(), FAIL_LIMIT_MS);
    response.write(this.#takeUnsent() + dataEvent(error), () => {
      clearTimeout(limit);
      response.destroy();
    });
  }

  /** Stops the comments; call it in any case. */
  release(): void {
    clearInterval(this.#pings);
  }

  #begin(): void {
    const { response, id } = this.#exchange;
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    if (response.destroyed) return;
    response.writeHead(200, [...STREAM_HEADERS, 'x-request-id', id, ...this.#headers()]);
  }

  #send(): void {
    const events = this.#takeUnsent();
    if (events === '') return;
    this.#pings.refresh();
    this.#exchange.response.write(events);
  }

  #takeUnsent(): string {
    const events = this.#unsent;
    this.#unsent = '';
    return events;
  }

  #ping(): void {
    const { response } = this.#exchange;
    if (response.destroyed || response.writableNeedDrain || this.#unsent !== '') return;
    this.#begin();
    response.write(PING_COMMENT);
  }
}
