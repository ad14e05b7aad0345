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

/** The program's own keys serve everyone who uses the bot or the console. This limit only stops a runaway loop. */
const OWN_REQUESTS_PER_MINUTE = 12_000;

/** Methods of requests that change something, or send a request as a check does. */
const CHANGES = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** Routes with a token in the path as credential. */
const PUSH_PATHS: ReadonlyArray<string | undefined> = [MonitoringPath.push, AddedPath.pushSignal];

/**
 * Runs first for each request: authenticates and counts it, and adds the rate limit headers to every answer. Throws a 401 or
 * 429, and a 403 for a change with a read-only key.
 *
 * - Requests with an API key count per key, over all processes together.
 * - Pushes count per heartbeat, and all others per address, in each process, because they only need to protect that.
 * - Requests with the program's own keys count in the process, with a larger limit.
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

  function applyVerdict(verdict: RateLimitVerdict, reply: HttpReply) {
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
      const caller = heartbeat === undefined ? address() : callerOf(heartbeat);
      return applyVerdict(ofProcess.take(caller), reply);
    }
    let key: KeyInfo;
    try {
      key = authenticate(request);
      await authenticate.confirm(key);
    } catch (refusal) {
      // A wrong key counts as a guess, like an unknown push token. If keys can't be verified at the moment, it doesn't.
      if (refusal instanceof HttpError && refusal.status < 500) ofProcess.take(address());
      throw refusal;
    }
    keyByRequest.set(request.raw, key);
    const caller = `key ${key.id}`;
    applyVerdict(await (key.isTransient ? ofOwnKeys.take(caller) : ofKeys.take(caller)), reply);
    if (key.readOnly && CHANGES.includes(request.method)) {
      throw forbidden(
        'This key is read-only, so nothing was changed. Create a key that can change monitors: npx askwatch keys create --service monitoring --write --name <name>',
      );
    }
  }

  return {
    hook,
    /** Counts a push that doesn't pass the hook. A refused one isn't counted, because it passes the hook afterwards. */
    countPush: (heartbeat: Pick<WatchedMonitor, 'id'>) => ofProcess.take(callerOf(heartbeat)),
    /** The key of a request, once the hook has run. */
    keyOf({ raw }: HttpRequest): KeyInfo {
      const key = keyByRequest.get(raw);
      if (key === undefined) throw new Error('This route needs no key.');
      return key;
    },
  };
}
