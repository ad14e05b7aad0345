import { z } from 'zod';
import { PushAnswer } from '../../contracts/monitoring.ts';
import { keyAnswers } from '../../http/shared-answers.ts';
import { limited, noQuery } from './route-schemas.ts';

const token = z.string().describe('As in the `push_url` of the monitor.');

const pushRoute = {
  description:
    'The token in the address is the credential. A body of any size is taken and not read.',
  tags: ['monitoring'],
  querystring: noQuery,
  response: { 200: PushAnswer },
  components: { PushAnswer },
};

const pushAnswers = {
  200: 'It counts, and is stored.',
  400: 'There is a query parameter that is not expected here.',
  404: 'There is no heartbeat with this token.',
  500: keyAnswers[500],
  503: 'It could not be stored, and does not count.',
};

/** Pings. */
export const pushSchema = {
  ...pushRoute,
  operationId: 'ping',
  summary: 'Ping: the job of this heartbeat is alive',
  params: z.object({ token }),
  answers: limited(pushAnswers),
};

/** Pings that say more. */
export const pushSignalSchema = {
  ...pushRoute,
  operationId: 'signal',
  summary: 'Tell that the job of this heartbeat started, failed, or ended with an exit code',
  params: z.object({
    token,
    signal: z
      .string()
      .describe('`start`, `fail`, or the exit code of the job, 0 to 255; all but 0 mean failed.'),
  }),
  answers: limited({
    ...pushAnswers,
    400: 'The signal is none, or there is a query parameter that is not expected here.',
  }),
};
