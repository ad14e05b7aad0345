import {
  CallError,
  ContractError,
  NetworkError,
  StatusError,
  StreamCutError,
  TimeoutError,
} from '../../clients/errors.ts';
import { KEY_PATTERN } from '../../contracts/api-key.ts';
import { ErrorCode } from '../../contracts/error.ts';
import { LeaseLostError, StoreUnavailableError } from '../../store/errors.ts';
import { inWords } from './text-format.ts';

export type ServiceName = 'model gateway' | 'monitoring service';

const SETTINGS: Record<ServiceName, { address: string; key: string }> = {
  'model gateway': { address: 'GATEWAY_BASE_URL', key: 'GATEWAY_API_KEY' },
  'monitoring service': { address: 'MONITORING_BASE_URL', key: 'MONITORING_API_KEY' },
};

/** Characters of a service's sentence. */
const MAX_QUOTED = 300;

/** Providers' keys and bearer headers, which a service's sentence may repeat. */
const SECRETS = [KEY_PATTERN, /\bBearer +\S+/gi, /\b(?:sk|pk|xai|gsk|xox[a-z])[-_][\w*.-]{6,}/g];

/** Errors whose sentence names what failed behind the service, such as a model provider. */
const NAMES_ITS_CAUSE: ReadonlyArray<string | undefined> = [
  ErrorCode.upstreamError,
  ErrorCode.upstreamTimeout,
  ErrorCode.unavailable,
];

/** A sentence that says what to do needs no other advice. */
const ADVISES = /\b(?:try again|ask again|check|add credit|correct)\b/i;

/**
 * Explains a failed call to a service or to the database to the person who waits for it: what happened, and what to do. Without
 * secrets; `undefined` for other errors.
 */
export const explainError = (error: unknown, service: ServiceName) =>
  explain(error, service, retryAdvice(error));

/** Explains it to people who don't wait for it: what happened, and the setting that may be wrong. */
export const explainOutage = (error: unknown, service: ServiceName) => explain(error, service);

function explain(error: unknown, service: ServiceName, advice?: string): string | undefined {
  const what = describeFailure(error, service);
  if (what === undefined || ADVISES.test(what)) return what;
  return [what, advice, settingAdvice(error, service)].filter(Boolean).join(' ');
}

function describeFailure(error: unknown, service: ServiceName): string | undefined {
  if (error instanceof StatusError) return describeStatus(error, service);
  if (error instanceof StreamCutError) {
    return error.isQuote ? quoted(error.message) : `The ${service} cut off its answer.`;
  }
  if (error instanceof TimeoutError) return `The ${service} did not answer in time.`;
  if (error instanceof NetworkError) return `The ${service} cannot be reached.`;
  if (error instanceof ContractError) {
    return `The ${service} sent an answer that Askwatch cannot read.`;
  }
  if (error instanceof StoreUnavailableError) return 'Askwatch cannot reach its database.';
  if (error instanceof LeaseLostError) return 'The bot is moving to another Askwatch process.';
  return error instanceof CallError ? `The ${service} did not answer.` : undefined;
}

function describeStatus(error: StatusError, service: ServiceName): string {
  const { status, message, code, isQuote } = error;
  const said = quoted(message);
  if (status === 401 || status === 403) {
    return `The ${service} rejected Askwatch's key (${status}). Check ${SETTINGS[service].key}.`;
  }
  if (status === 429) return isQuote ? said : `The ${service} is limiting requests (429).`;
  if (status < 500) return `The ${service} rejected this: ${said}`;
  if (isQuote && NAMES_ITS_CAUSE.includes(code)) return said;
  const failed = `The ${service} answered with an error (${status})`;
  return isQuote ? `${failed}: ${said}` : `${failed}.`;
}

function retryAdvice(error: unknown): string | undefined {
  if (error instanceof ContractError) return undefined;
  if (error instanceof StreamCutError) return 'Ask again.';
  if (!(error instanceof StatusError)) return 'Try again in a moment.';
  if (error.status < 500 && error.status !== 429) return undefined;
  const { retryAfterMs } = error;
  return `Try again in ${retryAfterMs === undefined ? 'a moment' : inWords(retryAfterMs)}.`;
}

/** The address can only be wrong if the service is somebody's own, which the error does not say. */
function settingAdvice(error: unknown, service: ServiceName): string | undefined {
  const mayBeElsewhere = error instanceof NetworkError || error instanceof ContractError;
  return mayBeElsewhere ? `If it runs elsewhere, check ${SETTINGS[service].address}.` : undefined;
}

function quoted(message: string): string {
  const clean = SECRETS.reduce((text, pattern) => text.replace(pattern, '[secret]'), message);
  return clean.length > MAX_QUOTED ? `${clean.slice(0, MAX_QUOTED)}…` : clean;
}
