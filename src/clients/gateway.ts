import type { Logger } from 'pino';
import { z } from 'zod';
import {
  ChatCompletion,
  type ChatCompletionChunk,
  type ChatRequest,
  GatewayPath,
  Model,
  ModelList,
} from '../contracts/gateway.ts';
import { expectStream, readChunks } from './chunk-stream.ts';
import {
  createCallLimit,
  openServiceConnection,
  type ServiceRequest,
} from './service-connection.ts';
import { readJson } from './service-response.ts';

/**
 * The model gateway as typed functions. Every function throws a `CallError` or a `ContractError`; after an abort, the
 * signal's own reason.
 */
export interface GatewayClient {
  models(options?: { signal?: AbortSignal }): Promise<Model[]>;
  /** One whole answer. */
  complete(request: ChatRequest, options?: { signal?: AbortSignal }): Promise<ChatCompletion>;
  /**
   * An answer chunk by chunk as it is generated. Ends only when it is whole: a cut, garbled or stalled stream throws
   * after the chunks that came. Leaving the loop or aborting ends the call at the service.
   */
  stream(
    request: ChatRequest,
    options?: { signal?: AbortSignal },
  ): AsyncIterable<ChatCompletionChunk>;
  close(): Promise<void>;
}

/** A model whose additions to the contract are left out where another service means something else by those names. */
const ForeignModel = Model.extend({
  kind: Model.shape.kind.catch(undefined),
  context_length: Model.shape.context_length.catch(undefined),
  input: Model.shape.input.catch(undefined),
  resolutions: Model.shape.resolutions.catch(undefined),
  ranks: Model.shape.ranks.catch(undefined),
  supported_parameters: Model.shape.supported_parameters.catch(undefined),
  description: Model.shape.description.catch(undefined),
  available: Model.shape.available.catch(undefined),
  unavailable_reason: Model.shape.unavailable_reason.catch(undefined),
});
const ForeignModelList = ModelList.extend({ data: z.array(ForeignModel) });

/**
 * Opens a client of the model gateway at `baseUrl`, with or without a slash at its end.
 * `timeoutMs` is for the list of models, `answerTimeoutMs` for a whole answer, `stallMs` for the wait for the first and
 * for every next chunk of a streamed one; a comment such as `: ping` is no chunk.
 */
export function createGatewayClient(options: {
  baseUrl: string;
  apiKey: string;
  timeoutMs?: number;
  answerTimeoutMs?: number;
  stallMs?: number;
  log?: Logger;
}): GatewayClient {
  const { timeoutMs = 10_000, answerTimeoutMs = 600_000, stallMs = 60_000 } = options;
  const service = openServiceConnection(options);
  const headers = { authorization: `Bearer ${options.apiKey}` };

  function begin(call: ServiceRequest, ms: number, signal: AbortSignal | undefined) {
    const limit = createCallLimit(signal);
    limit.after(ms, `${service.nameOf(call)} did not answer within ${ms / 1000} s.`);
    return limit;
  }

  async function fetchJson<T>(
    call: ServiceRequest,
    schema: z.ZodType<T>,
    ms: number,
    signal?: AbortSignal,
  ) {
    const limit = begin(call, ms, signal);
    try {
      return await service.send(call, limit, (answer) => readJson(answer, schema));
    } finally {
      limit.release();
    }
  }

  const ask = (body: ChatRequest): ServiceRequest => ({
    method: 'POST',
    path: GatewayPath.chatCompletions,
    headers,
    body,
  });

  return {
    async models({ signal } = {}) {
      const call: ServiceRequest = { method: 'GET', path: GatewayPath.models, headers };
      return (await fetchJson(call, ForeignModelList, timeoutMs, signal)).data;
    },
    complete: (request, { signal } = {}) =>
      fetchJson(ask({ ...request, stream: false }), ChatCompletion, answerTimeoutMs, signal),
    async *stream(request, { signal } = {}) {
      const call = ask({ ...request, stream: true });
      const limit = begin(call, answerTimeoutMs, signal);
      try {
        const callOff = limit.after(
          stallMs,
          `${service.nameOf(call)} did not begin to answer within ${stallMs / 1000} s.`,
        );
        const answer = await service.send(call, limit, expectStream);
        callOff();
        yield* readChunks(answer, limit, stallMs);
      } finally {
        limit.release();
      }
    },
    close: () => service.close(),
  };
}
