import { createChoiceEnds } from '../contracts/choice-ends.ts';
import { GarbledStreamError, readEvents, readTail } from '../contracts/event-reader.ts';
import { ChatCompletionChunk } from '../contracts/gateway.ts';
import { jsonFault, parseUntrustedJson } from '../contracts/parse-json.ts';
import { EVENT_STREAM, STREAM_DONE } from '../contracts/server-sent-events.ts';
import { ContractError, StreamCutError } from './errors.ts';
import { type CallLimit, networkError } from './service-connection.ts';
import {
  checkShape,
  errorDetails,
  refuseEncoding,
  type ServiceResponse,
} from './service-response.ts';

/** Characters of one event; a chunk of an answer has a few hundred. */
const EVENT_LIMIT = 1024 * 1024;

/** Bytes of a whole stream; the longest answers of today's models are under 4 MB as chunks. */
const STREAM_LIMIT_BYTES = 64 * 1024 * 1024;

export function expectStream(answer: ServiceResponse): ServiceResponse {
  refuseEncoding(answer);
  const type = answer.headers['content-type'];
  if (typeof type === 'string' && type.startsWith(EVENT_STREAM)) return answer;
  answer.body.destroy();
  throw new ContractError(
    `${answer.what} answered with ${answer.clean(String(type ?? 'no content type'))} instead of a stream.`,
  );
}

/**
 * Reads chunks until `[DONE]`, or to the end of a body that is whole without it. Throws `StreamCutError`, `TimeoutError`
 * or `ContractError` after the chunks that arrived. Closes the connection then, and if the loop is left early.
 */
export async function* readChunks(
  answer: ServiceResponse,
  limit: CallLimit,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const events = readEvents(limited(answer), EVENT_LIMIT);
  const ends = createChoiceEnds();
  let whole = false;
  try {
    for (;;) {
      const next = await nextEvent(events, answer, limit);
      whole = next ? next.data === STREAM_DONE : ends.all();
      if (whole) return;
      if (!next) throw cutError(answer);
      const chunk = readChunk(next.data, next.event, answer);
      for (const { index, finish_reason } of chunk.choices) ends.note(index, finish_reason);
      yield chunk;
    }
  } finally {
    if (whole) void readTail(events, () => answer.body.destroy());
    else answer.body.destroy();
  }
}

/** `undefined` at the end of a body that ends after an event. */
async function nextEvent(
  events: ReturnType<typeof readEvents>,
  answer: ServiceResponse,
  limit: CallLimit,
) {
  const { what } = answer;
  try {
    const { value, done } = await events.next();
    if (done && !value) throw cutError(answer);
    return done ? undefined : value;
  } catch (error) {
    if (limit.signal.aborted) throw limit.signal.reason;
    if (error instanceof ContractError || error instanceof StreamCutError) throw error;
    if (error instanceof GarbledStreamError) {
      throw new ContractError(`${what} ${error.message}.`, { cause: error });
    }
    throw new StreamCutError(networkError(what, error).message, { cause: error });
  }
}

async function* limited({ what, body }: ServiceResponse): AsyncGenerator<Buffer, void, undefined> {
  let length = 0;
  for await (const bytes of body) {
    length += bytes.length;
    if (length > STREAM_LIMIT_BYTES) {
      throw new ContractError(`${what} streams more than the limit for one answer.`);
    }
    yield bytes;
  }
}

function cutError({ what }: ServiceResponse): StreamCutError {
  return new StreamCutError(`${what} ended its answer early.`);
}

function readChunk(
  data: string,
  event: string | undefined,
  answer: ServiceResponse,
): ChatCompletionChunk {
  let value: unknown;
  try {
    value = parseUntrustedJson(data);
  } catch (cause) {
    throw new ContractError(`${answer.what} streams data that ${jsonFault(cause)}.`, {
      cause,
    });
  }
  const details = errorDetails(value, answer);
  if (details || event === 'error') {
    const message = details?.message || `${answer.what} broke off its answer with an error.`;
    throw new StreamCutError(message, { isQuote: Boolean(details?.message) });
  }
  return checkShape(value, ChatCompletionChunk, answer);
}
