import { z } from 'zod';
import { MonitorDetails } from '../../contracts/monitoring-additions.ts';
import { MONITORING_REQUESTS_PER_MINUTE } from '../../contracts/rate-limit.ts';
import type { Answer, Answers } from '../../http/openapi.ts';
import { keyAnswers, rateLimitHeaders, retryAfterHeader } from '../../http/shared-answers.ts';

const TOO_MANY: Answer = {
  description: `More than ${MONITORING_REQUESTS_PER_MINUTE} requests in 60 seconds with this key or token, or from this address without one.`,
  headers: retryAfterHeader,
};

/** All answers tell the limit, but that to a request which did not come in time. */
export function limited(answers: Answers): Answers {
  const told = Object.entries({ ...answers, 429: TOO_MANY }).map(([status, given]) => {
    const answer: Answer = typeof given === 'string' ? { description: given } : given;
    const headers = status === '408' ? {} : rateLimitHeaders;
    return [status, { ...answer, headers: { ...headers, ...answer.headers } }];
  });
  return Object.fromEntries(told);
}

/** What goes wrong with a body. */
const bodyAnswers = {
  408: 'The request did not arrive in time.',
  413: 'The body is larger than 256 KiB.',
  415: 'The Content-Type is not `application/json`.',
} as const satisfies Answers;

/** What a route says of itself. */
interface Described {
  answers: Answers;
  components?: Record<string, z.ZodType>;
}

/** A route for holders of a key: it answers what all of them do, and what it says itself. */
export const keyRoute = <Route extends Described>(route: Route) => ({
  ...route,
  tags: ['monitoring'],
  security: [{ apiKey: [] }, { bearer: [] }],
  answers: limited({
    ...keyAnswers,
    400: 'The request has an unknown query parameter, or a body.',
    ...('body' in route && bodyAnswers),
    ...route.answers,
  }),
});

/** The same for one monitor. */
export const monitorRoute = <Route extends Described>(route: Route) =>
  keyRoute({
    ...route,
    params: z.object({ id: z.string().describe('ID of the monitor, as listed.') }),
    answers: { 404: 'No monitor has this ID.', ...route.answers },
  });

/** The same, answered with all of the monitor. */
export const detailedRoute = <Route extends Described>(route: Route) =>
  monitorRoute({
    ...route,
    querystring: noQuery,
    response: { 200: MonitorDetails },
    components: { MonitorDetails, ...route.components },
  });

/** No query parameters. */
export const noQuery = z.strictObject({});

/** A whole number in a query, which holds texts alone. */
export const queryNumber = (number: z.ZodInt | z.ZodDefault<z.ZodInt>) =>
  z.preprocess(
    (text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
    number,
  );

/** What a 503 of a change means. */
const NOTHING_CHANGED = 'The change could not be stored. Nothing has changed.';

/** What a 403 means. */
export const READ_ONLY = 'The key is read-only.';

/** What a 409 of a change means. */
export const DECLARED =
  'The monitor is declared in a file and can only be changed there; `managed_by` names it. Nothing has changed.';

/** What goes wrong with a change. */
export const changeAnswers = { 403: READ_ONLY, 503: NOTHING_CHANGED } as const satisfies Answers;
