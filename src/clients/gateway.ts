import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  Model,
} from '../contracts/gateway.ts';

/** The model gateway as typed functions. Every function throws a `CallError` or a `ContractError`. */
export interface GatewayClient {
  models(options?: { signal?: AbortSignal }): Promise<Model[]>;
  /** One whole answer. */
  complete(request: ChatRequest, options?: { signal?: AbortSignal }): Promise<ChatCompletion>;
  /**
   * An answer chunk by chunk as it is generated. Ends only after `[DONE]`: a cut, garbled or stalled stream throws after
   * the chunks that came. Leaving the loop or aborting ends the call at the service.
   */
  stream(
    request: ChatRequest,
    options?: { signal?: AbortSignal },
  ): AsyncIterable<ChatCompletionChunk>;
  close(): Promise<void>;
}
