import type { Dispatcher } from 'undici';
import { GarbledStreamError, readEvents } from '../../contracts/event-reader.ts';
import type { ChatCompletion, ChatRequest } from '../../contracts/gateway.ts';
import { parseJson } from '../providers/dialect.ts';
import { adaptRequest, openaiDialect, providerHeaders } from '../providers/openai-dialect.ts';
import { forModel, type Provider } from '../providers/provider.ts';
import { unusableError } from '../providers/provider-errors.ts';
import { BufferList } from '../shared/buffer-list.ts';
import type { AnswerStream, EventSink } from '../streaming/answer-stream.ts';
import {
  type AnswerIdentity,
  createIdentify,
  type Identify,
} from '../streaming/response-identity.ts';
import { createSsePassthrough } from '../streaming/sse-passthrough.ts';
import { type CallTarget, type Cancellation, ProviderCall } from './provider-call.ts';
import { createChunkCutter, cutCompletion } from './stop-sequences.ts';
import type { Relay, Upstream } from './upstream.ts';

/** How long a provider may be silent, milliseconds. */
export interface UpstreamTimeouts {
  /** For a whole answer that is not streamed; long prompts take minutes. */
  answerMs: number;
  /** Until the first chunk of a stream. */
  firstChunkMs: number;
  /** Between two chunks. */
  stallMs: number;
}

const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
const EVENT_LIMIT_BYTES = 1024 * 1024;
/** How long a stream that said it is whole may take to end, so that its connection can serve the next call. */
const TAIL_LIMIT_MS = 1_000;

interface UpstreamOptions {
  provider: Provider;
  model: string;
  /** The connections to an origin. */
  connect: (origin: string) => Dispatcher;
  timeouts: UpstreamTimeouts;
  identify?: Identify;
}

/**
 * A model of a provider, over HTTP, in the form of API that the provider speaks. Answers in the OpenAI convention can also
 * be passed on as they come.
 */
export function createHttpUpstream({
  model,
  connect,
  timeouts,
  identify = createIdentify(),
  ...options
}: UpstreamOptions): Upstream {
  const provider = forModel(options.provider, model);
  const { dialect } = provider;
  const address = new URL(`${provider.baseUrl}${dialect.path}`);
  const target: CallTarget = {
    provider,
    model,
    dispatcher: connect(address.origin),
    request: {
      origin: address.origin,
      path: address.pathname + address.search,
      method: 'POST',
      headers: Object.entries({
        'content-type': 'application/json',
        ...providerHeaders(provider),
      }).flat(),
    },
  };

  /** A whole answer, and its JSON as it came. */
  function fetchCompletion(body: Buffer[], cancellation: Cancellation) {
    return new Promise<{ completion: ChatCompletion; json: string | undefined }>(
      (resolve, reject) => {
        const parts = new BufferList();
        new ProviderCall(target, {
          body,
          cancellation,
          streams: false,
          waitMs: timeouts.answerMs,
          listener: {
            onData(bytes) {
              parts.add(bytes);
              if (parts.length > ANSWER_LIMIT_BYTES) throw unusableError(provider, 'is too long');
            },
            onEnd() {
              const json = parts.join().toString();
              const answer = dialect.decode(parseJson(json, provider), provider, model);
              const { id, created } = identify(answer);
              const isAsItCame = id === answer.id && created === answer.created;
              const completion = isAsItCame ? answer : { ...answer, id, created };
              resolve({ completion, json: isAsItCame ? json : undefined });
            },
            onFailure: reject,
          },
        });
      },
    );
  }

  const encode = (request: ChatRequest) => [
    Buffer.from(JSON.stringify(dialect.encode(request, provider, model))),
  ];

  const relay: Relay = {
    supports: (request) =>
      !provider.repairStreams && dialect.ownStops(request, provider).length === 0,
    complete: ({ request, write, cancellation }) =>
      fetchCompletion(write(adaptRequest(request, provider, model)), cancellation),
    stream({ request, write: writeBody, cancellation }, options) {
      const events = createSsePassthrough(options, identify);
      return new Promise((resolve, reject) => {
        /** What came before there was a reader. */
        let waiting = '';
        let failure: { reason: unknown } | undefined;
        let reader:
          | { sink: EventSink; resolve: () => void; reject: (reason: unknown) => void }
          | undefined;
        const answer: AnswerStream = (sink) =>
          new Promise((done, fail) => {
            reader = { sink, resolve: done, reject: fail };
            if (waiting !== '') write(sink, waiting);
            waiting = '';
            if (events.whole) done();
            else if (failure) fail(failure.reason);
          });

        const call = new ProviderCall(target, {
          body: writeBody(adaptRequest(request, provider, model)),
          cancellation,
          streams: true,
          waitMs: timeouts.firstChunkMs,
          listener: {
            // What comes after the answer was whole is of no matter.
            onData(bytes) {
              if (!events.whole) pass(events.push(bytes));
            },
            onEnd() {
              if (!events.whole) pass(events.end());
            },
            onFailure(reason) {
              if (events.whole) return;
              failure = { reason };
              // Of no effect once something could be passed on.
              reject(reason);
              reader?.reject(reason);
            },
          },
        });

        function pass(text: string): void {
          if (text !== '') {
            call.wait(timeouts.stallMs);
            if (reader) write(reader.sink, text);
            else waiting += text;
          }
          if (!reader && (text !== '' || events.whole)) resolve(answer);
          if (events.broken) throw events.broken;
          if (!events.whole) return;
          call.wait(TAIL_LIMIT_MS);
          reader?.resolve();
        }
        function write(sink: EventSink, text: string): void {
          if (sink.write(text)) return;
          // The client's own pace is not the provider's silence.
          call.pause();
          call.wait(Number.POSITIVE_INFINITY);
          void sink.drained().then(() => {
            call.wait(timeouts.stallMs);
            call.resume();
          });
        }
      });
    },
  };

  return {
    provider: provider.name,
    model,
    // The provider's name for the model may hold what a header cannot; through a Buffer, as encodeURI throws for half a pair.
    label: encodeURI(`${provider.name}/${Buffer.from(model)}`),
    contextTokens: provider.served?.find(({ id }) => id === model)?.contextTokens,
    maxChoices: provider.maxChoices,
    dropped: (request) => dialect.dropped(request, provider, model),
    ...(dialect === openaiDialect && { relay }),
    async complete(request, signal) {
      const { completion } = await fetchCompletion(encode(request), followed(signal));
      const stops = dialect.ownStops(request, provider);
      return stops.length > 0 ? cutCompletion(completion, stops) : completion;
    },
    async *stream(request, signal) {
      let identity: AnswerIdentity | undefined;
      let waitMs = timeouts.firstChunkMs;
      let whole = false;
      const bytes = new ByteQueue();
      const call = new ProviderCall(target, {
        body: encode(request),
        cancellation: followed(signal),
        streams: true,
        waitMs: timeouts.firstChunkMs,
        listener: {
          onData(part) {
            // undici gives an empty part whenever it is resumed; to pause then would never end.
            if (whole || part.length === 0) return;
            bytes.add(part);
            call.pause();
          },
          onEnd: () => bytes.end(),
          onFailure: (reason) => bytes.fail(reason),
        },
      });
      try {
        const stops = dialect.ownStops(request, provider);
        const cut = stops.length > 0 ? createChunkCutter(stops) : undefined;
        const events = readEvents(
          bytes.read(() => call.resume()),
          EVENT_LIMIT_BYTES,
        );
        const decoder = dialect.openStream(provider, model);
        for (;;) {
          const { value, done } = await events.next();
          if (done) {
            whole = value && decoder.mayEnd;
            if (!whole) throw unusableError(provider, 'ended before it was complete');
            return;
          }
          const chunks = decoder.read(value.data);
          // The client's own pace is not the provider's silence.
          if (chunks) call.wait(Number.POSITIVE_INFINITY);
          for (const chunk of chunks ?? []) {
            const passed = cut ? cut(chunk) : chunk;
            if (passed === undefined) continue;
            waitMs = timeouts.stallMs;
            identity ??= identify(passed);
            yield { ...passed, ...identity };
          }
          if (decoder.whole) {
            whole = true;
            call.wait(TAIL_LIMIT_MS);
            call.resume();
            return;
          }
          if (chunks) call.wait(waitMs);
        }
      } catch (error) {
        if (error instanceof GarbledStreamError) throw unusableError(provider, 'is garbled', error);
        throw error;
      } finally {
        if (!whole) call.leave();
      }
    },
  };
}

/** A signal as a call follows it. Throws its reason when it has been given already. */
function followed(signal: AbortSignal): Cancellation {
  signal.throwIfAborted();
  return {
    get reason() {
      return signal.reason;
    },
    onCancel(listener) {
      signal.addEventListener('abort', listener, { once: true });
      return () => signal.removeEventListener('abort', listener);
    },
  };
}

/** Bytes on their way from those who bring them to one who takes them. */
class ByteQueue {
  private readonly parts: Buffer[] = [];
  private over: { reason?: unknown } | undefined;
  private wake = () => {};

  add(part: Buffer): void {
    this.parts.push(part);
    this.wake();
  }

  end(): void {
    this.over = {};
    this.wake();
  }

  fail(reason: unknown): void {
    this.over = { reason };
    this.wake();
  }

  /** Calls `more` whenever it has given all that came. Throws the reason of a failure. */
  async *read(more: () => void): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const part = this.parts.shift();
      if (part) {
        yield part;
      } else if (this.over) {
        if ('reason' in this.over) throw this.over.reason;
        return;
      } else {
        const came = new Promise<void>((resolve) => {
          this.wake = resolve;
        });
        more();
        await came;
      }
    }
  }
}
