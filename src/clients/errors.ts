/** A call to one of the two services did not get its answer. */
export abstract class CallError extends Error {}

/** The service did not answer, or stopped sending, within the time allowed. */
export class TimeoutError extends CallError {
  override name = 'TimeoutError' as const;
}

/** The service could not be reached, or the connection broke. */
export class NetworkError extends CallError {
  override name = 'NetworkError' as const;
}

/** A status of 400 or more. `message` is the service's own sentence if it sent one. */
export class StatusError extends CallError {
  override name = 'StatusError' as const;
  readonly status: number;
  /** The error body's `code`, such as `rate_limit_exceeded`. */
  readonly code: string | undefined;
  /** The error body's `param`: the field at fault. */
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** `message` is the service's own sentence. */
  readonly isQuote: boolean;

  constructor(
    message: string,
    details: {
      status: number;
      code?: string;
      param?: string;
      retryAfterMs?: number;
      isQuote?: boolean;
    },
  ) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.param = details.param;
    this.retryAfterMs = details.retryAfterMs;
    this.isQuote = details.isQuote ?? false;
  }
}

export class StreamCutError extends CallError {
  override name = 'StreamCutError' as const;
  /** `message` is the service's own sentence. */
  readonly isQuote: boolean;

  constructor(message: string, options: { isQuote?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.isQuote = options.isQuote ?? false;
  }
}

/** Not JSON, wrong shape, too large. Not a `CallError`: the call itself went well, and repeating it won't help. */
export class ContractError extends Error {
  override name = 'ContractError' as const;
}
