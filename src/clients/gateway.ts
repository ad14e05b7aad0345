import type { Logger } from 'pino';
import { z } from 'zod';
import {
  ChatCompletion,
  type ChatCompletionChunk,
  type ChatRequest,
  GatewayPath,
  Model,
  ModelList,
  UPSTREAM_HEADER,
} from '../contracts/gateway.ts';
import { oneLine } from '../contracts/one-line.ts';
import { expectStream, readChunks } from './chunk-stream.ts';
import { openServiceConnection, type ServiceRequest } from './service-connection.ts';
import { readJson, withoutOddAdditions } from './service-response.ts';

/** Every function throws a `CallError` or a `ContractError`; after an abort, the signal's own reason. */
export type GatewayClient = ReturnType<typeof createGatewayClient>;

interface GatewayCallOptions {
  signal?: AbortSignal;
}

/** The provider that answered, and its own name for the model. */
export interface AnsweringModel {
  provider: string;
  model: string;
}

/** Characters of a model's name that are shown. */
const MAX_NAME = 100;

function readUpstream(header: unknown): AnsweringModel | undefined {
  const [, provider, label] = /^([\w-]{1,40})\/(.{1,600})$/.exec(String(header ?? '')) ?? [];
  if (provider === undefined || label === undefined) return undefined;
  try {
    const model = oneLine(decodeURI(label)).slice(0, MAX_NAME);
    return model === '' ? undefined : { provider, model };
  } catch {
    // Another gateway uses this header for something else.
    return undefined;
  }
}

const ForeignModelList = ModelList.extend({ data: z.array(withoutOddAdditions(Model)) });

/** `timeoutMs` limits the list of models, `answerTimeoutMs` a whole answer. The caller of a stream limits its silence. */
export function createGatewayClient(options: {
  baseUrl: string;
  apiKey: string;
  timeoutMs?: number;
  answerTimeoutMs?: number;
  log?: Logger;
}) {
  const { timeoutMs = 10_000, answerTimeoutMs = 600_000 } = options;
  const service = openServiceConnection(options);
  const headers = { authorization: `Bearer ${options.apiKey}` };

  const ask = (body: ChatRequest): ServiceRequest => ({
    method: 'POST',
    path: GatewayPath.chatCompletions,
    headers,
    body,
    failsWhenLimited: true,
  });

  return {
    async models({ signal }: GatewayCallOptions = {}): Promise<Model[]> {
      const call: ServiceRequest = { method: 'GET', path: GatewayPath.models, headers };
      const { data } = await service.sendWithin(timeoutMs, call, signal, (answer) =>
        readJson(answer, ForeignModelList),
      );
      return data;
    },
    complete(request: ChatRequest, { signal }: GatewayCallOptions = {}): Promise<ChatCompletion> {
      const call = ask({ ...request, stream: false });
      return service.sendWithin(answerTimeoutMs, call, signal, (answer) =>
        readJson(answer, ChatCompletion),
      );
    },
    /**
     * Yields the chunks of an answer as they are generated. Ends only if it is whole: a cut or garbled stream throws after
     * the chunks that arrived. Leaving the loop or aborting ends the call at the service.
     */
    async *stream(
      request: ChatRequest,
      {
        signal,
        onUpstream,
      }: GatewayCallOptions & { onUpstream?(upstream: AnsweringModel): void } = {},
    ): AsyncGenerator<ChatCompletionChunk, void, undefined> {
      const call = ask({ ...request, stream: true });
      const limit = service.begin(answerTimeoutMs, call, signal);
      try {
        const answer = await service.send(call, limit, expectStream);
        const upstream = readUpstream(answer.headers[UPSTREAM_HEADER]);
        if (upstream) onUpstream?.(upstream);
        yield* readChunks(answer, limit);
      } finally {
        limit.release();
      }
    },
    close: () => service.close(),
  };
}
