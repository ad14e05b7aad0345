import type { Logger } from 'pino';
import { MonitoringPath } from '../../contracts/monitoring.ts';
import { AddedPath } from '../../contracts/monitoring-additions.ts';
import { type Exchange, type Shortcut, sendError, sendJson } from '../../http/direct-route.ts';
import { type RateLimitVerdict, rateLimitHeaders } from '../../http/rate-limit.ts';
import { parseSignal, type Signal } from '../monitors/heartbeat.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { PING_NOT_STORED, PUSH_METHODS } from './push-routes.ts';
import { failAsUnavailable, hasBody, type RouteTools } from './route-scope.ts';

const METHODS: readonly string[] = PUSH_METHODS;

const PREFIX = MonitoringPath.push.replace(':token', '');

/** A token and a signal in their usual form; the routes answer all others, such as those with a query. */
const PATH = new RegExp(`^${PREFIX}([\\w-]+)(?:/([a-z]+|\\d+))?$`);

const PING: Signal = { kind: 'ping' };
const TAKEN = JSON.stringify({ ok: true });

/**
 * Answers valid pings without a body, without Fastify, which would cost more than the ping itself (heartbeats per CPU second in
 * docs/speed.md). The routes answer all others, such as those with an unknown token or over the rate limit.
 */
export function createPushShortcut({
  monitors,
  runner,
  countPush,
  log,
}: Pick<RouteTools, 'monitors' | 'runner'> & {
  countPush: (heartbeat: WatchedMonitor) => RateLimitVerdict;
  log: Logger;
}): Shortcut {
  async function answer(
    exchange: Exchange,
    heartbeat: WatchedMonitor,
    signal: Signal,
    verdict: RateLimitVerdict,
  ) {
    const headers = rateLimitHeaders(verdict);
    try {
      await failAsUnavailable(runner.signal(heartbeat, signal), PING_NOT_STORED);
    } catch (error) {
      log.error({ err: error, reqId: exchange.id }, 'request failed');
      return sendError(exchange, error, log, headers);
    }
    sendJson(exchange, 200, TAKEN, Object.entries(headers).flat());
  }

  return {
    prefix: PREFIX,
    take(exchange) {
      const { method = '', url = '', headers } = exchange.request;
      if (!METHODS.includes(method) || hasBody(exchange.request)) return undefined;
      // Fastify refuses invalid ones.
      if (headers['content-type'] !== undefined) return undefined;
      const [, token, word] = PATH.exec(url) ?? [];
      const signal = word === undefined ? PING : parseSignal(word);
      const heartbeat = token === undefined ? undefined : monitors.byToken(token);
      if (!signal || !heartbeat) return undefined;
      const verdict = countPush(heartbeat);
      if (!verdict.allowed) return undefined;
      void answer(exchange, heartbeat, signal, verdict);
      return word === undefined ? MonitoringPath.push : AddedPath.pushSignal;
    },
  };
}
