import type { Dispatcher } from 'undici';
import { GarbledStreamError, readEvents, readTail } from '../../contracts/event-reader.ts';
import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';
import { parseJson } from '../providers/dialect.ts';
import { providerHeaders } from '../providers/openai-dialect.ts';
import { forModel, type Provider } from '../providers/provider.ts';
import { unusableError } from '../providers/provider-errors.ts';
import { BufferList } from '../shared/buffer-list.ts';
import {
  type AnswerIdentity,
  createIdentifyAnswer,
  type IdentifyAnswer,
} from './answer-identity.ts';
import { type CallTarget, ProviderCall } from './provider-call.ts';
import { createChunkCutter, cutCompletion } from './stop-sequences.ts';
import type { Upstream } from './upstream.ts';

/** Longest silence of a provider, milliseconds. */
export interface UpstreamTimeouts {
  /** Until a whole answer has arrived; long prompts take minutes. */
  answerMs: number;
  /** Until the first chunk of a stream. */
  firstChunkMs: number;
  /** Between two chunks. */
  stallMs: number;
}

const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
const EVENT_LIMIT_CHARACTERS = 1024 * 1024;

/** A model that is called over HTTP. */
interface HttpModel extends CallTarget {
  timeouts: UpstreamTimeouts;
  identify: IdentifyAnswer;
}

/** Creates the upstream for a model of a provider, in the form of API that the provider speaks. */
export function createHttpUpstream(options: {
  provider: Provider;
  model: string;
  /** Returns the connections to an origin. */
  connect: (origin: string) => Dispatcher;
  timeouts: UpstreamTimeouts;
  identify?: IdentifyAnswer;
}): Upstream {
  const { model, connect, timeouts, identify = createIdentifyAnswer() } = options;
  const provider = forModel(options.provider, model);
  const { dialect } = provider;
  const { origin, pathname, search } = new URL(`${provider.baseUrl}${dialect.path}`);
  const target: HttpModel = {
    provider,
    model,
    dispatcher: connect(origin),
    origin,
    path: pathname + search,
    headers: { 'content-type': 'application/json', ...providerHeaders(provider) },
    timeouts,
    identify,
  };
  return {
    provider: provider.name,
    model,
    // A model's name may hold characters that a header can't. Through a Buffer, because encodeURI throws for half a pair.
    label: encodeURI(`${provider.name}/${Buffer.from(model)}`),
    contextTokens: provider.served?.find(({ id }) => id === model)?.contextTokens,
    maxChoices: provider.maxChoices,
    dropped: (request) => dialect.dropped(request, provider, model),
    complete: (request, signal) => fetchCompletion(target, request, signal),
    stream: (request, signal) => streamChunks(target, request, signal),
  };
}

async function fetchCompletion(
  target: HttpModel,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<ChatCompletion> {
  const { provider, model, timeouts } = target;
  const { dialect } = provider;
  const body = dialect.encode(request, provider, model);
  const call = new ProviderCall(target, signal);
  try {
    call.wait(timeouts.answerMs);
    const parts = new BufferList();
    for await (const part of await call.send(body, false)) {
      parts.add(part);
      if (parts.length > ANSWER_LIMIT_BYTES) throw unusableError(provider, 'is too long');
    }
    const json = parseJson(parts.join().toString(), provider);
    const answer = dialect.decode(json, provider, model);
    const completion = { ...answer, ...target.identify(answer) };
    const stops = dialect.ownStops(request, provider);
    return stops.length > 0 ? cutCompletion(completion, stops) : completion;
  } finally {
    call.end();
  }
}

async function* streamChunks(
  target: HttpModel,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const { provider, model, timeouts } = target;
  const { dialect } = provider;
  const body = dialect.encode(request, provider, model);
  const stops = dialect.ownStops(request, provider);
  const cut = stops.length > 0 ? createChunkCutter(stops) : undefined;
  const call = new ProviderCall(target, signal);
  let identity: AnswerIdentity | undefined;
  let waitMs = timeouts.firstChunkMs;
  let events: ReturnType<typeof readEvents> | undefined;
  let isDone = false;
  try {
    call.wait(waitMs);
    events = readEvents(await call.send(body, true), EVENT_LIMIT_CHARACTERS);
    const decoder = dialect.openStream(provider, model);
    while (!isDone) {
      const { value, done } = await events.next();
      if (done) {
        if (value && decoder.mayEnd) return;
        throw unusableError(provider, 'ended before it was complete');
      }
      const chunks = decoder.read(value.data);
      isDone = decoder.whole;
      if (!chunks) continue;
      // The client may take its time, which isn't the provider's silence.
      call.wait(Number.POSITIVE_INFINITY);
      for (const chunk of chunks) {
        const passed = cut ? cut(chunk) : chunk;
        if (passed === undefined) continue;
        waitMs = timeouts.stallMs;
        identity ??= target.identify(passed);
        yield { ...passed, ...identity };
      }
      call.wait(waitMs);
    }
  } catch (error) {
    if (error instanceof GarbledStreamError) throw unusableError(provider, 'is garbled', error);
    throw error;
  } finally {
    if (isDone && events) void readTail(events, () => call.end());
    else call.end();
  }
}
