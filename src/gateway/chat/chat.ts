import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ErrorCode } from '../../contracts/error.ts';
import { ChatRequest, GatewayPath } from '../../contracts/gateway.ts';
import { plainWords } from '../../contracts/plain-words.ts';
import type { Authenticate } from '../../http/authentication.ts';
import { type Exchange, sendError } from '../../http/direct-route.ts';
import { asHttpError, validationError } from '../../http/error-answers.ts';
import { HttpError } from '../../http/errors.ts';
import type { KeyInfo } from '../../http/keys.ts';
import type { ServerKit } from '../../http/server.ts';
import { StoreUnavailableError } from '../../store/errors.ts';
import type { Catalog } from '../catalog/catalog-schema.ts';
import { BufferList } from '../shared/buffer-list.ts';
import { ClientCancellation } from '../shared/client-cancellation.ts';
import { isCommonRequest } from '../shared/common-shapes.ts';
import { createListenerSet } from '../shared/listener-set.ts';
import { failureForLog, UpstreamError } from '../shared/upstream-error.ts';
import type { CircuitBreaker } from '../upstreams/circuit-breaker.ts';
import type { Routing } from '../upstreams/routing.ts';
import type { UsageLedger, UsageMeter } from '../usage/ledger.ts';
import { checkContext, checkInput, checkServed, findTextModel, normalize } from './checks.ts';
import { estimatePrompt } from './prompt-estimate.ts';
import { readRequestBody } from './request-body.ts';
import { answerStream, answerWhole, ClientGoneError } from './responses.ts';
import { chatSchema } from './schema.ts';

/** Bytes of a request body: the longest context as text, and a few pictures. */
const BODY_LIMIT_BYTES = 8 * 1024 * 1024;

/** Others get their turn between the steps that read a larger body. */
const LARGE_BODY_BYTES = 1024 * 1024;

/** Tokens set aside for a reply whose request does not say how long it may be, for keys with limits in tokens. */
const REPLY_TOKENS = 1024;

/** The chat route while it serves. */
export interface Chat {
  /** Refuses new calls, gives those under way so long to end, then cuts them. */
  close(graceMs: number): Promise<void>;
}

interface ChatOptions {
  kit: ServerKit;
  authenticate: Authenticate;
  catalog: Catalog;
  routing: Routing;
  circuitBreaker: CircuitBreaker;
  ledger: UsageLedger;
  pingMs: number;
  drainMs: number;
  log: Logger;
}

/** Adds POST /v1/chat/completions: key, limits, body, model, context, then the upstreams in order, plain or streamed. */
export function addChat(options: ChatOptions): Chat {
  const { kit, authenticate, catalog, routing, circuitBreaker, ledger, drainMs, log } = options;
  const underWay = createListenerSet<(reason: unknown) => void>();
  let closing = false;
  /** Called when the last call under way has ended. */
  let idle = () => {};

  kit.addDirectRoute({
    path: GatewayPath.chatCompletions,
    schema: chatSchema,
    handle(exchange) {
      try {
        // Before the body is read: a stranger's megabytes are not worth waiting for.
        const key = authenticate({ raw: exchange.request, ip: exchange.ip });
        const confirmed = authenticate.confirm(key);
        if (!confirmed) return begin(exchange, key);
        confirmed.then(
          () => void begin(exchange, key),
          (refusal: unknown) => sendError(exchange, refusal, log),
        );
      } catch (refusal) {
        sendError(exchange, refusal, log);
      }
      return undefined;
    },
  });

  function begin(exchange: Exchange, key: KeyInfo) {
    const meter = ledger.open(key);
    const cancellation = follow(exchange, meter);
    void answer(exchange, meter, cancellation).catch((error) => {
      if (!(cancellation.reason instanceof ClientGoneError)) refuse(exchange, meter, error);
    });
    return () => callForLog(meter);
  }

  async function answer(exchange: Exchange, meter: UsageMeter, cancellation: ClientCancellation) {
    if (closing) throw stopping();
    const taken = meter.takeRequest();
    // Not awaited where it was done at once: a turn of the event loop for each request would be felt.
    if (taken) await taken;
    const body = readRequestBody(await readBytes(exchange.request, cancellation));
    if (body.length > LARGE_BODY_BYTES) await nextTurn();
    const request = normalize(parse(body.value));
    const model = findTextModel(catalog, request.model);
    meter.model = model.id;
    checkServed(routing.unservedReason(model));
    checkInput(request, model, catalog);
    // Named first: V8 allocates a function that is written in an assignment to a property where only a full collection
    // finds it, and the whole request with it. Source: V8, ParserBase::CheckAssigningFunctionLiteralToProperty.
    const estimate = () => estimatePrompt(request, body);
    meter.estimatePrompt = estimate;
    const context_length = routing.contextOf(model);
    checkContext(request, { ...model, context_length }, body.length, estimate);
    if (meter.countsTokens) {
      const reply = (request.max_tokens ?? REPLY_TOKENS) * (request.n ?? 1);
      const reserved = meter.reserve(estimate(), reply);
      if (reserved) await reserved;
    }
    const call = {
      exchange,
      meter,
      model,
      request,
      body,
      wholeRequest: () => normalize(parse(body.whole())),
      upstreams: routing.upstreamsOf(model),
      circuitBreaker,
      cancellation,
      log,
    };
    await (request.stream ? answerStream(call, options) : answerWhole(call));
  }

  function refuse(exchange: Exchange, meter: UsageMeter, error: unknown): void {
    const known = error instanceof UpstreamError ? error.answer : error;
    const byUs =
      known === error &&
      (asHttpError(error).status < 500 || error instanceof StoreUnavailableError);
    meter.end(byUs ? 'refused' : 'upstream_error');
    if (error instanceof UpstreamError)
      log.warn({ reqId: exchange.id, ...failureForLog(error) }, 'no upstream answered');
    sendError(exchange, known, log, meter.limitHeaders());
  }

  /** Ends the call when the client is gone, and the record in any case. */
  function follow({ request, response }: Exchange, meter: UsageMeter): ClientCancellation {
    const cancellation = new ClientCancellation();
    const leave = underWay.add((reason) => {
      cancellation.cancel(reason);
      // An answer that waits for nobody but its reader has waited long enough.
      if (response.writableEnded) response.destroy();
    });
    let sent = false;
    function end() {
      leave();
      meter.end(sent ? 'complete' : 'client_gone');
      if (!sent) cancellation.cancel(new ClientGoneError());
      if (underWay.size === 0) idle();
    }
    response.on('close', end);
    response.on('finish', () => {
      // Writes that the end of the connection cut short are finished, too.
      sent = !request.socket.destroyed;
    });
    response.on('prefinish', () => {
      if (response.socket?.writableLength) response.setTimeout(drainMs, () => response.destroy());
    });
    if (!response.socket) followQueued(request.socket, response, end);
    return cancellation;
  }

  return {
    async close(graceMs) {
      closing = true;
      if (underWay.size === 0) return;
      const limit = setTimeout(() => {
        for (const cut of underWay) cut(stopping());
      }, graceMs);
      await new Promise<void>((resolve) => {
        idle = resolve;
      });
      clearTimeout(limit);
    },
  };
}

function parse(value: unknown): ChatRequest {
  if (isCommonRequest(value)) return value;
  const result = ChatRequest.safeParse(value, { error: plainWords });
  if (result.success) return result.data;
  throw validationError(result.error.issues, value);
}

/**
 * Listens to the connection of a request that was sent before the one ahead of it was answered: until its turn has come
 * an answer has no connection, and is not told of its end.
 */
function followQueued(socket: Socket, response: ServerResponse, end: () => void): void {
  // As many as there are requests waiting.
  socket.setMaxListeners(0);
  socket.once('close', end);
  response.once('close', () => socket.off('close', end));
}

/** The body of a request. Throws the 413 or 415, or the client's reason when it leaves before all was sent. */
function readBytes(request: IncomingMessage, cancellation: ClientCancellation): Promise<Buffer[]> {
  const { headers } = request;
  if (!/^application\/json *(;|$)/i.test(headers['content-type'] ?? '')) {
    throw new HttpError(
      415,
      ErrorCode.unsupportedMediaType,
      'Send the body as JSON, with the header Content-Type: application/json.',
    );
  }
  if (Number(headers['content-length']) > BODY_LIMIT_BYTES) throw tooLarge();
  // The client may have left while its limits were looked at.
  if (cancellation.cancelled) throw cancellation.reason;
  return new Promise((resolve, reject) => {
    const body = new BufferList();
    const stopListening = cancellation.onCancel(() => reject(cancellation.reason));
    request.on('data', (part: Buffer) => {
      if (body.length + part.length > BODY_LIMIT_BYTES) reject(tooLarge());
      else body.add(part);
    });
    request.on('end', () => {
      stopListening();
      resolve(body.list());
    });
    // Said by the end of the answer too, which is what ends the call.
    request.on('error', () => {});
  });
}

function tooLarge(): HttpError {
  return new HttpError(
    413,
    ErrorCode.bodyTooLarge,
    `The request body is larger than ${BODY_LIMIT_BYTES / 1024 / 1024} MiB. Send less.`,
  );
}

function stopping(): UpstreamError {
  return new UpstreamError(
    new HttpError(503, ErrorCode.unavailable, 'The gateway is stopping. Try again in a moment.'),
    { tryNext: false, kind: 'request' },
  );
}

/** What the log may know of a call that has ended: who asked, who answered and what it took; nothing that was said. */
function callForLog({ record, providerModel }: UsageMeter): object {
  if (!record) return {};
  const { keyId, model, provider, promptTokens, completionTokens, estimated } = record;
  return {
    key: keyId,
    model,
    upstream: provider && `${provider}/${providerModel}`,
    end: record.end,
    firstTokenMs: record.firstTokenMs,
    promptTokens,
    completionTokens,
    estimated,
  };
}
