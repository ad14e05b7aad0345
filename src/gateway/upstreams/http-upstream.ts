import { type Agent, type Dispatcher, request as send } from 'undici';
import type { ChatRequest } from '../../contracts/gateway.ts';
import { EVENT_STREAM } from '../../contracts/server-sent-events.ts';
import { parseJson } from '../providers/dialect.ts';
import { providerHeaders } from '../providers/openai-dialect.ts';
import type { Provider } from '../providers/provider.ts';
import {
  connectionError,
  errorOfResponse,
  timeoutError,
  unusableError,
} from '../providers/provider-errors.ts';
import { BufferList } from '../shared/buffer-list.ts';
import { UpstreamError } from '../shared/upstream-error.ts';
import {
  type AnswerIdentity,
  createIdentify,
  type Identify,
} from '../streaming/response-identity.ts';
import { GarbledStreamError, readEventData } from '../streaming/sse-parser.ts';
import type { UpstreamTimeouts } from './idle-timeout.ts';
import { createIdleTimeout, type IdleTimeout } from './idle-timeout.ts';
import { createChunkCutter, cutCompletion } from './stop-sequences.ts';
import type { Upstream } from './upstream.ts';

const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
const ERROR_LIMIT_BYTES = 64 * 1024;
const EVENT_LIMIT_BYTES = 1024 * 1024;
const TAIL_LIMIT_MS = 1_000;

/** A model of a provider, over HTTP, in the form of API that the provider speaks. */
export function createHttpUpstream(options: {
  provider: Provider;
  model: string;
  agent: Agent;
  timeouts: UpstreamTimeouts;
  identify?: Identify;
}): Upstream {
  const { provider, model, agent, timeouts, identify = createIdentify() } = options;
  const dialect = provider.dialect;

  /** Sends the call; its good answer is still to be read. */
  async function open(
    request: ChatRequest,
    idleTimeout: IdleTimeout,
  ): Promise<Dispatcher.ResponseData> {
    const answer = await send(`${provider.baseUrl}${dialect.path}`, {
      dispatcher: agent,
      method: 'POST',
      signal: idleTimeout.signal,
      headers: { 'content-type': 'application/json', ...providerHeaders(provider) },
      body: JSON.stringify(dialect.encode(request, provider, model)),
    });
    // Closed unread, a body would emit an error that nobody hears; a reader hears it all the same.
    answer.body.on('error', () => {});
    const { statusCode: status, headers } = answer;
    if (status !== 200) {
      const text = (await readText(answer, ERROR_LIMIT_BYTES)) ?? '';
      throw errorOfResponse(provider, model, { status, headers, body: text });
    }
    if ((headers['content-encoding'] ?? 'identity') === 'identity') return answer;
    answer.body.destroy();
    throw unusableError(provider, 'is in an encoding nobody asked for');
  }

  /** The error of a call that went wrong: the client's own reason when it left, else what happened at the provider. */
  function explain(error: unknown, idleTimeout: IdleTimeout): unknown {
    if (idleTimeout.signal.aborted) return idleTimeout.signal.reason;
    if (error instanceof UpstreamError) return error;
    if (error instanceof GarbledStreamError) return unusableError(provider, 'is garbled', error);
    return connectionError(provider, error);
  }

  return {
    provider: provider.name,
    model,
    maxChoices: provider.maxChoices,
    dropped: (request) => dialect.dropped(request, provider, model),
    async complete(request, signal) {
      const idleTimeout = createIdleTimeout(signal, () => timeoutError(provider));
      idleTimeout.wait(timeouts.answerMs);
      try {
        const answer = await open(request, idleTimeout);
        const text = await readText(answer, ANSWER_LIMIT_BYTES);
        if (text === undefined) throw unusableError(provider, 'is too long');
        const told = dialect.decode(parseJson(text, provider), provider, model);
        const completion = { ...told, ...identify(told) };
        const stops = dialect.ownStops(request, provider, model);
        return stops.length > 0 ? cutCompletion(completion, stops) : completion;
      } catch (error) {
        throw explain(error, idleTimeout);
      } finally {
        idleTimeout.release();
      }
    },
    async *stream(request, signal) {
      const idleTimeout = createIdleTimeout(signal, () => timeoutError(provider));
      idleTimeout.wait(timeouts.firstChunkMs);
      let answer: Dispatcher.ResponseData | undefined;
      let identity: AnswerIdentity | undefined;
      let begun = false;
      let whole = false;
      try {
        answer = await open(request, idleTimeout);
        if (!String(answer.headers['content-type']).startsWith(EVENT_STREAM)) {
          throw unusableError(provider, 'is no stream');
        }
        const stops = dialect.ownStops(request, provider, model);
        const cut = stops.length > 0 ? createChunkCutter(stops) : undefined;
        const events = readEventData(answer.body, EVENT_LIMIT_BYTES);
        const decoder = dialect.openStream(provider, model);
        for (;;) {
          const { value, done } = await events.next();
          if (done) {
            whole = value && decoder.mayEnd;
            if (!whole) throw unusableError(provider, 'ended before it was complete');
            return;
          }
          const chunks = decoder.read(value);
          // The client's own pace is not the provider's silence.
          if (chunks) idleTimeout.pause();
          for (const chunk of chunks ?? []) {
            const passed = cut ? cut(chunk) : chunk;
            if (passed === undefined) continue;
            begun = true;
            identity ??= identify(passed);
            yield { ...passed, ...identity };
          }
          if (decoder.whole) {
            whole = true;
            void readToEnd(events, answer);
            return;
          }
          if (chunks) idleTimeout.wait(begun ? timeouts.stallMs : timeouts.firstChunkMs);
        }
      } catch (error) {
        throw explain(error, idleTimeout);
      } finally {
        idleTimeout.release();
        if (!whole) answer?.body.destroy();
      }
    },
  };
}

/** Reads what is left after the last event, so that the connection serves the next call; closes it if there is more. */
async function readToEnd(
  events: AsyncGenerator<string, boolean>,
  { body }: Dispatcher.ResponseData,
): Promise<void> {
  const limit = setTimeout(() => body.destroy(), TAIL_LIMIT_MS);
  try {
    const { done } = await events.next();
    if (!done) body.destroy();
  } catch {
    // The answer was whole; how its connection ends is of no matter.
  } finally {
    clearTimeout(limit);
  }
}

/** The whole body as text, or `undefined` as soon as it is too long. */
async function readText(
  { body }: Dispatcher.ResponseData,
  limitBytes: number,
): Promise<string | undefined> {
  const parts = new BufferList();
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.add(part);
    if (parts.length > limitBytes) {
      body.destroy();
      return undefined;
    }
  }
  return parts.join().toString('utf8');
}
