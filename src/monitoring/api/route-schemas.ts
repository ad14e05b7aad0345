import { z } from 'zod';
import { MonitorDetails } from '../../contracts/monitoring-additions.ts';
import { MONITORING_REQUESTS_PER_MINUTE } from '../../contracts/rate-limit.ts';
import type { Answer, Answers } from '../../http/openapi.ts';
import { keyAnswers, rateLimitHeaders, retryAfterHeader } from '../../http/shared-answers.ts';

const TOO_MANY: Answer = {
  description: `More than ${MONITORING_REQUESTS_PER_MINUTE} requests in 60 seconds with this key or token, or from this address without one.`,
  headers: retryAfterHeader,
};

/** Adds the rate limit headers to all answers, except to the 408 for a late request. */
export function limited(answers: Answers): Answers {
  const entries = Object.entries({ ...answers, 429: TOO_MANY }).map(([status, text]) => {
    const answer: Answer = typeof text === 'string' ? { description: text } : text;
    const headers = status === '408' ? {} : rateLimitHeaders;
    return [status, { ...answer, headers: { ...headers, ...answer.headers } }];
  });
  return Object.fromEntries(entries);
}

const bodyAnswers = {
  408: 'The request did not arrive in time.',
  413: 'The body is larger than 256 KiB.',
  415: 'The Content-Type is not `application/json`.',
} as const satisfies Answers;

interface RouteDescription {
  answers: Answers;
  components?: Record<string, z.ZodType>;
}

/** A route that requires a key, with the answers that all of these share. */
export const keyRoute = <Route extends RouteDescription>(route: Route) => ({
  ...route,
  tags: ['monitoring'],
  security: [{ apiKey: [] }, { bearer: [] }] as Array<Record<string, string[]>>,
  answers: limited({
    ...keyAnswers,
    400: 'The request has an unknown query parameter, or a body.',
    ...('body' in route ? (bodyAnswers as Answers) : {}),
    ...route.answers,
  }),
});

export const monitorRoute = <Route extends RouteDescription>(route: Route) =>
  keyRoute({
    ...route,
    params: z.object({ id: z.string().describe('ID of the monitor, as listed.') }),
    answers: { 404: 'No monitor has this ID.', ...route.answers },
  });

export const detailedRoute = <Route extends RouteDescription>(route: Route) =>
  monitorRoute({
    ...route,
    querystring: noQuery,
    response: { 200: MonitorDetails },
    components: { MonitorDetails, ...route.components },
  });

export const noQuery = z.strictObject({});

/** Parses a whole number, because a query holds only texts. */
export const queryNumber = (number: z.ZodInt | z.ZodDefault<z.ZodInt>) =>
  z.preprocess(
    (text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
    number,
  );

const NOTHING_CHANGED = 'The change could not be stored. Nothing has changed.';

export const READ_ONLY = 'The key is read-only.';

export const DECLARED =
  'The monitor is declared in a file and can only be changed there; `managed_by` names it. Nothing has changed.';

export const changeAnswers = { 403: READ_ONLY, 503: NOTHING_CHANGED } as const satisfies Answers;
