import { ErrorCode } from '../contracts/error.ts';

/** An error that a caller can act on. */
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

/** The 403; its message says who is allowed. */
export const forbidden = (message: string) => new HttpError(403, 'forbidden', message);

export const notFound = (message: string) => new HttpError(404, ErrorCode.notFound, message);

/** The 503 for a passing failure; `message` says to wait for these seconds. */
export const unavailable = (message: string, seconds: number, cause?: unknown) =>
  new HttpError(503, ErrorCode.unavailable, message, {
    headers: { 'retry-after': String(seconds) },
    cause,
  });

export const methodNotAllowed = (method: string, allow: string) =>
  new HttpError(
    405,
    ErrorCode.methodNotAllowed,
    `${method} is not allowed here. Allowed: ${allow}.`,
    {
      headers: { allow },
    },
  );

/** The 400 for a value that fits its schema but can't be used. */
export const invalidValue = (param: string, sentence: string) =>
  new HttpError(400, ErrorCode.invalidValue, `Invalid '${param}': ${sentence}.`, { param });
