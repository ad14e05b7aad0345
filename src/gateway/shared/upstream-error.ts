import type { HttpError } from '../../http/errors.ts';

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
  /** What the client is told. */
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
      kind: FailureKind;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(answer.message, { cause: options.cause });
    this.answer = answer;
    this.tryNext = options.tryNext;
    this.kind = options.kind;
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
