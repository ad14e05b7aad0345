import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { MonitoringPath, pushPath } from '../../src/contracts/monitoring.ts';
import { MONITORING_REQUESTS_PER_MINUTE } from '../../src/contracts/rate-limit.ts';
import { WrongAnswerError } from '../shared/load.ts';
import { quantile } from './arrivals.ts';

const PING_CONNECTIONS = 64;

/** Pings one heartbeat after another over many connections; gives how many were acknowledged in the window. */
export async function pingFor(options: {
  port: number;
  tokens: readonly string[];
  warmUpMs: number;
  windowMs: number;
  /** Called when the window begins; what it gives, when it ends. */
  meter: () => () => void;
}): Promise<number> {
  const { port, tokens, warmUpMs, windowMs, meter } = options;
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: PING_CONNECTIONS });
  const limit = tokens.length * MONITORING_REQUESTS_PER_MINUTE;
  let asked = 0;
  let acknowledged = 0;
  let ending = false;
  let spent = false;
  async function ping() {
    while (!ending && !spent) {
      const token = tokens[asked % tokens.length] ?? '';
      asked += 1;
      // One that the rate limit refuses is no measure of a ping.
      spent = asked >= limit;
      const answer = await pool.request({ method: 'POST', path: pushPath(token) });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) {
        throw new WrongAnswerError(`a ping was answered ${answer.statusCode}: ${text}`);
      }
      acknowledged += 1;
    }
  }
  const lanes = Promise.all(Array.from({ length: PING_CONNECTIONS }, ping));
  const window = async () => {
    await pause(warmUpMs);
    const before = acknowledged;
    const end = meter();
    await pause(windowMs);
    end();
    return acknowledged - before;
  };
  try {
    const count = await Promise.race([window(), lanes.then(() => Number.NaN)]);
    if (Number.isNaN(count)) {
      throw new Error(`All ${limit} pings that the rate limit allows were sent before the end.`);
    }
    return count;
  } finally {
    ending = true;
    await lanes.catch(() => {});
    await pool.close();
  }
}

/** Creates one monitor after another; gives the 99th percentile of the times to the answer. */
export async function createOneByOne(options: {
  port: number;
  keys: readonly string[];
  warmUp: number;
  count: number;
  body: (number: number) => unknown;
}): Promise<number> {
  const { port, keys, warmUp, count, body } = options;
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 });
  const timesMs: number[] = [];
  try {
    for (let at = 0; at < warmUp + count; at += 1) {
      const startMs = performance.now();
      const answer = await pool.request({
        method: 'POST',
        path: MonitoringPath.monitors,
        headers: {
          'x-api-key': keys[at % keys.length] ?? '',
          'content-type': 'application/json',
        },
        body: JSON.stringify(body(at)),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 201) {
        throw new WrongAnswerError(`a create was answered ${answer.statusCode}: ${text}`);
      }
      if (at >= warmUp) timesMs.push(performance.now() - startMs);
    }
  } finally {
    await pool.close();
  }
  return quantile(timesMs, 0.99);
}

/** Keys that so many requests in a minute need. */
export const keysFor = (requests: number) =>
  Math.ceil(requests / MONITORING_REQUESTS_PER_MINUTE) + 1;
