import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';
import type { HttpError } from '../../http/errors.ts';
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

/** What a failure was, and so what it says about the upstream. */
export type FailureKind =
  /** The request itself was refused: nothing about the upstream. */
  | 'request'
  /** The upstream refused the gateway: its key, its credit, its name for the model. */
  | 'account'
  /** It takes no more requests for now. */
  | 'limited'
  /** It answered with an error of its own. */
  | 'server'
  /** It could not be reached, or the connection broke. */
  | 'connection'
  /** It was silent for too long. */
  | 'silence'
  /** It sent an answer that is not what the convention says. */
  | 'unusable';

/** An upstream did not answer, or broke off. */
export class UpstreamError extends Error {
  override name = 'UpstreamError' as const;
  /** What the caller is told. */
  readonly answer: HttpError;
  /** Another upstream may do better. */
  readonly tryNext: boolean;
  readonly kind: FailureKind;
  /** How long the upstream asked to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(
    answer: HttpError,
    options: {
      tryNext: boolean;
      /** When absent: `unusable` for a 5xx that another upstream may do better, else `request`. */
      kind?: FailureKind;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(answer.message, { cause: options.cause });
    this.answer = answer;
    this.tryNext = options.tryNext;
    this.kind = options.kind ?? (options.tryNext && answer.status >= 500 ? 'unusable' : 'request');
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** What the log may know of a failure: never a piece of the answer, which a parser's own message can hold. */
export function failureForLog(error: unknown): { why: string; cause?: string } {
  if (!(error instanceof UpstreamError)) return { why: String(error) };
  const { code, name } = (error.cause ?? {}) as { code?: unknown; name?: unknown };
  const cause = code ?? name;
  return { why: error.message, ...(typeof cause === 'string' && { cause }) };
}
