import { z } from 'zod';
import { MonitorDetails } from '../../contracts/monitoring-additions.ts';
import { MONITORING_REQUESTS_PER_MINUTE } from '../../contracts/rate-limit.ts';
import type { Answer, Answers } from '../../http/openapi.ts';
import { keyAnswers, rateLimitHeaders, retryAfterHeader } from '../../http/shared-answers.ts';

const TOO_MANY: Answer = {
  description: `More than ${MONITORING_REQUESTS_PER_MINUTE} requests came in 60 seconds: with this key or token, or from this address without one.`,
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

/** What all routes for holders of a key have in common. */
export const keyRoute = {
  tags: ['monitoring'],
  security: [{ apiKey: [] }, { bearer: [] }],
};

/** What routes for holders of a key answer beside their own. */
export const keyRouteAnswers = {
  ...keyAnswers,
  400: 'There is a query parameter or a body that is not expected here.',
} as const satisfies Answers;

/** The same of routes for one monitor. */
export const monitorRouteAnswers = {
  ...keyRouteAnswers,
  404: 'There is no monitor with this id.',
} as const satisfies Answers;

/** What goes wrong with a body. */
export const bodyAnswers = {
  408: 'The request did not come in time.',
  413: 'The body is larger than 256 KiB.',
  415: 'The body is not sent as `application/json`.',
} as const satisfies Answers;

/** No query parameters. */
export const noQuery = z.strictObject({});

/** One monitor. */
export const monitorParams = z.object({ id: z.string().describe('As in the list.') });

/** A whole number in a query, which holds texts alone. */
export const queryNumber = (number: z.ZodInt | z.ZodDefault<z.ZodInt>) =>
  z.preprocess(
    (text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
    number,
  );

/** What a 503 of a change means. */
export const NOTHING_CHANGED = 'It could not be stored: nothing has changed.';

/** What the routes of one monitor that answer with all of it have in common. */
export const detailed = {
  ...keyRoute,
  params: monitorParams,
  querystring: noQuery,
  response: { 200: MonitorDetails },
  components: { MonitorDetails },
};
