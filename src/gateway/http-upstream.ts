import { type Agent, type Dispatcher, request as send } from 'undici';
import { ChatCompletion, ChatCompletionChunk, type ChatRequest } from '../contracts/gateway.ts';
import { EVENT_STREAM, STREAM_DONE } from '../contracts/server-sent-events.ts';
import { GarbledStreamError, readEventData } from './event-data.ts';
import { connectionError, refusalError, silenceError, unusableError } from './provider-refusal.ts';
import type { Provider } from './providers.ts';
import { type Upstream, UpstreamError } from './upstream.ts';
import { createWatchdog, type Watchdog } from './watchdog.ts';

/** How long a provider may be silent, milliseconds. */
export interface Patience {
  /** For a whole answer that is not streamed; long prompts take minutes. */
  answerMs: number;
  /** Until the first chunk of a stream. */
  firstChunkMs: number;
  /** Between two chunks. */
  stallMs: number;
}

const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
const ERROR_LIMIT_BYTES = 64 * 1024;
const EVENT_LIMIT_BYTES = 1024 * 1024;
const TAIL_LIMIT_MS = 1_000;

/** A model of a provider that speaks the OpenAI convention. */
export function createHttpUpstream(options: {
  provider: Provider;
  model: string;
  agent: Agent;
  patience: Patience;
}): Upstream {
  const { provider, model, agent, patience } = options;

  /** Sends the call; its good answer is still to be read. */
  async function open(body: unknown, watchdog: Watchdog): Promise<Dispatcher.ResponseData> {
    const answer = await send(`${provider.baseUrl}/chat/completions`, {
      dispatcher: agent,
      method: 'POST',
      signal: watchdog.signal,
      headers: {
        'content-type': 'application/json',
        ...(provider.apiKey && { authorization: `Bearer ${provider.apiKey}` }),
      },
      body: JSON.stringify(body),
    });
    // Closed unread, a body would emit an error that nobody hears; a reader hears it all the same.
    answer.body.on('error', () => {});
    const { statusCode: status, headers } = answer;
    if (status !== 200) {
      const text = (await readText(answer, ERROR_LIMIT_BYTES)) ?? '';
      throw refusalError(provider, model, { status, headers, body: text });
    }
    if ((headers['content-encoding'] ?? 'identity') === 'identity') return answer;
    answer.body.destroy();
    throw unusableError(provider, 'is in an encoding nobody asked for');
  }

  /** The error of a call that went wrong: the caller's own reason when it left, else what happened at the provider. */
  function explain(error: unknown, watchdog: Watchdog): unknown {
    if (watchdog.signal.aborted) return watchdog.signal.reason;
    if (error instanceof UpstreamError) return error;
    if (error instanceof GarbledStreamError) return unusableError(provider, 'is garbled', error);
    return connectionError(provider, error);
  }

  return {
    provider: provider.name,
    model,
    maxChoices: provider.maxChoices,
    async complete(request, signal) {
      const watchdog = createWatchdog(signal, () => silenceError(provider));
      watchdog.wait(patience.answerMs);
      try {
        const answer = await open(adapt(request, provider, model), watchdog);
        return readCompletion(await readText(answer, ANSWER_LIMIT_BYTES), provider);
      } catch (error) {
        throw explain(error, watchdog);
      } finally {
        watchdog.release();
      }
    },
    async *stream(request, signal) {
      const watchdog = createWatchdog(signal, () => silenceError(provider));
      watchdog.wait(patience.firstChunkMs);
      let answer: Dispatcher.ResponseData | undefined;
      let whole = false;
      try {
        answer = await open(adapt(request, provider, model), watchdog);
        if (!String(answer.headers['content-type']).startsWith(EVENT_STREAM)) {
          throw unusableError(provider, 'is no stream');
        }
        const events = readEventData(answer.body, EVENT_LIMIT_BYTES);
        for (;;) {
          const { value: data, done } = await events.next();
          if (done) throw unusableError(provider, 'ended before it was complete');
          if (data === STREAM_DONE) {
            whole = true;
            void readToEnd(events, answer);
            return;
          }
          // The caller's own pace is not the provider's silence.
          watchdog.pause();
          yield readChunk(data, provider);
          watchdog.wait(patience.stallMs);
        }
      } catch (error) {
        throw explain(error, watchdog);
      } finally {
        watchdog.release();
        if (!whole) answer?.body.destroy();
      }
    },
  };
}

/** Reads what is left after the last event, so that the connection serves the next call; closes it if there is more. */
async function readToEnd(
  events: AsyncGenerator<string>,
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

/** The request as this provider takes it. Fields nobody here knows pass through. */
function adapt(request: ChatRequest, provider: Provider, model: string): Record<string, unknown> {
  const { max_tokens, stream_options, messages, ...rest } = request;
  const dropped = new Set(provider.drop);
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([name, value]) => value !== null && !dropped.has(name)),
  );
  return {
    ...kept,
    model,
    messages: messages.map((message) => without(message, provider.dropFromMessages)),
    ...(max_tokens != null && { [provider.maxTokensName]: max_tokens }),
    // Usage is always asked for: it is what the caller is charged by.
    ...(request.stream &&
      provider.streamOptions && { stream_options: { ...stream_options, include_usage: true } }),
  };
}

function without(message: Record<string, unknown>, names: readonly string[]) {
  if (!names.some((name) => name in message)) return message;
  return Object.fromEntries(Object.entries(message).filter(([name]) => !names.includes(name)));
}

function readCompletion(text: string | undefined, provider: Provider): ChatCompletion {
  if (text === undefined) throw unusableError(provider, 'is too long');
  const result = ChatCompletion.safeParse(parseJson(text, provider));
  if (!result.success) throw unusableError(provider, 'has the wrong shape', result.error);
  return result.data;
}

function readChunk(data: string, provider: Provider): ChatCompletionChunk {
  const value = parseJson(data, provider);
  if (typeof value === 'object' && value !== null && 'error' in value) {
    throw unusableError(provider, 'broke off with an error');
  }
  const result = ChatCompletionChunk.safeParse(repair(value));
  if (!result.success) throw unusableError(provider, 'has the wrong shape', result.error);
  return result.data;
}

/** Some servers write `choices: null` in the chunk that carries the usage. */
function repair(value: unknown): unknown {
  const nothing = typeof value === 'object' && value !== null && 'choices' in value;
  return nothing && value.choices === null ? { ...value, choices: [] } : value;
}

function parseJson(text: string, provider: Provider): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unusableError(provider, 'is not JSON', cause);
  }
}

/** The whole body as text, or `undefined` as soon as it is too long. */
async function readText(
  { body }: Dispatcher.ResponseData,
  limitBytes: number,
): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > limitBytes) {
      body.destroy();
      return undefined;
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
