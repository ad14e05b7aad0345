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

/**
 * The model gateway as typed functions. Every function throws a `CallError` or a `ContractError`; after an abort, the
 * signal's own reason.
 */
export type GatewayClient = ReturnType<typeof createGatewayClient>;

interface Options {
  signal?: AbortSignal;
}

/** Who answered, by the provider's own name for the model. */
export interface UpstreamName {
  provider: string;
  model: string;
}

/** Longest name of a model that is shown. */
const MAX_NAME = 100;

function readUpstream(header: unknown): UpstreamName | undefined {
  const [, provider, label] = /^([\w-]{1,40})\/(.{1,600})$/.exec(String(header ?? '')) ?? [];
  if (provider === undefined || label === undefined) return undefined;
  try {
    const model = oneLine(decodeURI(label)).slice(0, MAX_NAME);
    return model === '' ? undefined : { provider, model };
  } catch {
    // Another gateway's header of this name, written otherwise.
    return undefined;
  }
}

const ForeignModelList = ModelList.extend({ data: z.array(withoutOddAdditions(Model)) });

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
}) {
  const { timeoutMs = 10_000, answerTimeoutMs = 600_000, stallMs = 60_000 } = options;
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
    async models({ signal }: Options = {}): Promise<Model[]> {
      const call: ServiceRequest = { method: 'GET', path: GatewayPath.models, headers };
      const { data } = await service.sendWithin(timeoutMs, call, signal, (answer) =>
        readJson(answer, ForeignModelList),
      );
      return data;
    },
    /** One whole answer. */
    complete(request: ChatRequest, { signal }: Options = {}): Promise<ChatCompletion> {
      const call = ask({ ...request, stream: false });
      return service.sendWithin(answerTimeoutMs, call, signal, (answer) =>
        readJson(answer, ChatCompletion),
      );
    },
    /**
     * An answer chunk by chunk as it is generated. Ends only when it is whole: a cut, garbled or stalled stream throws
     * after the chunks that came. Leaving the loop or aborting ends the call at the service.
     */
    async *stream(
      request: ChatRequest,
      { signal, onUpstream }: Options & { onUpstream?(upstream: UpstreamName): void } = {},
    ): AsyncGenerator<ChatCompletionChunk, void, undefined> {
      const call = ask({ ...request, stream: true });
      const limit = service.begin(answerTimeoutMs, call, signal);
      try {
        const callOff = limit.after(
          stallMs,
          `${service.nameOf(call)} did not begin to answer within ${stallMs / 1000} s.`,
        );
        const answer = await service.send(call, limit, expectStream);
        callOff();
        const upstream = readUpstream(answer.headers[UPSTREAM_HEADER]);
        if (upstream) onUpstream?.(upstream);
        yield* readChunks(answer, limit, stallMs);
      } finally {
        limit.release();
      }
    },
    close: () => service.close(),
  };
}
