import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type ErrorBody, ErrorCode } from '../contracts/error.ts';
import { JsonLimitError } from '../contracts/parse-json.ts';
import { LeaseLostError, StoreUnavailableError } from '../store/errors.ts';
import { HttpError, unavailable } from './errors.ts';

/** Unexpected errors go to the log only. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = asHttpError(error);
  // Callers act on a 503 with Retry-After themselves, and there may be thousands of them.
  const isRefused = refusal === error && refusal.status === 503;
  if (refusal.status >= 500 && !isRefused) request.log.error({ err: error }, 'request failed');
  reply.code(refusal.status).headers(refusal.headers).send(errorBody(refusal));
}

/** After an earlier response it only closes the connection, because the bytes could land in the middle of that response. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET') socket.destroy();
  else endWith(brokenRequest(error.code), socket);
}

export function answerConnect(socket: Socket): void {
  endWith(
    new HttpError(
      405,
      ErrorCode.methodNotAllowed,
      'CONNECT is not supported: this is not a proxy.',
      {
        headers: { allow: '' },
      },
    ),
    socket,
  );
}

function endWith(refusal: HttpError, socket: Socket): void {
  if (socket.writable && socket.bytesWritten === 0) {
    const body = JSON.stringify(errorBody(refusal));
    socket.write(
      [
        `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
        'Content-Type: application/json; charset=utf-8',
        `Content-Length: ${Buffer.byteLength(body)}`,
        ...Object.entries(refusal.headers).map(([name, value]) => `${name}: ${value}`),
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    );
  }
  socket.destroy();
}

function brokenRequest(code: string | undefined): HttpError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpError(408, ErrorCode.requestTimeout, 'The request did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return new HttpError(431, ErrorCode.bodyTooLarge, 'The request headers are too large.');
    default:
      return new HttpError(400, ErrorCode.invalidRequest, 'This is not a valid HTTP request.');
  }
}

export function errorBody(error: HttpError): ErrorBody {
  const { message, type, param, code } = error;
  return { error: { message, type, param, code } };
}

/** An unknown error becomes a 500 without details. */
export function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof StoreUnavailableError) {
    const message = 'The service cannot reach its database. Wait 5 s (Retry-After) and try again.';
    return unavailable(message, 5, error);
  }
  if (error instanceof LeaseLostError) {
    const message =
      'The bot is moving to another Askwatch process. Wait 5 s (Retry-After) and try again.';
    return unavailable(message, 5, error);
  }
  if (error instanceof JsonLimitError) {
    const message = `The body ${error.message}. Send less.`;
    return new HttpError(400, ErrorCode.invalidValue, message);
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new HttpError(
        413,
        ErrorCode.bodyTooLarge,
        'The request body is too large. Send less.',
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HttpError(
        415,
        ErrorCode.unsupportedMediaType,
        'Send the body as JSON, with the header Content-Type: application/json.',
      );
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new HttpError(400, ErrorCode.invalidJson, 'The body is empty. Send a JSON object.');
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new HttpError(400, ErrorCode.invalidJson, 'The body is not valid JSON.');
    default:
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new HttpError(statusCode, ErrorCode.invalidValue, (error as Error).message);
  }
  return new HttpError(
    500,
    ErrorCode.internal,
    'Something went wrong in the service. Try again. The log has the details under this x-request-id.',
  );
}

/** The 400 that names the field and says what is allowed. `input` decides between "missing" and "wrong", and is never repeated. */
export function validationError(
  issues: readonly z.core.$ZodIssue[],
  input: unknown,
  part = 'body',
): HttpError {
  const issue = mostSpecific(issues);
  if (!issue) return new HttpError(400, ErrorCode.invalidValue, `The ${part} is not valid.`);
  if (issue.code === 'unrecognized_keys') {
    const param = [...issue.path, issue.keys[0]].join('.');
    return new HttpError(400, ErrorCode.unknownField, `Unknown field '${param}'. Leave it out.`, {
      param,
    });
  }
  const param = issue.path.join('.');
  if (param === '') {
    const message =
      issue.code === 'invalid_type'
        ? `The ${part} must be a JSON object.`
        : `The ${part} is not valid: ${issue.message}.`;
    return new HttpError(400, ErrorCode.invalidValue, message);
  }
  if (valueAt(input, issue.path) === undefined) {
    return new HttpError(400, ErrorCode.missingField, `The field '${param}' is missing.`, {
      param,
    });
  }
  return new HttpError(400, ErrorCode.invalidValue, `Invalid '${param}': ${issue.message}.`, {
    param,
  });
}

/**
 * In a union, the branch whose issue is deepest is probably meant; among equals, the one with the fewest issues. If none is inside the
 * value, it is the branch whose type fits.
 */
function mostSpecific(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue | undefined {
  const [issue] = issues;
  if (issue?.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  const candidates = [...issue.errors]
    .sort((one, other) => complaints(one) - complaints(other))
    .map((branch) => mostSpecific(branch))
    .filter((inner) => inner !== undefined);
  const deepest = candidates.reduce<z.core.$ZodIssue | undefined>(
    (best, inner) => (best === undefined || inner.path.length > best.path.length ? inner : best),
    undefined,
  );
  const meant =
    deepest && deepest.path.length > 0
      ? deepest
      : candidates.find(({ code }) => code !== 'invalid_type' && code !== 'invalid_union');
  return meant ? { ...meant, path: [...issue.path, ...meant.path] } : issue;
}

function complaints(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce(
    (sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1),
    0,
  );
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | null | undefined)?.[key],
    input,
  );
}
