import { z } from 'zod';
import {
  Monitor,
  MonitorCreate,
  MonitorCreated,
  MonitorList,
  PushAnswer,
} from '../contracts/monitoring.ts';
import { MONITORING_REQUESTS_PER_MINUTE } from '../contracts/rate-limit.ts';
import type { Answer, Answers } from '../http/openapi.ts';
import { keyAnswers, rateLimitHeaders, retryAfterHeader } from '../http/shared-answers.ts';

const TOO_MANY: Answer = {
  description: `More than ${MONITORING_REQUESTS_PER_MINUTE} requests came in 60 seconds: with this key or token, or from this address without one.`,
  headers: retryAfterHeader,
};

/** All answers tell the limit, but that to a request which did not come in time. */
function limited(answers: Answers): Answers {
  const told = Object.entries(answers).map(([status, given]) => {
    const answer: Answer = typeof given === 'string' ? { description: given } : given;
    const headers = status === '408' ? {} : rateLimitHeaders;
    return [status, { ...answer, headers: { ...headers, ...answer.headers } }];
  });
  return Object.fromEntries(told);
}

const security = [{ apiKey: [] }, { bearer: [] }];

/** GET /monitors. */
export const listSchema = {
  operationId: 'listMonitors',
  summary: 'List all active monitors with their live statuses',
  tags: ['monitoring'],
  security,
  response: { 200: MonitorList },
  components: { Monitor, MonitorList },
  answers: limited({ ...keyAnswers, 200: 'All monitors.', 429: TOO_MANY }),
};

/** POST /monitors. */
export const createSchema = {
  operationId: 'createMonitor',
  summary: 'Create a monitor',
  tags: ['monitoring'],
  security,
  body: MonitorCreate,
  response: { 201: MonitorCreated },
  components: { MonitorCreate, MonitorCreated },
  answers: limited({
    ...keyAnswers,
    201: 'The new monitor; of a HEARTBEAT with its `push_url`, shown this once.',
    400: 'The body is no valid JSON, a field is wrong (`param` names it), or checks may not reach the target.',
    408: 'The request did not come in time.',
    409: 'There are as many monitors as the service takes.',
    413: 'The body is larger than 256 KiB.',
    415: 'The body is not sent as `application/json`.',
    429: TOO_MANY,
    503: 'The monitor could not be stored, and was not created.',
  }),
};

/** Pings. */
export const pushSchema = {
  operationId: 'ping',
  summary: 'Ping: the job of this heartbeat is alive',
  description: 'The token in the address is the credential. A body is taken and not looked at.',
  tags: ['monitoring'],
  params: z.object({ token: z.string().describe('As in the `push_url` of the monitor.') }),
  response: { 200: PushAnswer },
  components: { PushAnswer },
  answers: limited({
    200: 'The ping counts.',
    404: 'There is no heartbeat with this token.',
    413: 'The body is larger than 256 KiB.',
    429: TOO_MANY,
    500: keyAnswers[500],
    503: 'The ping could not be stored, and does not count.',
  }),
};
