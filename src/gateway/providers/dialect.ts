import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';
import type { Provider } from './provider.ts';

/** How one form of chat API says what all of them do; the HTTP upstream does the rest. */
export interface Dialect {
  /** Below the provider's base URL. */
  path: string;
  /** The request as the provider takes it. Throws `UpstreamError` for what it has no word for. */
  encode(request: ChatRequest, provider: Provider, model: string): Record<string, unknown>;
  /** Stop sequences that `encode` leaves out, at which the answer must be cut here. */
  ownStops(request: ChatRequest, provider: Provider, model: string): readonly string[];
  /** What the caller asked for that `encode` leaves out and nothing here makes up for. */
  dropped(request: ChatRequest, provider: Provider, model: string): readonly string[];
  /** A whole answer. Throws `UpstreamError` for one that is none. */
  decode(value: unknown, provider: Provider, model: string): ChatCompletion;
  /** Begins to read a stream. */
  openStream(provider: Provider, model: string): StreamDecoder;
}

/** Reads the events of one stream. */
export interface StreamDecoder {
  /** The chunks that an event stands for; `undefined` when it says nothing. Throws `UpstreamError`. */
  read(data: string): readonly ChatCompletionChunk[] | undefined;
  /** The stream has said that it is whole. */
  readonly whole: boolean;
  /** It would be whole if its body ended here. */
  readonly mayEnd: boolean;
}
