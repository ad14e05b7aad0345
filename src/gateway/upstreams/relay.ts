import type { IncomingHttpHeaders } from 'node:http';
import type { Agent, Dispatcher } from 'undici';
import { EVENT_STREAM } from '../../contracts/server-sent-events.ts';
import { parseJson } from '../providers/dialect.ts';
import {
  adaptRequest,
  needsObjects,
  openaiDialect,
  providerHeaders,
} from '../providers/openai-dialect.ts';
import { readCompletion } from '../providers/openai-response.ts';
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
import type { SharedInterval } from '../shared/interval.ts';
import type { UpstreamError } from '../shared/upstream-error.ts';
import type { EventSink } from '../streaming/answer-stream.ts';
import { BrokenStreamError } from '../streaming/answer-stream.ts';
import type { Identify } from '../streaming/response-identity.ts';
import { createSsePassthrough } from '../streaming/sse-passthrough.ts';
import type { UpstreamTimeouts } from './idle-timeout.ts';
import type { Relay, RelayCall } from './upstream.ts';

const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
/** How long a stream that said it is whole may take to end, so that its connection can serve the next call. */
const TAIL_LIMIT_MS = 1_000;

export function createRelay(options: {
  provider: Provider;
  model: string;
  agent: Agent;
  timeouts: UpstreamTimeouts;
  interval: SharedInterval;
  identify: Identify;
}): Relay {
  const { provider, model, agent, timeouts, interval, identify } = options;
  const address = new URL(`${provider.baseUrl}${openaiDialect.path}`);
  const target: CallTarget = {
    provider,
    model,
    agent,
    interval,
    request: {
      origin: address.origin,
      path: address.pathname + address.search,
      method: 'POST',
      headers: Object.entries({
        'content-type': 'application/json',
        ...providerHeaders(provider),
      }).flat(),
    },
  };

  function send(
    { request, write, cancellation }: RelayCall,
    waitMs: number,
    listener: CallListener,
  ) {
    const body = write(adaptRequest(request, provider, model));
    return new ProviderCall(target, { body, cancellation, waitMs, listener });
  }

  return {
    supports: (request) =>
      (request.n ?? 1) <= provider.maxChoices && !needsObjects(request, provider, model),

    complete(call) {
      return new Promise((resolve, reject) => {
        const parts = new BufferList();
        send(call, timeouts.answerMs, {
          onHeaders: () => undefined,
          onData(bytes) {
            parts.add(bytes);
            if (parts.length > ANSWER_LIMIT_BYTES) throw unusableError(provider, 'is too long');
          },
          onEnd() {
            const json = parts.join().toString();
            const answer = readCompletion(parseJson(json, provider), provider, model);
            const completion = { ...answer, ...identify(answer) };
            const isAsItCame = completion.id === answer.id && completion.created === answer.created;
            resolve({ completion, json: isAsItCame ? json : undefined });
          },
          onFailure: reject,
        });
      });
    },

    stream(request, options) {
      const events = createSsePassthrough(options, identify);
      return new Promise((resolve, reject) => {
        let waiting = '';
        let failure: { reason: unknown } | undefined;
        let begun = false;
        let over = false;
        let reader: { sink: EventSink; resolve: () => void; reject: (reason: unknown) => void };

        const call = send(request, timeouts.firstChunkMs, {
          onHeaders(headers) {
            const streams = String(headers['content-type']).startsWith(EVENT_STREAM);
            return streams ? undefined : unusableError(provider, 'is no stream');
          },
          onData: (bytes) => pass(events.push(bytes)),
          onEnd: () => pass(events.end()),
          onFailure(reason) {
            // What comes after the answer was whole is of no matter.
            if (events.whole) return;
            failure = { reason };
            if (!begun) reject(reason);
            else reader?.reject(reason);
          },
        });

        function pass(text: string): void {
          if (text !== '') {
            call.wait(timeouts.stallMs);
            if (reader) write(text);
            else waiting += text;
            begin();
          }
          if (events.broken) throw events.broken;
          if (events.whole) whole();
        }
        function begin(): void {
          if (begun) return;
          begun = true;
          resolve({
            pipe: (sink) =>
              new Promise((done, fail) => {
                reader = { sink, resolve: done, reject: fail };
                if (waiting !== '') write(waiting);
                waiting = '';
                if (events.whole) done();
                else if (failure) fail(failure.reason);
              }),
          });
        }
        function whole(): void {
          if (over) return;
          over = true;
          begin();
          call.wait(TAIL_LIMIT_MS);
          reader?.resolve();
        }
        function write(text: string): void {
          if (reader.sink.write(text)) return;
          // The client's own pace is not the provider's silence.
          call.pause();
          call.wait(Number.POSITIVE_INFINITY);
          void reader.sink.drained().then(() => {
            call.wait(timeouts.stallMs);
            call.resume();
          });
        }
      });
    },
  };
}

/** Where and how calls to a model of a provider are made. */
interface CallTarget {
  provider: Provider;
  model: string;
  agent: Agent;
  interval: SharedInterval;
  /** What is the same in all of them. */
  request: { origin: string; path: string; method: 'POST'; headers: string[] };
}

/** Whoever reads the answer to a call. What it throws ends the call. */
interface CallListener {
  /** What is wrong with a good answer's headers. */
  onHeaders(headers: IncomingHttpHeaders): UpstreamError | undefined;
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

/** One call to a provider, from its request to the end of its answer. */
class ProviderCall implements Dispatcher.DispatchHandler {
  private readonly target: CallTarget;
  private readonly cancellation: ClientCancellation;
  private readonly listener: CallListener;
  private readonly stopInterval: () => void;
  private readonly stopListening: () => void;
  private endsAtMs: number;
  private over = false;
  private controller: Dispatcher.DispatchController | undefined;
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private refusal: Buffer[] | undefined;
  private refusalBytes = 0;

  /** Sends the request. The call ends when nothing happens for `waitMs`, which `wait` starts anew. */
  constructor(
    target: CallTarget,
    call: {
      body: Buffer[];
      cancellation: ClientCancellation;
      waitMs: number;
      listener: CallListener;
    },
  ) {
    const { agent, interval, request } = target;
    this.target = target;
    this.cancellation = call.cancellation;
    this.listener = call.listener;
    this.endsAtMs = interval.nowMs + call.waitMs;
    this.stopInterval = interval.add((nowMs) => {
      if (nowMs > this.endsAtMs) this.stop(timeoutError(target.provider));
    });
    this.stopListening = this.cancellation.onCancel(() => this.stop(this.cancellation.reason));
    const { origin, path, method, headers } = request;
    const { body } = call;
    const several = body.length > 1;
    agent.dispatch(
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

  /** From now on it may take so long until something happens. */
  wait(ms: number): void {
    this.endsAtMs = this.target.interval.nowMs + ms;
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    this.controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // It ended while it waited for a connection.
    if (this.over) controller.abort(CALL_OVER);
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    // Early hints and the like: the answer is still to come.
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    if (status !== 200) {
      this.refusal = [];
    } else if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      this.stop(unusableError(this.target.provider, 'is in an encoding nobody asked for'));
    } else {
      const problem = this.listener.onHeaders(headers);
      if (problem) this.stop(problem);
    }
  }

  onResponseData(_: unknown, bytes: Buffer): void {
    if (this.over) return;
    if (this.refusal) {
      this.refusal.push(bytes);
      this.refusalBytes += bytes.length;
      if (this.refusalBytes > ERROR_LIMIT_BYTES) this.stop(this.refused(this.refusal));
      return;
    }
    try {
      this.listener.onData(bytes);
    } catch (error) {
      this.stop(this.explain(error));
    }
  }

  onResponseEnd(): void {
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

  onResponseError(_: unknown, error: Error): void {
    this.stop(connectionError(this.target.provider, error));
  }

  /** Ends the call, at the provider too unless it has ended there. Only the first reason counts. */
  private stop(reason: unknown): void {
    if (this.finish()) this.listener.onFailure(reason);
    this.controller?.abort(CALL_OVER);
  }

  private finish(): boolean {
    if (this.over) return false;
    this.over = true;
    this.stopInterval();
    this.stopListening();
    return true;
  }

  private refused(parts: Buffer[]): UpstreamError {
    const { provider, model } = this.target;
    const { status, headers } = this;
    return errorOfResponse(provider, model, {
      status,
      headers,
      body: Buffer.concat(parts).toString(),
    });
  }

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
