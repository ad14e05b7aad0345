import {
  CallError,
  ContractError,
  NetworkError,
  StatusError,
  StreamCutError,
  TimeoutError,
} from '../../clients/errors.ts';
import { KEY_PATTERN } from '../../contracts/api-key.ts';
import { inWords } from './text-format.ts';

/** The two services, as people read of them. */
export type ServiceName = 'model gateway' | 'monitoring service';

const SETTINGS: Record<ServiceName, string> = {
  'model gateway': 'GATEWAY_BASE_URL and GATEWAY_API_KEY',
  'monitoring service': 'MONITORING_BASE_URL and MONITORING_API_KEY',
};

/** Longest part of a service's own sentence that is shown. */
const MAX_QUOTED = 300;

/** What looks like a provider's key or a bearer header: a service's sentence may repeat one. */
const SECRETS = [KEY_PATTERN, /\bBearer +\S+/gi, /\b(?:sk|pk|xai|gsk|xox[a-z])[-_][\w*.-]{6,}/g];

/**
 * What happened at a service and what to do, in plain words; `undefined` when the error is not about a call to one.
 * No secret stands in it.
 */
export function explainError(error: unknown, service: ServiceName): string | undefined {
  if (error instanceof StreamCutError) return `The ${service} broke off before the end. Ask again.`;
  if (error instanceof StatusError) {
    const { status, message, retryAfterMs } = error;
    if (status === 429) {
      const wait = retryAfterMs === undefined ? 'a minute' : inWords(retryAfterMs);
      return `${whatIsWrong(error, service)} Try again in ${wait}.`;
    }
    if (status < 500 && !isKeyRefused(error)) {
      return `The ${service} refuses this: ${quoted(message)}`;
    }
  }
  const what = whatIsWrong(error, service);
  if (what === undefined) return undefined;
  if (isKeyRefused(error)) return `${what} Whoever runs Askwatch can check ${SETTINGS[service]}.`;
  return error instanceof ContractError
    ? `${what} If it goes on, ${advice(service)}`
    : `${what} Try again in a moment; if it goes on, ${advice(service)}`;
}

/** The same for people who asked for nothing: what is wrong, and who can do something about it. */
export function explainOutage(error: unknown, service: ServiceName): string | undefined {
  const what = whatIsWrong(error, service);
  if (what === undefined) return undefined;
  const look = isKeyRefused(error) ? '' : 'look at /healthz and ';
  return `${what} Whoever runs Askwatch can ${look}check ${SETTINGS[service]}.`;
}

function isKeyRefused(error: unknown): boolean {
  return error instanceof StatusError && (error.status === 401 || error.status === 403);
}

function whatIsWrong(error: unknown, service: ServiceName): string | undefined {
  if (isKeyRefused(error)) return `The ${service} refuses Askwatch's key.`;
  if (error instanceof StatusError) {
    return error.status === 429
      ? `The ${service} is being asked too often.`
      : `The ${service} has trouble of its own (status ${error.status}).`;
  }
  if (error instanceof TimeoutError) return `The ${service} did not answer in time.`;
  if (error instanceof NetworkError) return `The ${service} cannot be reached.`;
  if (error instanceof ContractError) return `The ${service} gave an answer that cannot be read.`;
  if (error instanceof CallError) return `The ${service} did not answer.`;
  return undefined;
}

function advice(service: ServiceName): string {
  return `whoever runs Askwatch can look at /healthz and check ${SETTINGS[service]}.`;
}

function quoted(message: string): string {
  const clean = SECRETS.reduce((text, pattern) => text.replace(pattern, '[secret]'), message);
  return clean.length > MAX_QUOTED ? `${clean.slice(0, MAX_QUOTED)}…` : clean;
}
