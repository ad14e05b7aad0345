import type { HttpError } from '../../http/errors.ts';

/** Kinds of failures, by what they say about the upstream. */
export type FailureKind =
  /** It refused the request itself, which says nothing about the upstream. */
  | 'request'
  /** It refused the gateway's key, credit or name for the model. */
  | 'account'
  /** It accepts no more requests for now. */
  | 'limited'
  /** It answered with an error of its own. */
  | 'server'
  /** It could not be reached, or the connection broke. */
  | 'connection'
  /** It was silent for too long. */
  | 'silence'
  /** The answer breaks the convention. */
  | 'unusable';

/** An upstream did not answer, or broke off. */
export class UpstreamError extends Error {
  override name = 'UpstreamError' as const;
  /** The client's answer. */
  readonly answer: HttpError;
  /** Another upstream may do better. */
  readonly tryNext: boolean;
  readonly kind: FailureKind;
  /** Wait that the upstream asked for. */
  readonly retryAfterMs: number | undefined;

  constructor(
    answer: HttpError,
    options: {
      tryNext: boolean;
      kind: FailureKind;
      retryAfterMs?: number;
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

/** Describes a failure for the log, without any piece of the answer, which a parser's message could quote. */
export function failureForLog(error: unknown): { why: string; cause?: string } {
  if (!(error instanceof UpstreamError)) return { why: String(error) };
  const { code, name } = (error.cause ?? {}) as { code?: unknown; name?: unknown };
  const cause = code ?? name;
  return { why: error.message, ...(typeof cause === 'string' && { cause }) };
}
