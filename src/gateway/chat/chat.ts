import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ErrorCode } from '../../contracts/error.ts';
import { ChatRequest, GatewayPath } from '../../contracts/gateway.ts';
import { plainWords } from '../../contracts/plain-words.ts';
import { estimateRequestTokens } from '../../contracts/tokens.ts';
import type { Authenticate } from '../../http/authentication.ts';
import { type Exchange, sendError } from '../../http/direct-route.ts';
import { asHttpError, validationError } from '../../http/error-answers.ts';
import { HttpError } from '../../http/errors.ts';
import type { KeyInfo } from '../../http/keys.ts';
import type { ServerKit } from '../../http/server.ts';
import { StoreUnavailableError } from '../../store/errors.ts';
import type { Catalog } from '../catalog/catalog-schema.ts';
import { BufferList } from '../shared/buffer-list.ts';
import { failureForLog, UpstreamError } from '../shared/upstream-error.ts';
import type { CircuitBreaker } from '../upstreams/circuit-breaker.ts';
import type { Routing } from '../upstreams/routing.ts';
import type { UsageLedger, UsageMeter } from '../usage/ledger.ts';
import { checkContext, checkInput, checkServed, findTextModel, normalize } from './checks.ts';
import { parseRequestBody } from './request-body.ts';
import { answerStream, answerWhole, ClientGoneError } from './responses.ts';
import { chatSchema } from './schema.ts';

/** Bytes of a request body: the longest context as text, and a few pictures. */
const BODY_LIMIT_BYTES = 8 * 1024 * 1024;

/** Reading a larger body is split into steps, so that other requests get their turn. */
const LARGE_BODY_BYTES = 1024 * 1024;

/** Tokens reserved for a reply without `max_tokens`, if the key has limits in tokens. */
const REPLY_TOKENS = 1024;

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
export function addChat(options: ChatOptions): ChatRoute {
  const route = new ChatRoute(options);
  options.kit.addDirectRoute({
    path: GatewayPath.chatCompletions,
    schema: chatSchema,
    handle: (exchange) => route.handle(exchange),
  });
  return route;
}

/** The chat route while it serves. */
export class ChatRoute {
  readonly #options: ChatOptions;
  /** Cuts of the calls in progress. */
  readonly #calls = new Set<(reason: unknown) => void>();
  #isClosing = false;
  #onIdle = () => {};

  constructor(options: ChatOptions) {
    this.#options = options;
  }

  /** Answers one request. Returns what its log line says, unless the key is confirmed only later. */
  handle(exchange: Exchange): (() => object) | undefined {
    const { authenticate, log } = this.#options;
    try {
      // Before the body is read, because a stranger's megabytes aren't worth the wait.
      const key = authenticate({ raw: exchange.request, ip: exchange.ip });
      const confirmed = authenticate.confirm(key);
      if (!confirmed) return this.#begin(exchange, key);
      confirmed.then(
        () => void this.#begin(exchange, key),
        (refusal: unknown) => sendError(exchange, refusal, log),
      );
    } catch (refusal) {
      sendError(exchange, refusal, log);
    }
    return undefined;
  }

  /** Refuses new calls, waits `graceMs` for the ones in progress, then cuts them. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    if (this.#calls.size === 0) return;
    const limit = setTimeout(() => {
      for (const cut of this.#calls) cut(stopping());
    }, graceMs);
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    clearTimeout(limit);
  }

  #begin(exchange: Exchange, key: KeyInfo) {
    const meter = this.#options.ledger.open(key);
    const signal = this.#follow(exchange, meter);
    void this.#answer(exchange, meter, signal).catch((error) => {
      if (!(signal.reason instanceof ClientGoneError)) this.#refuse(exchange, meter, error);
    });
    return () => callForLog(meter);
  }

  /** Ends the call if the client is gone, and its usage record in any case. The signal aborts when nobody waits any more. */
  #follow({ request, response }: Exchange, meter: UsageMeter): AbortSignal {
    const controller = new AbortController();
    const cut = (reason: unknown) => {
      controller.abort(reason);
      // An answer that only waits for its reader has waited long enough.
      if (response.writableEnded) response.destroy();
    };
    this.#calls.add(cut);
    let isSent = false;
    const end = () => {
      this.#calls.delete(cut);
      meter.end(isSent ? 'complete' : 'client_gone');
      if (!isSent) controller.abort(new ClientGoneError());
      if (this.#calls.size === 0) this.#onIdle();
    };
    response.on('close', end);
    response.on('finish', () => {
      // Writes that the end of the connection cut short are finished, too.
      isSent = !request.socket.destroyed;
    });
    response.on('prefinish', () => {
      if (!response.socket?.writableLength) return;
      response.setTimeout(this.#options.drainMs, () => response.destroy());
    });
    if (!response.socket) followQueued(request.socket, response, end);
    return controller.signal;
  }

  async #answer(exchange: Exchange, meter: UsageMeter, signal: AbortSignal): Promise<void> {
    const { catalog, routing, circuitBreaker, log } = this.#options;
    if (this.#isClosing) throw stopping();
    await meter.takeRequest();
    const bytes = await readBody(exchange.request, signal);
    if (bytes.length > LARGE_BODY_BYTES) await nextTurn();
    const value = parseRequestBody(bytes);
    if (bytes.length > LARGE_BODY_BYTES) await nextTurn();
    const request = readRequest(value);
    const model = findTextModel(catalog, request.model);
    meter.model = model.id;
    checkServed(routing.unservedReason(model));
    checkInput(request, model, catalog);
    const estimate = () => estimateRequestTokens(request);
    meter.estimatePrompt = estimate;
    const context_length = routing.contextOf(model);
    checkContext(request, { ...model, context_length }, bytes.length, estimate);
    if (meter.countsTokens) {
      const reply = (request.max_tokens ?? REPLY_TOKENS) * (request.n ?? 1);
      await meter.reserve(estimate(), reply);
    }
    const upstreams = routing.upstreamsOf(model);
    const call = { exchange, meter, model, request, upstreams, circuitBreaker, signal, log };
    await (request.stream ? answerStream(call, this.#options) : answerWhole(call));
  }

  #refuse(exchange: Exchange, meter: UsageMeter, error: unknown): void {
    const { log } = this.#options;
    const known = error instanceof UpstreamError ? error.answer : error;
    const byUs =
      known === error &&
      (asHttpError(error).status < 500 || error instanceof StoreUnavailableError);
    meter.end(byUs ? 'refused' : 'upstream_error');
    if (error instanceof UpstreamError) {
      log.warn({ reqId: exchange.id, ...failureForLog(error) }, 'no upstream answered');
    }
    sendError(exchange, known, log, meter.limitHeaders());
  }
}

function readRequest(value: unknown): ChatRequest {
  const { data, error } = ChatRequest.safeParse(value, { error: plainWords });
  if (error) throw validationError(error.issues, value);
  return normalize(data);
}

/**
 * Listens to the connection of a request that was sent before the one ahead of it was answered. Until its turn comes, its
 * response has no connection and isn't notified when that closes.
 */
function followQueued(socket: Socket, response: ServerResponse, end: () => void): void {
  // One listener for each waiting request.
  socket.setMaxListeners(0);
  socket.once('close', end);
  response.once('close', () => socket.off('close', end));
}

/** Reads the body of a request. Throws the 413 or 415, or the signal's reason if the client leaves before all is sent. */
function readBody(request: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const { headers } = request;
  if (!/^application\/json *(;|$)/i.test(headers['content-type'] ?? '')) {
    throw new HttpError(
      415,
      ErrorCode.unsupportedMediaType,
      'Send the body as JSON, with the header Content-Type: application/json.',
    );
  }
  if (Number(headers['content-length']) > BODY_LIMIT_BYTES) throw tooLarge();
  // The client may have left while its limits were checked.
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const body = new BufferList();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('data', (part: Buffer) => {
      if (body.length + part.length > BODY_LIMIT_BYTES) reject(tooLarge());
      else body.add(part);
    });
    request.on('end', () => {
      signal.removeEventListener('abort', onAbort);
      resolve(body.join());
    });
    // The response closes as well, which ends the call.
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

/** Describes a finished call for the log: who asked, who answered and how much it took, and nothing of its texts. */
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
