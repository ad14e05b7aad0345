import type { Dispatcher } from 'undici';
import { EVENT_STREAM } from '../../contracts/server-sent-events.ts';
import type { Provider } from '../providers/provider.ts';
import {
  connectionError,
  errorOfResponse,
  timeoutError,
  unusableError,
} from '../providers/provider-errors.ts';

/** A model of a provider, and the connections to call it over. */
export interface CallTarget {
  provider: Provider;
  model: string;
  dispatcher: Dispatcher;
  origin: string;
  path: string;
  headers: Record<string, string>;
}

const ERROR_LIMIT_BYTES = 64 * 1024;

/** Created once, because a reason of its own for each call would cost a stack trace. */
const CALL_ENDED = new Error('The call has ended.');

/**
 * One call to a provider, from its request to the end of its answer. It ends early when the client leaves, or when nothing
 * happens for as long as `wait` allows. `end` it in any case.
 */
export class ProviderCall {
  readonly #target: CallTarget;
  readonly #client: AbortSignal;
  /** Ends the request at the provider, for the reason that the caller gets. */
  readonly #over = new AbortController();
  readonly #onClientGone = () => this.#over.abort(this.#client.reason);
  /** End of the present wait. */
  #deadlineMs = Number.POSITIVE_INFINITY;
  /** The timer fires at this time, and starts again if the deadline is later by then. */
  #timerMs = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isRead = false;

  /** `client` aborts when nobody waits for the answer any more. Throws its reason if it has aborted already. */
  constructor(target: CallTarget, client: AbortSignal) {
    client.throwIfAborted();
    this.#target = target;
    this.#client = client;
    client.addEventListener('abort', this.#onClientGone, { once: true });
  }

  /** Sets how long it may take from now on until something happens; `Infinity` for as long as it likes. */
  wait(ms: number): void {
    this.#deadlineMs = performance.now() + ms;
    // Every event of a stream sets a new deadline, so that a timer for each would be costly.
    if (this.#deadlineMs < this.#timerMs) this.#startTimer(ms);
  }

  /**
   * Sends the request and returns the bytes of a good answer, of events if it `streams`. Throws `UpstreamError`, or the
   * client's reason; so do the bytes.
   */
  async send(body: unknown, streams: boolean): Promise<AsyncGenerator<Buffer, void, undefined>> {
    const { provider, model, dispatcher, origin, path, headers } = this.#target;
    let response: Dispatcher.ResponseData;
    try {
      response = await dispatcher.request({
        origin,
        path,
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        signal: this.#over.signal,
      });
    } catch (error) {
      throw this.#failureOf(error);
    }
    // A body that is closed unread emits an error, which a reader gets all the same.
    response.body.on('error', () => {});
    const bytes = this.#read(response.body);
    if (response.statusCode !== 200) {
      const text = await readStart(bytes, ERROR_LIMIT_BYTES);
      const answer = { status: response.statusCode, headers: response.headers, body: text };
      throw errorOfResponse(provider, model, answer);
    }
    if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') {
      throw unusableError(provider, 'uses an encoding that was not requested');
    }
    if (streams && !String(response.headers['content-type']).startsWith(EVENT_STREAM)) {
      throw unusableError(provider, 'is not a stream');
    }
    return bytes;
  }

  #startTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = performance.now() + ms;
    this.#timer = setTimeout(() => {
      const leftMs = this.#deadlineMs - performance.now();
      if (leftMs <= 0) this.#over.abort(timeoutError(this.#target.provider));
      else this.#startTimer(Math.min(leftMs, ms));
    }, ms);
  }

  /** Stops the clock, and closes the connection unless the answer has been read to its end. */
  end(): void {
    clearTimeout(this.#timer);
    this.#client.removeEventListener('abort', this.#onClientGone);
    if (!this.#isRead) this.#over.abort(CALL_ENDED);
  }

  async *#read(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* body;
      this.#isRead = true;
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  #failureOf(error: unknown): unknown {
    const { signal } = this.#over;
    return signal.aborted ? signal.reason : connectionError(this.#target.provider, error);
  }
}

async function readStart(bytes: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of bytes) {
    parts.push(part);
    length += part.length;
    if (length > maxBytes) break;
  }
  return Buffer.concat(parts).toString();
}
