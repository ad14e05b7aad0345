import { ErrorCode } from '../contracts/error.ts';

/**
 * A refusal that a caller can act on; the server turns it into the error body of the contracts.
 * Any other error thrown in a handler is answered as a 500 that tells nothing and is logged.
 */
export class HttpError extends Error {
  override name = 'HttpError' as const;
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly param: string | null;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    code: string,
    message: string,
    options: {
      type?: string;
      param?: string | null;
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = status;
    this.code = code;
    this.type = options.type ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
  }
}

/** The answer to who may not do this; the sentence says who may. */
export const forbidden = (message: string) => new HttpError(403, 'forbidden', message);

/** The answer to a path or thing that is not there. */
export const notFound = (message: string) => new HttpError(404, ErrorCode.notFound, message);

/** The 405 that says what is possible. */
export const methodNotAllowed = (method: string, allow: string) =>
  new HttpError(
    405,
    ErrorCode.methodNotAllowed,
    `${method} is not allowed here. Allowed: ${allow}.`,
    {
      headers: { allow },
    },
  );

/** The 400 for a value that the schema took but that cannot be. */
export const invalidValue = (param: string, sentence: string) =>
  new HttpError(400, ErrorCode.invalidValue, `Invalid '${param}': ${sentence}.`, { param });
