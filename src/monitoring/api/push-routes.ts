import { z } from 'zod';
import { MonitoringPath, PushAnswer } from '../../contracts/monitoring.ts';
import { AddedPath } from '../../contracts/monitoring-additions.ts';
import { invalidValue, notFound } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { keyAnswers } from '../../http/shared-answers.ts';
import { parseSignal, type Signal } from '../monitors/heartbeat.ts';
import { limited, noQuery } from './route-schemas.ts';
import { failAsUnavailable, ignoreBodies, type RouteTools, within } from './route-scope.ts';

/** Jobs ping with curl, wget, a link checker or anything else. */
export const PUSH_METHODS: Array<'GET' | 'HEAD' | 'POST'> = ['GET', 'HEAD', 'POST'];

export const PING_NOT_STORED = 'The ping could not be stored. Send it again.';

export function addPushRoutes(
  scope: HttpServer,
  { monitors, runner }: Pick<RouteTools, 'monitors' | 'runner'>,
): void {
  ignoreBodies(scope);

  async function take(token: string, signalOf: () => Signal) {
    let monitor = monitors.byToken(token);
    if (monitor === undefined) {
      // Another process may have created it a moment ago.
      await monitors.catchUp();
      monitor = monitors.byToken(token);
    }
    if (monitor === undefined) {
      throw notFound('No heartbeat has this token. Check the push URL.');
    }
    await failAsUnavailable(runner.signal(monitor, signalOf()), PING_NOT_STORED);
    return { ok: true as const };
  }

  scope.route({
    method: PUSH_METHODS,
    url: within(MonitoringPath.push),
    schema: pushSchema,
    handler: ({ params }) => take(params.token, () => ({ kind: 'ping' })),
  });
  scope.route({
    method: PUSH_METHODS,
    url: within(AddedPath.pushSignal),
    schema: pushSignalSchema,
    // After the token, so that nobody without a token learns more.
    handler: ({ params }) => take(params.token, () => signalIn(params.signal)),
  });
}

function signalIn(text: string): Signal {
  const signal = parseSignal(text);
  if (signal) return signal;
  throw invalidValue(
    'signal',
    'must be start, fail, or the exit code of the job, 0 to 255; leave it out for a plain ping',
  );
}

const token = z.string().describe("The token from the monitor's `push_url`.");

const pushRoute = {
  description:
    'The token in the URL is the credential. A body of any size is accepted and ignored.',
  tags: ['monitoring'],
  querystring: noQuery,
  response: { 200: PushAnswer },
  components: { PushAnswer },
};

const pushAnswers = {
  200: 'The signal was received and stored.',
  400: 'The request has an unknown query parameter.',
  404: 'No heartbeat has this token.',
  500: keyAnswers[500],
  503: 'The signal could not be stored and does not count.',
};

const pushSchema = {
  ...pushRoute,
  operationId: 'ping',
  summary: 'Ping: report that the job is alive',
  params: z.object({ token }),
  answers: limited(pushAnswers),
};

const pushSignalSchema = {
  ...pushRoute,
  operationId: 'signal',
  summary: 'Report that the job started, failed, or ended with an exit code',
  params: z.object({
    token,
    signal: z
      .string()
      .describe(
        '`start`, `fail`, or the exit code of the job, 0 to 255. Any code other than 0 means that it failed.',
      ),
  }),
  answers: limited({
    ...pushAnswers,
    400: 'The signal is not valid, or the request has an unknown query parameter.',
  }),
};
