import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';
import type { Relay } from './relay.ts';

/** Something that answers a chat: a model of a provider, or the offline engine. */
export interface Upstream {
  /** Provider name, lower case. */
  readonly provider: string;
  /** The provider's name for the model. */
  readonly model: string;
  /** The largest `n` it takes. */
  readonly maxChoices: number;
  /** What a caller asked for that it does not heed; everything is heeded when absent. */
  dropped?(request: ChatRequest): readonly string[];
  /** The whole answer. Throws `UpstreamError`, or the signal's reason. */
  complete(request: ChatRequest, signal: AbortSignal): Promise<ChatCompletion>;
  /**
   * The answer in chunks, the usage among them. Ends only when the upstream said that the answer is whole; throws
   * `UpstreamError`, or the signal's reason. Leaving the loop ends the call.
   */
  stream(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatCompletionChunk>;
  /** The shorter way for providers whose answers can be passed on as they come. */
  readonly relay?: Relay;
}
