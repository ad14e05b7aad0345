import type { Logger } from 'pino';
import type { Agent } from 'undici';
import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../contracts/gateway.ts';
import { type Catalog, type TextModel, textModels } from './catalog.ts';
import { createHttpUpstream, type Patience } from './http-upstream.ts';
import { offlineEngine } from './offline.ts';
import { type Provider, type ProviderName, servedModel } from './providers.ts';
import { failureForLog, type Upstream, UpstreamError } from './upstream.ts';

/** Knows who answers for each model now. */
export interface Routing {
  /** In the order they are tried; never empty. */
  upstreamsOf(model: TextModel): readonly Upstream[];
}

/** Finds the upstreams of every text model that are live; a model with none is answered by the offline engine. */
export function createRouting(options: {
  catalog: Catalog;
  providers: ReadonlyMap<ProviderName, Provider>;
  agent: Agent;
  patience: Patience;
}): Routing {
  const { catalog, providers, agent, patience } = options;
  const upstreams = new Map<string, Upstream[]>();
  for (const { id, upstreams: named } of textModels(catalog)) {
    const live = named.flatMap(({ provider: name, model: wanted }) => {
      const provider = providers.get(name);
      const model = provider && servedModel(provider, wanted);
      return model ? [createHttpUpstream({ provider, model, agent, patience })] : [];
    });
    upstreams.set(id, live);
  }
  return {
    upstreamsOf({ id }) {
      const live = upstreams.get(id) ?? [];
      return live.length > 0 ? live : [offlineEngine];
    },
  };
}

/** What a call is asked with and told about. */
export interface Attempts {
  upstreams: readonly Upstream[];
  request: ChatRequest;
  signal: AbortSignal;
  /** Is told who is asked. */
  onAttempt: (upstream: Upstream) => void;
  log: Logger;
}

/** The whole answer of the first upstream that gives one. Throws what the last one threw. */
export async function completeInOrder(attempts: Attempts): Promise<ChatCompletion> {
  for (const upstream of inOrder(attempts)) {
    try {
      return await upstream.complete(attempts.request, attempts.signal);
    } catch (error) {
      throwUnlessNext(error, upstream, attempts);
    }
  }
  throw new Error('There was no upstream to ask.');
}

/**
 * The chunks of the first upstream that gives one; once it has, no other is asked, because two answers would run into
 * one. Throws what the last one threw.
 */
export async function* streamInOrder(
  attempts: Attempts,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  for (const upstream of inOrder(attempts)) {
    let begun = false;
    try {
      for await (const chunk of upstream.stream(attempts.request, attempts.signal)) {
        begun = true;
        yield chunk;
      }
      return;
    } catch (error) {
      if (begun) throw error;
      throwUnlessNext(error, upstream, attempts);
    }
  }
}

function* inOrder({ upstreams, onAttempt }: Attempts): Generator<Upstream> {
  for (const upstream of upstreams) {
    onAttempt(upstream);
    yield upstream;
  }
}

function throwUnlessNext(error: unknown, upstream: Upstream, { upstreams, log }: Attempts): void {
  const more = upstream !== upstreams.at(-1);
  if (!more || !(error instanceof UpstreamError) || !error.tryNext) throw error;
  const { provider, model } = upstream;
  log.warn({ provider, model, ...failureForLog(error) }, 'asking the next upstream');
}
