import type { Logger } from 'pino';
import { ErrorCode } from '../../contracts/error.ts';
import {
  type ChatCompletion,
  type ChatRequest,
  ParameterHeader,
  UPSTREAM_HEADER,
} from '../../contracts/gateway.ts';
import { type Exchange, sendJson } from '../../http/direct-route.ts';
import { asHttpError, errorBody } from '../../http/error-answers.ts';
import { HttpError } from '../../http/errors.ts';
import type { TextModel } from '../catalog/catalog-schema.ts';
import type { ClientCancellation } from '../shared/client-cancellation.ts';
import { failureForLog, UpstreamError } from '../shared/upstream-error.ts';
import type { AnswerStream, AnswerStreamOptions } from '../streaming/answer-stream.ts';
import { openChunkStream } from '../streaming/answer-stream.ts';
import { createSseResponse } from '../streaming/sse-response.ts';
import type { CircuitBreaker } from '../upstreams/circuit-breaker.ts';
import { withParallelChoices } from '../upstreams/parallel-choices.ts';
import { askInOrder } from '../upstreams/routing.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { UsageMeter } from '../usage/ledger.ts';
import type { RequestBody } from './request-body.ts';

/** A checked call, ready to be asked. */
interface ChatCall {
  exchange: Exchange;
  meter: UsageMeter;
  model: TextModel;
  /** The request, with stand-ins for the long strings of `body`. */
  request: ChatRequest;
  body: RequestBody;
  /** The request as it came, for those who read all of it. */
  wholeRequest: () => ChatRequest;
  upstreams: readonly Upstream[];
  circuitBreaker: CircuitBreaker;
  /** Leaves when its connection closes, or the gateway stops. */
  cancellation: ClientCancellation;
  log: Logger;
}

/** Thrown to end a call whose client left; it is answered to nobody. */
export class ClientGoneError extends Error {
  override name = 'ClientGoneError' as const;
}

/** Answers with the whole reply as one JSON body. */
export async function answerWhole(call: ChatCall): Promise<void> {
  const { exchange, meter, model, cancellation } = call;
  const { upstream, answer } = await ask(call, (upstream) => {
    if (relays(upstream, call)) {
      const { request, body } = call;
      return upstream.relay.complete({ request, write: body.write, cancellation });
    }
    return upstream
      .complete(call.wholeRequest(), cancellation.signal)
      .then((completion) => ({ completion, json: undefined }));
  });
  call.circuitBreaker.succeeded(upstream);
  const { completion, json } = answer;
  meter.firstToken();
  if (completion.usage) meter.usage = completion.usage;
  else for (const { message } of completion.choices) meter.addText(message.content ?? '');
  const named =
    json !== undefined && completion.usage ? rewriteModelField(json, completion, model.id) : '';
  sendJson(
    exchange,
    200,
    named || JSON.stringify({ ...completion, model: model.id, usage: meter.tokens() }),
    headersOf(call, upstream),
  );
}

/** Answers with events, as the reply comes. */
export async function answerStream(
  call: ChatCall,
  options: { pingMs: number; drainMs: number },
): Promise<void> {
  const { exchange, meter, model, request, cancellation, circuitBreaker, log } = call;
  meter.streams();
  let answering: Upstream | undefined;
  const events = createSseResponse({
    ...options,
    exchange,
    headers: () => headersOf(call, answering),
  });
  const streamOptions: AnswerStreamOptions = {
    model: model.id,
    wantsUsage: request.stream_options?.include_usage === true,
    onText: (tokens) => meter.addAnswer(tokens),
    onUsage: (usage) => {
      meter.usage = usage;
    },
    estimate: () => meter.tokens(),
  };
  try {
    const { upstream, answer: passTo } = await ask<AnswerStream>(call, (upstream) => {
      if (relays(upstream, call)) {
        const relayed = { request, write: call.body.write, cancellation };
        return upstream.relay.stream(relayed, streamOptions);
      }
      return openChunkStream(
        upstream.stream(call.wholeRequest(), cancellation.signal),
        streamOptions,
      );
    });
    answering = upstream;
    await passTo(events);
    circuitBreaker.succeeded(upstream);
    events.end();
  } catch (error) {
    if (!events.begun || cancellation.reason instanceof ClientGoneError) throw error;
    if (answering && error instanceof UpstreamError && error !== cancellation.reason) {
      circuitBreaker.brokeOff(answering, error);
    }
    meter.end('upstream_error');
    log.warn({ reqId: exchange.id, ...failureForLog(error) }, 'a streamed answer broke off');
    events.fail(errorBody(error instanceof UpstreamError ? error.answer : asHttpError(error)));
  } finally {
    events.release();
  }
}

function ask<T>(call: ChatCall, attempt: (upstream: Upstream) => Promise<T>) {
  const { request, circuitBreaker, cancellation, meter, log } = call;
  const n = request.n ?? 1;
  const upstreams = eligibleUpstreams(call);
  return askInOrder<T>({
    upstreams: n === 1 ? upstreams : upstreams.map((one) => withParallelChoices(one, n)),
    circuitBreaker,
    cancellation,
    attempt: (upstream) => {
      meter.provider = upstream.provider;
      meter.providerModel = upstream.model;
      return attempt(upstream);
    },
    log,
  });
}

function relays(
  upstream: Upstream,
  { request }: ChatCall,
): upstream is Upstream & Required<Pick<Upstream, 'relay'>> {
  return upstream.relay?.supports(request) === true;
}

/** The headers of an answer, names and values in turn; of a stream that has to begin before it is known who answers, too. */
function headersOf(call: ChatCall, answering: Upstream | undefined): string[] {
  const headers: string[] = [];
  call.meter.addLimitHeaders(headers);
  if (answering) headers.push(UPSTREAM_HEADER, answering.label);
  const dropped = droppedBy(answering ? [answering] : call.upstreams, call.request);
  if (dropped.length > 0) headers.push(ParameterHeader.dropped, dropped.join(','));
  return headers;
}

/** Those that may be asked: for a strict client only those that heed all it asks for. Throws the 400 when none does. */
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

/** What is left out whichever of these upstreams answers. */
function droppedBy(upstreams: readonly Upstream[], request: ChatRequest): readonly string[] {
  const [first, ...others] = upstreams;
  const names = first?.dropped?.(request) ?? [];
  if (names.length === 0 || others.length === 0) return names;
  const lists = others.map(({ dropped }) => dropped?.(request) ?? []);
  return names.filter((name) => lists.every((list) => list.includes(name)));
}

/** The JSON of an answer under the catalog's name for the model; empty when that takes writing it anew. */
function rewriteModelField(json: string, { model, choices }: ChatCompletion, name: string): string {
  // What came as null may have been put right.
  if (choices.some(({ message }) => !message.content)) return '';
  const field = `"model":${JSON.stringify(model)}`;
  const at = json.indexOf('"model":');
  if (at === -1 || !json.startsWith(field, at)) return '';
  if (json.includes('"model":', at + field.length)) return '';
  return `${json.slice(0, at)}"model":${JSON.stringify(name)}${json.slice(at + field.length)}`;
}
