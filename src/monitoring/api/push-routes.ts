import { MonitoringPath } from '../../contracts/monitoring.ts';
import { AddedPath } from '../../contracts/monitoring-additions.ts';
import { invalidValue } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { parseSignal, type Signal } from '../monitors/heartbeat.ts';
import { pushSchema, pushSignalSchema } from './push-route-schemas.ts';
import { noSuchHeartbeat, orUnavailable } from './route-errors.ts';
import { type RouteTools, readNoBody, within } from './route-scope.ts';

type PushMethod = 'GET' | 'HEAD' | 'POST';
/** All of them, since jobs ping with what they have: curl, wget, a link checker. */
const METHODS: PushMethod[] = ['GET', 'HEAD', 'POST'];

/** Adds the routes that jobs ping. */
export function addPushRoutes(
  scope: HttpServer,
  { monitors, runner }: Pick<RouteTools, 'monitors' | 'runner'>,
): void {
  // A ping has no body; whatever a job sends along is taken and not read.
  readNoBody(scope);

  async function take(token: string, signalOf: () => Signal) {
    const monitor = monitors.byToken(token);
    if (monitor === undefined) throw noSuchHeartbeat();
    await orUnavailable(
      runner.signal(monitor, signalOf()),
      'The ping could not be stored. Send it again.',
    );
    return { ok: true as const };
  }

  scope.route({
    method: METHODS,
    url: within(MonitoringPath.push),
    schema: pushSchema,
    handler: ({ params }) => take(params.token, () => ({ kind: 'ping' })),
  });
  scope.route({
    method: METHODS,
    url: within(AddedPath.pushSignal),
    schema: pushSignalSchema,
    // After the token: who has none is not told more.
    handler: ({ params }) => take(params.token, () => signalIn(params.signal)),
  });
}

function signalIn(text: string): Signal {
  const signal = parseSignal(text);
  if (signal) return signal;
  throw invalidValue(
    'signal',
    'write start, fail, or the exit code of the job, 0 to 255; leave it out for a plain ping',
  );
}
