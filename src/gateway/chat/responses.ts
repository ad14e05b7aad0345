import type { Logger } from 'pino';
import { ErrorCode } from '../../contracts/error.ts';
import {
  type ChatCompletionChunk,
  type ChatRequest,
  ParameterHeader,
  UPSTREAM_HEADER,
} from '../../contracts/gateway.ts';
import { type Exchange, sendJson } from '../../http/direct-route.ts';
import { asHttpError, errorBody } from '../../http/error-answers.ts';
import { HttpError } from '../../http/errors.ts';
import type { TextModel } from '../catalog/catalog-schema.ts';
import { failureForLog, UpstreamError } from '../shared/upstream-error.ts';
import type { CircuitBreaker } from '../upstreams/circuit-breaker.ts';
import { withParallelChoices } from '../upstreams/parallel-choices.ts';
import { askInOrder } from '../upstreams/routing.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { UsageMeter } from '../usage/ledger.ts';
import { ChunkEvents } from './chunk-events.ts';
import { SseResponse } from './sse-response.ts';

/** A checked call, ready for the upstreams. */
interface ChatCall {
  exchange: Exchange;
  meter: UsageMeter;
  model: TextModel;
  request: ChatRequest;
  upstreams: readonly Upstream[];
  circuitBreaker: CircuitBreaker;
  /** Aborts when the connection closes, or when the gateway stops. */
  signal: AbortSignal;
  log: Logger;
}

/** Reason of a call that ended because its client left. */
export class ClientGoneError extends Error {
  override name = 'ClientGoneError' as const;
}

/** Answers with the whole reply as one JSON body. */
export async function answerWhole(call: ChatCall): Promise<void> {
  const { exchange, meter, model, request, signal } = call;
  const { upstream, answer } = await ask(call, (one) => one.complete(request, signal));
  call.circuitBreaker.succeeded(upstream);
  meter.firstToken();
  if (answer.usage) meter.usage = answer.usage;
  else for (const { message } of answer.choices) meter.addText(message.content ?? '');
  const json = JSON.stringify({ ...answer, model: model.id, usage: meter.tokens() });
  sendJson(exchange, 200, json, headersOf(call, upstream));
}

/** Answers with events while the reply is generated. */
export async function answerStream(
  call: ChatCall,
  options: { pingMs: number; drainMs: number },
): Promise<void> {
  const { exchange, meter, model, request, signal, circuitBreaker, log } = call;
  meter.startStream();
  let answering: Upstream | undefined;
  const headers = () => headersOf(call, answering);
  const response = new SseResponse({ ...options, exchange, headers });
  const wantsUsage = request.stream_options?.include_usage === true;
  const events = new ChunkEvents({ model: model.id, wantsUsage, meter });
  try {
    const { upstream, answer } = await ask(call, (one) => begin(one.stream(request, signal)));
    answering = upstream;
    const { chunks, first } = answer;
    for (let next = first; !next.done; next = await chunks.next()) {
      const event = events.eventFor(next.value);
      if (event !== '' && !response.write(event)) await response.drained(signal);
    }
    circuitBreaker.succeeded(upstream);
    const usageEvent = events.usageEvent();
    if (usageEvent !== '') response.write(usageEvent);
    response.end();
  } catch (error) {
    if (!response.hasBegun || signal.reason instanceof ClientGoneError) throw error;
    if (answering && error instanceof UpstreamError && error !== signal.reason) {
      circuitBreaker.brokeOff(answering, error);
    }
    meter.end('upstream_error');
    log.warn({ reqId: exchange.id, ...failureForLog(error) }, 'a streamed answer broke off');
    response.fail(errorBody(error instanceof UpstreamError ? error.answer : asHttpError(error)));
  } finally {
    response.release();
  }
}

/** Waits for the first chunk, because another upstream can be asked if it doesn't come. */
async function begin(stream: AsyncIterable<ChatCompletionChunk>) {
  const chunks = stream[Symbol.asyncIterator]();
  return { chunks, first: await chunks.next() };
}

function ask<T>(call: ChatCall, attempt: (upstream: Upstream) => Promise<T>) {
  const { request, circuitBreaker, signal, meter, log } = call;
  const n = request.n ?? 1;
  return askInOrder<T>({
    upstreams: eligibleUpstreams(call).map((one) => withParallelChoices(one, n)),
    circuitBreaker,
    signal,
    attempt: (upstream) => {
      meter.provider = upstream.provider;
      meter.providerModel = upstream.model;
      return attempt(upstream);
    },
    log,
  });
}

/** Returns names and values in turn. `answering` is unknown for a stream whose first comment goes out before its first chunk. */
function headersOf(call: ChatCall, answering: Upstream | undefined): string[] {
  const headers: string[] = [];
  call.meter.addLimitHeaders(headers);
  if (answering) headers.push(UPSTREAM_HEADER, answering.label);
  const dropped = droppedBy(answering ? [answering] : call.upstreams, call.request);
  if (dropped.length > 0) headers.push(ParameterHeader.dropped, dropped.join(','));
  return headers;
}

/** Returns the upstreams to ask: for a strict client only the ones that ignore no parameter. Throws the 400 if there are none. */
function eligibleUpstreams({ exchange, upstreams, request, model }: ChatCall): readonly Upstream[] {
  if (exchange.request.headers[ParameterHeader.strict] !== 'true') return upstreams;
  const able = upstreams.filter(({ dropped }) => !dropped?.(request).length);
  if (able.length > 0) return able;
  const names = upstreams[0]?.dropped?.(request) ?? [];
  throw new HttpError(
    400,
    ErrorCode.unsupportedParameter,
    `The model '${model.id}' does not support ${names.join(', ')}, and the request has ${ParameterHeader.strict}: true. Leave out these parameters or that header, or use a model that lists them in supported_parameters (GET /v1/models).`,
    { param: names[0] ?? null },
  );
}

/** Returns the parameters that every one of these upstreams ignores. */
function droppedBy(upstreams: readonly Upstream[], request: ChatRequest): readonly string[] {
  const [first, ...others] = upstreams;
  const names = first?.dropped?.(request) ?? [];
  if (names.length === 0 || others.length === 0) return names;
  const lists = others.map(({ dropped }) => dropped?.(request) ?? []);
  return names.filter((name) => lists.every((list) => list.includes(name)));
}
