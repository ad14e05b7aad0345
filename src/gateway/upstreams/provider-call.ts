import type { IncomingHttpHeaders } from 'node:http';
import type { Agent, Dispatcher } from 'undici';
import type { Provider } from '../providers/provider.ts';
import {
  connectionError,
  errorInsideAnswer,
  errorOfResponse,
  timeoutError,
  unusableError,
} from '../providers/provider-errors.ts';
import type { ClientCancellation } from '../shared/client-cancellation.ts';
import type { SharedInterval } from '../shared/interval.ts';
import type { UpstreamError } from '../shared/upstream-error.ts';
import { BrokenStreamError } from '../streaming/chunk-frames.ts';

/** Where and how calls to a model of a provider are made. */
export interface CallTarget {
  provider: Provider;
  model: string;
  agent: Agent;
  interval: SharedInterval;
  /** What is the same in all of them. */
  request: { origin: string; path: string; method: 'POST'; headers: string[] };
}

/** Whoever reads the answer to a call. What it throws ends the call. */
export interface CallListener {
  /** What is wrong with a good answer's headers. */
  onHeaders(headers: IncomingHttpHeaders): UpstreamError | undefined;
  onData(bytes: Buffer): void;
  onEnd(): void;
  /** Called at most once, and not after `onEnd`: with an `UpstreamError`, or the caller's reason. */
  onFailure(reason: unknown): void;
}

const ERROR_LIMIT_BYTES = 64 * 1024;

/** It takes iterables too, and sends what is in them; its types do not say so. Source: undici docs, "Dispatcher", `body`. */
type Body = NonNullable<Dispatcher.DispatchOptions['body']>;

/** What undici is told when a call ends before its answer does. */
const CALL_OVER = new Error('The call is over.');

/** One call to a provider, from its request to the end of its answer. */
export class ProviderCall implements Dispatcher.DispatchHandler {
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
