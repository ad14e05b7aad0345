import { ChatCompletionChunk, type Usage } from '../../contracts/gateway.ts';
import { jsonFault, parseUntrustedJson } from '../../contracts/parse-json.ts';
import { dataEvent } from '../../contracts/server-sent-events.ts';
import { isCommonUsageChunk } from '../shared/common-shapes.ts';
import type { AnswerIdentity } from './response-identity.ts';

/**
 * A streamed answer that has begun: passes its events on until it is whole; holds the provider back while the sink does not
 * keep up. Call once. Rejects with `UpstreamError` when the answer broke, or with the client's reason.
 */
export type AnswerStream = (sink: EventSink) => Promise<void>;

export interface EventSink {
  /** Takes events, UTF-8 as a string of bytes; false asks to wait for `drained`. */
  write(events: string): boolean;
  drained(): Promise<void>;
}

/** A stream that is not what the convention says; the message goes on from "It sent an answer that ". */
export class BrokenStreamError extends Error {
  override name = 'BrokenStreamError' as const;
  /** The provider's own error, when the stream carried one. */
  readonly providerError: unknown;

  constructor(message: string, options: { cause?: unknown; told?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.providerError = options.told;
  }
}

/** What a streamed answer is passed on with, and tells on its way. */
export interface AnswerStreamOptions {
  /** The client's name for the model, which takes the place of the provider's. */
  model: string;
  /** The client asked for the usage; else it is taken out again. */
  wantsUsage: boolean;
  /** A piece of the answer came, of about so many tokens. */
  onText: (tokens: number) => void;
  /** The provider's count. */
  onUsage: (usage: Usage) => void;
  /** The count to tell when the provider told none. */
  estimate: () => Usage;
}

/** Bytes of text that are counted as a token when the provider does not say. */
const BYTES_PER_TOKEN = 4;

/** Makes events of chunks: of answers that are rebuilt, and of events that had to be parsed. */
export function createEventEncoder(options: AnswerStreamOptions): {
  /** The event to pass on; empty when the client has no use for the chunk. */
  event(chunk: ChatCompletionChunk): string;
  /** The client wants the usage, and nobody has told it yet. */
  readonly lacksUsage: boolean;
  /** The event that tells our estimate of the usage, with what another chunk says of the answer. */
  usageEvent(chunk: object): string;
} {
  const { model, wantsUsage, onText, onUsage, estimate } = options;
  let usageTold = false;
  return {
    event(chunk) {
      for (const { delta } of chunk.choices) {
        reportText(Buffer.byteLength(delta.content ?? ''), onText);
      }
      const { usage, ...rest } = { ...chunk, model };
      if (usage) {
        onUsage(usage);
        usageTold = true;
      }
      if (wantsUsage) return eventOf({ ...rest, usage: usage ?? null });
      return rest.choices.length > 0 ? eventOf(rest) : '';
    },
    get lacksUsage() {
      return wantsUsage && !usageTold;
    },
    usageEvent: (chunk) => eventOf({ ...chunk, model, choices: [], usage: estimate() }),
  };
}

/** Tells of a piece of the answer by its length in UTF-8. */
export function reportText(bytes: number, onText: AnswerStreamOptions['onText']): void {
  if (bytes > 0) onText(Math.max(1, bytes / BYTES_PER_TOKEN));
}

/** What a chunk may hold that is looked at before its shape is known to be right. */
export interface ChunkFields {
  id?: unknown;
  created?: unknown;
  error?: unknown;
  choices?: unknown;
}

/** The fields of a JSON object in UTF-8 as a string of bytes; none when it is something else. */
export function readFields(json: string): ChunkFields {
  let value: unknown;
  try {
    value = parseUntrustedJson(Buffer.from(json, 'latin1'));
  } catch (cause) {
    throw new BrokenStreamError(jsonFault(cause), { cause });
  }
  return typeof value === 'object' && value !== null ? value : {};
}

/** The chunk that such JSON holds, under the identity of its answer. */
export function readChunk(
  json: string,
  identityOf: (fields: ChunkFields) => AnswerIdentity,
): ChatCompletionChunk {
  const fields = readFields(json);
  if (fields.error != null) {
    throw new BrokenStreamError('broke off with an error', { told: fields.error });
  }
  // Some servers write `choices: null` in the chunk that carries the usage.
  const chunk: unknown = {
    object: 'chat.completion.chunk',
    ...fields,
    ...identityOf(fields),
    choices: fields.choices ?? [],
  };
  if (isCommonUsageChunk(chunk)) return chunk;
  const result = ChatCompletionChunk.safeParse(chunk);
  if (result.success) return result.data;
  throw new BrokenStreamError('has the wrong shape', { cause: result.error });
}

const eventOf = (value: unknown) => toByteString(dataEvent(value));

/** UTF-8 as a string of bytes. */
export function toByteString(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Opens an answer that comes in chunks; resolves with its first one there, rejects as its iteration does. */
export async function openChunkStream(
  chunks: AsyncIterable<ChatCompletionChunk>,
  options: AnswerStreamOptions,
): Promise<AnswerStream> {
  const iterator = chunks[Symbol.asyncIterator]();
  const events = createEventEncoder(options);
  let next = await iterator.next();
  return async (sink) => {
    let last: ChatCompletionChunk | undefined;
    try {
      for (; !next.done; next = await iterator.next()) {
        last = next.value;
        const event = events.event(last);
        if (event !== '' && !sink.write(event)) await sink.drained();
      }
    } finally {
      await iterator.return?.();
    }
    if (last && events.lacksUsage) sink.write(events.usageEvent(last));
  };
}
