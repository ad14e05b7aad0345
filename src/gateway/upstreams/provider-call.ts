import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { EVENT_STREAM } from '../../contracts/server-sent-events.ts';
import type { Provider } from '../providers/provider.ts';
import {
  connectionError,
  errorInsideAnswer,
  errorOfResponse,
  timeoutError,
  unusableError,
} from '../providers/provider-errors.ts';
import { BufferList } from '../shared/buffer-list.ts';
import type { ClientCancellation } from '../shared/client-cancellation.ts';
import type { UpstreamError } from '../shared/upstream-error.ts';
import { BrokenStreamError } from '../streaming/answer-stream.ts';

/** Where and how calls to a model of a provider are made. */
export interface CallTarget {
  provider: Provider;
  model: string;
  /** Connections to its origin. */
  dispatcher: Dispatcher;
  /** What is the same in all of them. */
  request: { origin: string; path: string; method: 'POST'; headers: string[] };
}

/** Tells when nobody waits for the answer any more, and why. */
export type Cancellation = Pick<ClientCancellation, 'onCancel' | 'reason'>;

/** Whoever reads the answer to a call. What it throws ends the call. */
export interface CallListener {
  onData(bytes: Buffer): void;
  onEnd(): void;
  /** Called at most once, and not after `onEnd`: with an `UpstreamError`, or the client's reason. */
  onFailure(reason: unknown): void;
}

const ERROR_LIMIT_BYTES = 64 * 1024;

/** It takes iterables too, and sends what is in them; its types do not say so. Source: undici docs, "Dispatcher", `body`. */
type Body = NonNullable<Dispatcher.DispatchOptions['body']>;

/** What undici is told when a call ends before its answer does. */
const CALL_OVER = new Error('The call is over.');

/**
 * One call to a provider, from its request to the end of its answer. It is the older of undici's two kinds of handler:
 * that one is called directly, the newer one through a wrapper that makes an object of all headers.
 */
export class ProviderCall implements Dispatcher.DispatchHandler {
  private readonly target: CallTarget;
  private readonly listener: CallListener;
  private readonly streams: boolean;
  private readonly stopListening: () => void;
  private waitMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private over = false;
  private abort: ((reason: Error) => void) | undefined;
  private paused = false;
  private resumeReading: (() => void) | undefined;
  private status = 0;
  private rawHeaders: readonly Buffer[] = [];
  private refusal: BufferList | undefined;

  /** Sends the request. The call ends when nothing happens for `waitMs`, which `wait` starts anew. */
  constructor(
    target: CallTarget,
    call: {
      body: Buffer[];
      cancellation: Cancellation;
      /** Whether the answer must be a stream of events. */
      streams: boolean;
      waitMs: number;
      listener: CallListener;
    },
  ) {
    const { dispatcher, request } = target;
    const { body, cancellation, listener } = call;
    this.target = target;
    this.listener = listener;
    this.streams = call.streams;
    this.wait(call.waitMs);
    this.stopListening = cancellation.onCancel(() => this.stop(cancellation.reason));
    const { origin, path, method, headers } = request;
    const several = body.length > 1;
    dispatcher.dispatch(
      {
        origin,
        path,
        method,
        headers: several ? [...headers, 'content-length', String(lengthOf(body))] : headers,
        headersTimeout: 0,
        bodyTimeout: 0,
        body: (several ? body : body[0]) as Body,
      },
      this,
    );
  }

  /** From now on it may take so long until something happens, which `Infinity` leaves open. */
  wait(ms: number): void {
    if (this.over) return;
    // Beginning anew costs a third of a new timer, and is asked for with every event of a stream.
    if (ms === this.waitMs && this.timer) {
      this.timer.refresh();
      return;
    }
    clearTimeout(this.timer);
    this.waitMs = ms;
    this.timer =
      ms === Number.POSITIVE_INFINITY
        ? undefined
        : setTimeout(() => this.stop(timeoutError(this.target.provider)), ms);
  }

  /** Reads nothing more after what has been read already. */
  pause(): void {
    this.paused = true;
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.resumeReading?.();
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.abort = abort;
    // It ended while it waited for a connection.
    if (this.over) abort(CALL_OVER);
  }

  onHeaders(status: number, rawHeaders: readonly Buffer[], resume: () => void): boolean {
    // Early hints and the like: the answer is still to come.
    if (status < 200) return true;
    this.status = status;
    this.rawHeaders = rawHeaders;
    this.resumeReading = resume;
    if (status !== 200) {
      this.refusal = new BufferList();
    } else if ((headerOf(rawHeaders, 'content-encoding') ?? 'identity') !== 'identity') {
      this.stop(unusableError(this.target.provider, 'uses an encoding that was not requested'));
    } else if (this.streams && !headerOf(rawHeaders, 'content-type')?.startsWith(EVENT_STREAM)) {
      this.stop(unusableError(this.target.provider, 'is not a stream'));
    }
    return !this.paused;
  }

  onData(bytes: Buffer): boolean {
    if (this.over) return true;
    if (this.refusal) {
      this.refusal.add(bytes);
      if (this.refusal.length > ERROR_LIMIT_BYTES) this.stop(this.refused(this.refusal));
      return true;
    }
    try {
      this.listener.onData(bytes);
    } catch (error) {
      this.stop(this.explain(error));
    }
    return !this.paused;
  }

  onComplete(): void {
    if (this.over) return;
    if (this.refusal) {
      this.stop(this.refused(this.refusal));
      return;
    }
    try {
      this.listener.onEnd();
      this.finish();
    } catch (error) {
      this.stop(this.explain(error));
    }
  }

  onError(error: Error): void {
    this.stop(connectionError(this.target.provider, error));
  }

  /** Ends the call, at the provider too unless it has ended there; nobody hears of it. */
  leave(): void {
    this.finish();
    this.abort?.(CALL_OVER);
  }

  /** As `leave`, but for a reason, of which only the first one counts. */
  private stop(reason: unknown): void {
    if (this.finish()) this.listener.onFailure(reason);
    this.leave();
  }

  private finish(): boolean {
    if (this.over) return false;
    this.over = true;
    clearTimeout(this.timer);
    this.stopListening();
    return true;
  }

  private refused(refusal: BufferList): UpstreamError {
    const { provider, model } = this.target;
    const { status, rawHeaders } = this;
    const body = refusal.join().toString();
    return errorOfResponse(provider, model, { status, headers: headersOf(rawHeaders), body });
  }

  /** What a stream that is not what the convention says tells of its provider. */
  private explain(error: unknown): unknown {
    if (!(error instanceof BrokenStreamError)) return error;
    const { provider, model } = this.target;
    return error.providerError === undefined
      ? unusableError(provider, error.message, error)
      : errorInsideAnswer(provider, model, error.providerError);
  }
}

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** The first header of this name, which is lower case. */
function headerOf(rawHeaders: readonly Buffer[], name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at];
    if (sent?.length !== name.length || sent.toString('latin1').toLowerCase() !== name) continue;
    return rawHeaders[at + 1]?.toString('latin1');
  }
  return undefined;
}

/** All of them, by their names in lower case. */
function headersOf(rawHeaders: readonly Buffer[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toString('latin1').toLowerCase() ?? '';
    headers[name] ??= rawHeaders[at + 1]?.toString('latin1') ?? '';
  }
  return headers;
}
