import type { Agent } from 'undici';
import { EVENT_STREAM } from '../../contracts/server-sent-events.ts';
import { parseJson } from '../providers/json.ts';
import {
  adaptRequest,
  needsObjects,
  openaiDialect,
  providerHeaders,
} from '../providers/openai-dialect.ts';
import { readCompletion } from '../providers/openai-response.ts';
import type { Provider } from '../providers/provider.ts';
import { unusableError } from '../providers/provider-errors.ts';
import { BufferList } from '../shared/buffer-list.ts';
import type { SharedInterval } from '../shared/interval.ts';
import type { EventSink } from '../streaming/frame-stream.ts';
import type { Identify } from '../streaming/response-identity.ts';
import { createSsePassthrough } from '../streaming/sse-passthrough.ts';
import type { UpstreamTimeouts } from './idle-timeout.ts';
import { type CallListener, type CallTarget, ProviderCall } from './provider-call.ts';
import type { Relay, RelayCall } from './upstream.ts';

const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
/** How long a stream that said it is whole may take to end, so that its connection can serve the next call. */
const TAIL_LIMIT_MS = 1_000;

export function createRelay(options: {
  provider: Provider;
  model: string;
  agent: Agent;
  timeouts: UpstreamTimeouts;
  interval: SharedInterval;
  identify: Identify;
}): Relay {
  const { provider, model, agent, timeouts, interval, identify } = options;
  const address = new URL(`${provider.baseUrl}${openaiDialect.path}`);
  const target: CallTarget = {
    provider,
    model,
    agent,
    interval,
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

  function send(
    { request, write, cancellation }: RelayCall,
    waitMs: number,
    listener: CallListener,
  ) {
    const body = write(adaptRequest(request, provider, model));
    return new ProviderCall(target, { body, cancellation, waitMs, listener });
  }

  return {
    supports: (request) =>
      (request.n ?? 1) <= provider.maxChoices && !needsObjects(request, provider, model),

    complete(call) {
      return new Promise((resolve, reject) => {
        const parts = new BufferList();
        send(call, timeouts.answerMs, {
          onHeaders: () => undefined,
          onData(bytes) {
            parts.add(bytes);
            if (parts.length > ANSWER_LIMIT_BYTES) throw unusableError(provider, 'is too long');
          },
          onEnd() {
            const json = parts.join().toString();
            const answer = readCompletion(parseJson(json, provider), provider, model);
            const completion = { ...answer, ...identify(answer) };
            const isAsItCame = completion.id === answer.id && completion.created === answer.created;
            resolve({ completion, json: isAsItCame ? json : undefined });
          },
          onFailure: reject,
        });
      });
    },

    stream(request, options) {
      const events = createSsePassthrough(options, identify);
      return new Promise((resolve, reject) => {
        let waiting = '';
        let failure: { reason: unknown } | undefined;
        let begun = false;
        let over = false;
        let reader: { sink: EventSink; resolve: () => void; reject: (reason: unknown) => void };

        const call = send(request, timeouts.firstChunkMs, {
          onHeaders(headers) {
            const streams = String(headers['content-type']).startsWith(EVENT_STREAM);
            return streams ? undefined : unusableError(provider, 'is no stream');
          },
          onData: (bytes) => pass(events.push(bytes)),
          onEnd: () => pass(events.end()),
          onFailure(reason) {
            // What comes after the answer was whole is of no matter.
            if (events.whole) return;
            failure = { reason };
            if (!begun) reject(reason);
            else reader?.reject(reason);
          },
        });

        function pass(text: string): void {
          if (text !== '') {
            call.wait(timeouts.stallMs);
            if (reader) write(text);
            else waiting += text;
            begin();
          }
          if (events.broken) throw events.broken;
          if (events.whole) whole();
        }
        function begin(): void {
          if (begun) return;
          begun = true;
          resolve({
            pipe: (sink) =>
              new Promise((done, fail) => {
                reader = { sink, resolve: done, reject: fail };
                if (waiting !== '') write(waiting);
                waiting = '';
                if (events.whole) done();
                else if (failure) fail(failure.reason);
              }),
          });
        }
        function whole(): void {
          if (over) return;
          over = true;
          begin();
          call.wait(TAIL_LIMIT_MS);
          reader?.resolve();
        }
        function write(text: string): void {
          if (reader.sink.write(text)) return;
          // The caller's own pace is not the provider's silence.
          call.pause();
          call.wait(Number.POSITIVE_INFINITY);
          void reader.sink.drained().then(() => {
            call.wait(timeouts.stallMs);
            call.resume();
          });
        }
      });
    },
  };
}
