import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../contracts/gateway.ts';
import type { HttpError } from '../http/errors.ts';

/** Something that answers a chat: a model of a provider, or the offline engine. */
export interface Upstream {
  /** Provider name, lower case. */
  readonly provider: string;
  /** The provider's name for the model. */
  readonly model: string;
  /** The largest `n` it takes. */
  readonly maxChoices: number;
  /** The whole answer. Throws `UpstreamError`, or the signal's reason. */
  complete(request: ChatRequest, signal: AbortSignal): Promise<ChatCompletion>;
  /**
   * The answer in chunks, the usage among them. Ends only when the upstream said that the answer is whole; throws
   * `UpstreamError`, or the signal's reason. Leaving the loop ends the call.
   */
  stream(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatCompletionChunk>;
}

/** An upstream did not answer, or broke off. */
export class UpstreamError extends Error {
  override name = 'UpstreamError' as const;
  /** What the caller is told. */
  readonly answer: HttpError;
  /** Another upstream may do better. */
  readonly tryNext: boolean;

  constructor(answer: HttpError, options: { tryNext: boolean; cause?: unknown }) {
    super(answer.message, { cause: options.cause });
    this.answer = answer;
    this.tryNext = options.tryNext;
  }
}

/** What the log may know of a failure: never a piece of the answer, which a parser's own message can hold. */
export function failureForLog(error: unknown): { why: string; cause?: string } {
  if (!(error instanceof UpstreamError)) return { why: String(error) };
  const { code, name } = (error.cause ?? {}) as { code?: unknown; name?: unknown };
  const cause = code ?? name;
  return { why: error.message, ...(typeof cause === 'string' && { cause }) };
}
