import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';

/** Answers chats: a model of a provider, or the offline engine. */
export interface Upstream {
  /** Provider name, lower case. */
  readonly provider: string;
  /** The provider's name for the model. */
  readonly model: string;
  /** `provider/model`, encoded for a header. */
  readonly label: string;
  /** Tokens of prompt and answer together, if the provider lists them. */
  readonly contextTokens?: number;
  /** The largest `n` it accepts. */
  readonly maxChoices: number;
  /** Names the parameters of a request that it ignores; none if absent. */
  dropped?(request: ChatRequest): readonly string[];
  /** Returns the whole answer. Throws `UpstreamError`, or the signal's reason. */
  complete(request: ChatRequest, signal: AbortSignal): Promise<ChatCompletion>;
  /**
   * Returns the answer in chunks, with the usage in one of them. Ends only if the answer is whole; throws `UpstreamError`, or
   * the signal's reason. Leaving the loop ends the call.
   */
  stream(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatCompletionChunk>;
}
