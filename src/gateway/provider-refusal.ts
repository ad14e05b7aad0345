import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { ErrorCode } from '../contracts/error.ts';
import { RateLimitHeader } from '../contracts/rate-limit.ts';
import { HttpError } from '../http/errors.ts';
import type { Provider } from './providers.ts';
import { UpstreamError } from './upstream.ts';

/** Tells the usual clients not to repeat the call by themselves. Source: openai-node, `shouldRetry`. */
const NO_RETRY = { 'x-should-retry': 'false' };

const Refusal = z.object({
  message: z.string(),
  type: z.string().nullish().catch(undefined),
  param: z.string().nullish().catch(undefined),
  code: z.string().nullish().catch(undefined),
});

/** Some providers send the convention's body, some a list with one of it in, some the inner object alone. */
const RefusalBody = z.union([
  z.object({ error: Refusal }).transform(({ error }) => error),
  z.tuple([z.object({ error: Refusal })]).transform(([{ error }]) => error),
  Refusal,
]);

/**
 * What a provider's refusal means for our caller. A 400, 413 or 422 is about the request and is told as it is; anything
 * about our own account or the provider's health is not the caller's to read, and another upstream may do better.
 */
export function refusalError(
  provider: Provider,
  model: string,
  answer: { status: number; headers: IncomingHttpHeaders; body: string },
): UpstreamError {
  const { title, setting } = provider;
  const fail = (status: number, code: string, message: string, headers = {}) =>
    new UpstreamError(new HttpError(status, code, message, { headers }), { tryNext: true });
  switch (answer.status) {
    case 400:
    case 413:
    case 422:
      return new UpstreamError(requestRefusal(provider, answer), { tryNext: false });
    case 401:
    case 403:
      return fail(
        502,
        ErrorCode.upstreamError,
        `${title} refused this gateway's own credentials. Whoever runs the gateway must check ${setting}.`,
        NO_RETRY,
      );
    case 402:
      return fail(
        502,
        ErrorCode.upstreamError,
        `This gateway's account at ${title} has no credit left. Whoever runs the gateway must top it up.`,
        NO_RETRY,
      );
    case 404:
      return fail(
        502,
        ErrorCode.upstreamError,
        `${title} does not have the model ${model} that this gateway's catalog names. Whoever runs the gateway must correct ASKWATCH_CATALOG.`,
        NO_RETRY,
      );
    case 429:
      return fail(
        429,
        ErrorCode.rateLimited,
        `${title} takes no more requests from this gateway for now. Try again later.`,
        retryAfter(answer.headers),
      );
    case 503:
    case 529:
      return fail(
        503,
        ErrorCode.unavailable,
        `${title} is overloaded or down. Try again later.`,
        retryAfter(answer.headers),
      );
    default:
      return fail(
        502,
        ErrorCode.upstreamError,
        `${title} answered with an error (${answer.status}).`,
      );
  }
}

/** An answer of a provider that is not what the convention says. */
export function unusableError(provider: Provider, why: string, cause?: unknown): UpstreamError {
  return new UpstreamError(
    new HttpError(502, ErrorCode.upstreamError, `${provider.title} sent an answer that ${why}.`),
    { tryNext: true, cause },
  );
}

/** A provider that did not answer, or stopped. */
export function silenceError(provider: Provider): UpstreamError {
  return new UpstreamError(
    new HttpError(504, ErrorCode.upstreamTimeout, `${provider.title} took too long to answer.`),
    { tryNext: true },
  );
}

/** A provider that could not be reached, or whose connection broke. */
export function connectionError(provider: Provider, cause: unknown): UpstreamError {
  return new UpstreamError(
    new HttpError(
      502,
      ErrorCode.upstreamError,
      `${provider.title} could not be reached, or its connection broke.`,
    ),
    { tryNext: true, cause },
  );
}

function requestRefusal(provider: Provider, { status, body }: { status: number; body: string }) {
  const told = readRefusal(body);
  const clean = (text: string) =>
    provider.apiKey ? text.replaceAll(provider.apiKey, '[secret]') : text;
  return new HttpError(
    status,
    clean(told?.code ?? ErrorCode.invalidValue),
    told ? clean(told.message) : `${provider.title} refused the request.`,
    {
      type: clean(told?.type ?? 'invalid_request_error'),
      param: told?.param ? clean(told.param) : null,
      headers: NO_RETRY,
    },
  );
}

function readRefusal(body: string): z.infer<typeof Refusal> | undefined {
  try {
    return RefusalBody.safeParse(JSON.parse(body)).data;
  } catch {
    // Not JSON: the status says that the request was refused, and nobody says why.
    return undefined;
  }
}

function retryAfter(headers: IncomingHttpHeaders): Record<string, string> {
  const value = headers[RateLimitHeader.retryAfter];
  return typeof value === 'string' && /^[\w ,:+.-]{1,40}$/.test(value)
    ? { [RateLimitHeader.retryAfter]: value }
    : {};
}
