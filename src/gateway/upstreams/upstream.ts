import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';
import type { ClientCancellation } from '../shared/client-cancellation.ts';
import type { AnswerStream, AnswerStreamOptions } from '../streaming/answer-stream.ts';

/** Something that answers a chat: a model of a provider, or the offline engine. */
export interface Upstream {
  /** Provider name, lower case. */
  readonly provider: string;
  /** The provider's name for the model. */
  readonly model: string;
  /** Both as a header takes them, as `provider/model`. */
  readonly label: string;
  /** Tokens of prompt and answer together, if the provider lists them. */
  readonly contextTokens?: number | undefined;
  /** The largest `n` it takes. */
  readonly maxChoices: number;
  /** What a client asked for that it does not heed; everything is heeded when absent. */
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

/** The bytes' way to a model whose provider speaks the OpenAI convention: answers are passed on without being rebuilt. */
export interface Relay {
  /** Whether the answer to this request can be passed on as it comes. */
  supports(request: ChatRequest): boolean;
  /**
   * The whole answer, checked, with its JSON as it came unless that must be written anew. Rejects with `UpstreamError`, or
   * the client's reason.
   */
  complete(call: RelayCall): Promise<{ completion: ChatCompletion; json: string | undefined }>;
  /**
   * Opens a streamed answer; resolves once something of it can be passed on. Rejects with `UpstreamError`, or the client's
   * reason, as long as nothing could.
   */
  stream(call: RelayCall, options: AnswerStreamOptions): Promise<AnswerStream>;
}

export interface RelayCall {
  request: ChatRequest;
  /** The JSON of a request made from `request`, in parts. */
  write(request: unknown): Buffer[];
  cancellation: ClientCancellation;
}
