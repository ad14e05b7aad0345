import type { IncomingMessage } from 'node:http';
import { ErrorCode } from '../../contracts/error.ts';
import { MonitoringPath } from '../../contracts/monitoring.ts';
import { AddedPath } from '../../contracts/monitoring-additions.ts';
import { MONITORING_REQUESTS_PER_MINUTE } from '../../contracts/rate-limit.ts';
import { createAuthentication } from '../../http/authentication.ts';
import { clientKeyOf } from '../../http/client-address.ts';
import { forbidden, HttpError } from '../../http/errors.ts';
import type { KeyInfo, Keys } from '../../http/keys.ts';
import {
  createRateLimit,
  createSharedRateLimit,
  type RateLimitVerdict,
  rateLimitHeaders,
} from '../../http/rate-limit.ts';
import type { HttpReply, HttpRequest } from '../../http/server-types.ts';
import type { Store } from '../../store/store.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';

const WINDOW_MS = 60_000;

/** Keys of this program itself ask for everyone who talks to the bot or reads the console. The limit bounds a runaway loop. */
const OWN_REQUESTS_PER_MINUTE = 12_000;

/** Methods of requests that change something, or send something out as a check does. */
const CHANGES = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** Where a token in the path is the credential. */
const PUSH_PATHS: ReadonlyArray<string | undefined> = [MonitoringPath.push, AddedPath.pushSignal];

/**
 * Runs before everything else of a request: finds out who asks, counts it, and puts the rate limit headers on the
 * answer, whatever the answer will be. Throws the 401 or 429, and the 403 of a change with a read-only key.
 * A request is counted to its API key, in all processes together. A push carries none, and is counted to the heartbeat that
 * its token is of; who has neither is counted by address. Those protect the process that they come to. The
 * program's own keys have a larger limit, counted in the process. What is left of wrong keys stands on the refusal itself.
 */
export function createRateLimitHook({
  keys,
  monitors,
  store,
  nowMs,
}: {
  keys: Keys;
  monitors: Pick<Monitors, 'byToken'>;
  store: Pick<Store, 'windows'>;
  nowMs: () => number;
}) {
  const authenticate = createAuthentication(keys, { acceptApiKeyHeader: true });
  const keyByRequest = new WeakMap<IncomingMessage, KeyInfo>();
  const limit = MONITORING_REQUESTS_PER_MINUTE;
  const ofProcess = createRateLimit({ limit, windowMs: WINDOW_MS, nowMs });
  const ofOwnKeys = createRateLimit({
    limit: OWN_REQUESTS_PER_MINUTE,
    windowMs: WINDOW_MS,
    nowMs,
  });
  const ofKeys = createSharedRateLimit({
    limit,
    windows: store.windows({ name: 'monitoring-requests', windowMs: WINDOW_MS, steadyMs: nowMs }),
    nowMs,
  });

  function tell(verdict: RateLimitVerdict, reply: HttpReply) {
    reply.headers(rateLimitHeaders(verdict));
    if (verdict.allowed) return;
    throw new HttpError(
      429,
      ErrorCode.rateLimited,
      `More than ${verdict.limit} requests in a minute. Wait ${Math.max(1, Math.ceil(verdict.resetMs / 1000))} s (Retry-After) and try again.`,
    );
  }

  const callerOf = ({ id }: Pick<WatchedMonitor, 'id'>) => `heartbeat ${id}`;

  async function hook(request: HttpRequest, reply: HttpReply): Promise<void> {
    const address = () => `address ${clientKeyOf(request.ip)}`;
    if (PUSH_PATHS.includes(request.routeOptions.url)) {
      const { token } = request.params as { token: string };
      const heartbeat = monitors.byToken(token);
      const who = heartbeat === undefined ? address() : callerOf(heartbeat);
      return tell(ofProcess.take(who), reply);
    }
    let key: KeyInfo;
    try {
      key = authenticate(request);
      await authenticate.confirm(key);
    } catch (refusal) {
      // A wrong key is a guess, as an unknown push token is; what is left of wrong keys the refusal tells itself. While it
      // is not known which keys are wrong, none is a guess.
      if (refusal instanceof HttpError && refusal.status < 500) ofProcess.take(address());
      throw refusal;
    }
    keyByRequest.set(request.raw, key);
    const who = `key ${key.id}`;
    const verdict = key.isTransient ? ofOwnKeys.take(who) : ofKeys.take(who);
    tell(verdict instanceof Promise ? await verdict : verdict, reply);
    if (key.readOnly && CHANGES.includes(request.method)) {
      throw forbidden(
        'This key is read-only, so nothing was changed. Create a key that can change monitors: npx askwatch keys create --service monitoring --write --name <name>',
      );
    }
  }

  return {
    hook,
    /** Counts a push that did not come through the hook. A refused one may come through it after this: it is not counted. */
    countPush: (heartbeat: Pick<WatchedMonitor, 'id'>) => ofProcess.take(callerOf(heartbeat)),
    /** Whose request it was, once the hook has run. */
    keyOf({ raw }: HttpRequest): KeyInfo {
      const key = keyByRequest.get(raw);
      if (key === undefined) throw new Error('This route needs no key.');
      return key;
    },
  };
}
