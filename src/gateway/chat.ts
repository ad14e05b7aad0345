import type { Logger } from 'pino';
import { ErrorCode } from '../contracts/error.ts';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatRequest,
  GatewayPath,
} from '../contracts/gateway.ts';
import type { Authenticate } from '../http/authentication.ts';
import { answerError, asHttpError, errorBody } from '../http/error-answers.ts';
import { HttpError } from '../http/errors.ts';
import type { HttpReply, HttpRequest, HttpServer } from '../http/server.ts';
import type { Catalog, TextModel } from './catalog.ts';
import { checkChoices, checkContext, checkInput, findTextModel, normalize } from './chat-checks.ts';
import { createEventStream } from './event-stream.ts';
import { type Attempts, completeInOrder, type Routing, streamInOrder } from './routing.ts';
import { failureForLog, UpstreamError } from './upstream.ts';
import type { UsageLedger, UsageMeter } from './usage.ts';

/** Bytes of a request body: the longest context as text, and a few pictures. */
const BODY_LIMIT_BYTES = 8 * 1024 * 1024;

/** The chat route while it serves. */
export interface Chat {
  /** Refuses new calls, gives those under way so long to end, then cuts them. */
  close(graceMs: number): Promise<void>;
}

interface ChatOptions {
  server: HttpServer;
  authenticate: Authenticate;
  catalog: Catalog;
  routing: Routing;
  ledger: UsageLedger;
  pingMs: number;
  log: Logger;
}

/** Thrown to end a call whose caller left; it is answered to nobody. */
class ClientGoneError extends Error {
  override name = 'ClientGoneError' as const;
}

/** Adds POST /v1/chat/completions: key, body, model, context, then the upstreams in order, plain or streamed. */
export function addChat({
  server,
  authenticate,
  catalog,
  routing,
  ledger,
  pingMs,
  log,
}: ChatOptions): Chat {
  const meters = new WeakMap<HttpRequest, UsageMeter>();
  const underWay = new Set<{ controller: AbortController; ended: Promise<void> }>();
  let closing = false;

  server.post(
    GatewayPath.chatCompletions,
    {
      schema: {
        body: ChatRequest,
        summary: 'Create a reply for a conversation',
        security: [{ bearer: [] }],
        tags: ['gateway'],
      },
      bodyLimit: BODY_LIMIT_BYTES,
      // Before the body is read: a stranger's megabytes are not worth waiting for.
      onRequest: async (request, reply) => {
        const meter = ledger.open(authenticate(request).id);
        meters.set(request, meter);
        const { raw } = reply;
        raw.once('close', () => meter.end(raw.writableFinished ? 'complete' : 'client_gone'));
      },
      errorHandler(error, request, reply) {
        const known = error instanceof UpstreamError ? error.answer : error;
        const byUs = known === error && asHttpError(error).status < 500;
        meters.get(request)?.end(byUs ? 'refused' : 'upstream_error');
        if (error instanceof UpstreamError) log.warn(failureForLog(error), 'no upstream answered');
        answerError(known, request, reply);
      },
    },
    async (request, reply) => {
      const meter = meters.get(request);
      if (!meter) throw new Error('The request was not metered.');
      if (closing) throw stopping();
      const body = normalize(request.body);
      const model = findTextModel(catalog, body.model);
      meter.model = model.id;
      checkInput(body, model, catalog);
      const promptEstimate = checkContext(body, model);
      const upstreams = checkChoices(body, model, routing.upstreamsOf(model));
      meter.promptEstimate = promptEstimate;

      const { signal } = follow(reply, underWay);
      const attempts: Attempts = {
        upstreams,
        request: body,
        signal,
        onAttempt: (upstream) => {
          meter.provider = upstream.provider;
        },
        log,
      };
      try {
        if (body.stream) return await answerStream(reply, model, attempts, meter, pingMs);
        return await answerWhole(model, attempts, meter);
      } catch (error) {
        if (!(signal.reason instanceof ClientGoneError)) throw error;
        reply.hijack();
        return reply;
      }
    },
  );

  return {
    async close(graceMs) {
      closing = true;
      const limit = setTimeout(() => {
        for (const { controller } of underWay) controller.abort(stopping());
      }, graceMs);
      await Promise.all([...underWay].map(({ ended }) => ended));
      clearTimeout(limit);
    },
  };
}

function stopping(): UpstreamError {
  return new UpstreamError(
    new HttpError(503, ErrorCode.unavailable, 'The gateway is stopping. Try again in a moment.'),
    { tryNext: false },
  );
}

/** Ends the call when the caller is gone. */
function follow(
  { raw }: HttpReply,
  underWay: Set<{ controller: AbortController; ended: Promise<void> }>,
): AbortController {
  const controller = new AbortController();
  const ended = new Promise<void>((resolve) => {
    const over = () => {
      if (!raw.writableFinished) controller.abort(new ClientGoneError());
      underWay.delete(call);
      resolve();
    };
    raw.once('close', over);
    if (raw.destroyed) queueMicrotask(over);
  });
  const call = { controller, ended };
  underWay.add(call);
  return controller;
}

async function answerWhole(
  model: TextModel,
  attempts: Attempts,
  meter: UsageMeter,
): Promise<ChatCompletion> {
  const completion = await completeInOrder(attempts);
  if (completion.usage) meter.usage = completion.usage;
  for (const { message } of completion.choices) meter.addText(message.content ?? '');
  return { ...completion, model: model.id, usage: meter.tokens() };
}

async function answerStream(
  reply: HttpReply,
  model: TextModel,
  attempts: Attempts,
  meter: UsageMeter,
  pingMs: number,
): Promise<HttpReply> {
  const wantsUsage = attempts.request.stream_options?.include_usage === true;
  const events = createEventStream(reply, pingMs);
  let last: ChatCompletionChunk | undefined;
  try {
    for await (const chunk of streamInOrder(attempts)) {
      last = chunk;
      if (chunk.usage) meter.usage = chunk.usage;
      for (const { delta } of chunk.choices) meter.addText(delta.content ?? '');
      const { usage, ...rest } = { ...chunk, model: model.id };
      if (wantsUsage) await events.send({ ...rest, usage: usage ?? null });
      else if (rest.choices.length > 0) await events.send(rest);
    }
    if (wantsUsage && last && !meter.usage) {
      await events.send({ ...last, model: model.id, choices: [], usage: meter.tokens() });
    }
    events.end();
  } catch (error) {
    if (!events.begun || attempts.signal.reason instanceof ClientGoneError) throw error;
    meter.end('upstream_error');
    attempts.log.warn(failureForLog(error), 'a streamed answer broke');
    events.fail(errorBody(error instanceof UpstreamError ? error.answer : asHttpError(error)));
  } finally {
    events.release();
  }
  return reply;
}
