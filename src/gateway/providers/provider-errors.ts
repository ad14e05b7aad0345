import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import { parseUntrustedJson } from '../../contracts/parse-json.ts';
import { RateLimitHeader, readRetryAfterMs } from '../../contracts/rate-limit.ts';
import { HttpError } from '../../http/errors.ts';
import { type FailureKind, UpstreamError } from '../shared/upstream-error.ts';
import type { Provider } from './provider.ts';

/** Stops the usual clients from repeating the call by themselves. Source: openai-node, `shouldRetry`. */
const NO_RETRY = { 'x-should-retry': 'false' };

const OUT_OF_CREDIT = new Set(['insufficient_quota', 'credit_balance_exhausted']);

/**
 * Converts a provider's refusal. A 400, 413 or 422 is about the request and is passed on. Anything about our own account or
 * the provider's health is described in our words, and another upstream may do better.
 */
export function errorOfResponse(
  provider: Provider,
  model: string,
  answer: { status: number; headers: IncomingHttpHeaders; body: string },
): UpstreamError {
  const { title, setting } = provider;
  const fail = (
    kind: FailureKind,
    status: number,
    code: string,
    message: string,
    headers: Record<string, string> = {},
  ) =>
    new UpstreamError(new HttpError(status, code, message, { headers }), {
      tryNext: true,
      kind,
      ...(kind !== 'account' && { retryAfterMs: readRetryAfterMs(answer.headers) }),
    });
  const ofAccount = (message: string) =>
    fail('account', 502, ErrorCode.upstreamError, message, NO_RETRY);
  const { status } = answer;
  switch (conventionalStatus(answer, provider)) {
    case 400:
    case 413:
    case 422:
      return new UpstreamError(requestError(provider, answer), {
        tryNext: false,
        kind: 'request',
      });
    case 401:
      return ofAccount(`${title} rejected the API key (${status}). Check ${setting}.`);
    case 403:
      return ofAccount(
        `${title} denied access (${status}). Check ${setting} and the permissions of that key.`,
      );
    case 402:
      return ofAccount(`The account at ${title} has no credit left (${status}). Add credit there.`);
    case 404:
      return ofAccount(
        `${title} does not have the model ${model} (${status}). Correct its name in ASKWATCH_CATALOG.`,
      );
    case 429:
      return fail(
        'limited',
        429,
        ErrorCode.rateLimited,
        `${title} is limiting requests (${status}). Try again in ${waitInWords(answer.headers)}.`,
        retryAfter(answer.headers),
      );
    case 503:
    case 529:
      return fail(
        'server',
        503,
        ErrorCode.unavailable,
        `${title} is overloaded or down (${status}). Try again in ${waitInWords(answer.headers)}.`,
        retryAfter(answer.headers),
      );
    default:
      return fail(
        failureOfStatus(status),
        502,
        ErrorCode.upstreamError,
        `${title} answered with an error (${status}). Try again in a moment.`,
      );
  }
}

/** Returns the wait that a provider asks for, or "a moment". */
function waitInWords(headers: IncomingHttpHeaders): string {
  const ms = readRetryAfterMs(headers);
  if (ms === undefined) return 'a moment';
  return ms > 120_000 ? `${Math.ceil(ms / 60_000)} min` : `${Math.max(1, Math.ceil(ms / 1000))} s`;
}

/** Converts an error inside an answer that had a good status. */
export function errorInsideAnswer(
  provider: Provider,
  model: string,
  error: unknown,
): UpstreamError {
  const status = Number((error as { code?: unknown }).code);
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    return unusableError(provider, 'broke off with an error');
  }
  return errorOfResponse(provider, model, { status, headers: {}, body: JSON.stringify({ error }) });
}

/** Creates the refusal of a request that this provider can't express; another may. The provider isn't called for it. */
export function unsupportedError(provider: Provider, param: string, why: string): UpstreamError {
  const message = `Invalid '${param}': ${provider.title} ${why}.`;
  return new UpstreamError(new HttpError(400, ErrorCode.invalidValue, message, { param }), {
    tryNext: true,
    kind: 'request',
  });
}

/** Creates the error for an answer that breaks the convention. */
export function unusableError(provider: Provider, why: string, cause?: unknown): UpstreamError {
  return new UpstreamError(
    new HttpError(502, ErrorCode.upstreamError, `${provider.title} sent an answer that ${why}.`),
    { tryNext: true, kind: 'unusable', cause },
  );
}

/** Creates the error for a provider that was silent for too long. */
export function timeoutError(provider: Provider): UpstreamError {
  return new UpstreamError(
    new HttpError(504, ErrorCode.upstreamTimeout, `${provider.title} did not answer in time.`),
    { tryNext: true, kind: 'silence' },
  );
}

/** Creates the error for a provider that could not be reached, or whose connection broke. */
export function connectionError(provider: Provider, cause: unknown): UpstreamError {
  const { title, address, isElsewhere, local } = provider;
  const code = (cause as { code?: unknown } | undefined)?.code;
  const why = typeof code === 'string' ? ` (${code})` : '';
  const todo =
    address && (isElsewhere || local) ? `Check ${address.setting}.` : 'Try again in a moment.';
  return new UpstreamError(
    new HttpError(
      502,
      ErrorCode.upstreamError,
      UNREACHED.test(why)
        ? `${title} could not be reached${why}. ${todo}`
        : `The connection to ${title} broke. Try again in a moment.`,
    ),
    { tryNext: true, kind: isConnectTimeout(cause) ? 'silence' : 'connection', cause },
  );
}

/** Failures before anything was sent. */
const UNREACHED =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT|TLS/;

/** Classifies the remaining statuses; 504 and 524 are timeouts of the provider's own proxies. */
function failureOfStatus(status: number): FailureKind {
  if (status === 504 || status === 524) return 'silence';
  return status >= 500 || status === 408 || status === 409 ? 'server' : 'unusable';
}

/** Returns the status that other providers would have used for this refusal. */
export function conventionalStatus(
  answer: { status: number; body: string },
  provider: Provider,
): number {
  const { status } = answer;
  const { code, message = '' } = readErrorBody(answer.body) ?? {};
  // Source: OpenAI error codes, "insufficient_quota".
  if (status === 429 && OUT_OF_CREDIT.has(code ?? '')) return 402;
  // More tokens than our account may send in a minute. Source: Groq docs, "Rate limits"; gpt-researcher#985.
  if (status === 413 && code === ErrorCode.rateLimited) return 429;
  if (status === 403 && provider.moderatesWith403) return 400;
  // Only the sentence shows that our account is at fault, and not the request.
  const ours = provider.accountRefusals.find((known) => known.message.test(message));
  return status === 400 && ours ? ours.status : status;
}

function isConnectTimeout(cause: unknown): boolean {
  return (cause as { code?: unknown } | undefined)?.code === 'UND_ERR_CONNECT_TIMEOUT';
}

function requestError(provider: Provider, { status, body }: { status: number; body: string }) {
  const details = readErrorBody(body);
  const clean = (text: string) =>
    provider.apiKey ? text.replaceAll(provider.apiKey, '[secret]') : text;
  return new HttpError(
    status === 403 ? 400 : status,
    clean(details?.code ?? ErrorCode.invalidValue),
    details ? clean(details.message) : `${provider.title} refused the request.`,
    {
      type: clean(details?.type ?? 'invalid_request_error'),
      param: details?.param ? clean(details.param) : null,
      headers: NO_RETRY,
    },
  );
}

function retryAfter(headers: IncomingHttpHeaders): Record<string, string> {
  const value = headers[RateLimitHeader.retryAfter];
  return typeof value === 'string' && /^[\w ,:+.-]{1,40}$/.test(value)
    ? { [RateLimitHeader.retryAfter]: value }
    : {};
}

const ErrorFields = z.object({
  message: z.string(),
  type: z.string().nullish().catch(undefined),
  param: z.string().nullish().catch(undefined),
  code: z.string().nullish().catch(undefined),
});

type ErrorFields = z.input<typeof ErrorFields>;

/** A list of complaints, each about one place in the body. Source: FastAPI docs, "Handling errors". */
const Complaints = z.array(
  z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() }),
);

const asSentence = (complaints: z.infer<typeof Complaints>) =>
  complaints
    .map(({ loc, msg }) => `${loc.filter((at) => at !== 'body').join('.')}: ${msg}`)
    .join('; ');

/**
 * Shapes of error bodies. Some providers send the convention's body, some a list with one, some the inner object alone.
 * xAI's error is a sentence, and Mistral's message is a list of complaints.
 */
const ProviderErrorBody = z.union([
  z.object({ error: ErrorFields }).transform(({ error }) => error),
  z.tuple([z.object({ error: ErrorFields })]).transform(([{ error }]) => error),
  ErrorFields,
  z.object({ error: z.string() }).transform(({ error }): ErrorFields => ({ message: error })),
  z
    .union([
      z.object({ detail: Complaints }),
      z.object({ message: z.object({ detail: Complaints }) }),
    ])
    .transform((body): ErrorFields => {
      return { message: asSentence('detail' in body ? body.detail : body.message.detail) };
    }),
]);

/** Reads an error body in any of these shapes; `undefined` if it has none of them. */
function readErrorBody(body: string): z.infer<typeof ProviderErrorBody> | undefined {
  try {
    return ProviderErrorBody.safeParse(parseUntrustedJson(body)).data;
  } catch {
    // Not JSON, so only the status is known.
    return undefined;
  }
}
