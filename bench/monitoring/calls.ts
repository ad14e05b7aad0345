import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { MonitoringPath, pushPath } from '../../src/contracts/monitoring.ts';
import { MONITORING_REQUESTS_PER_MINUTE } from '../../src/contracts/rate-limit.ts';
import { WrongAnswerError } from '../shared/load.ts';

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
      // A ping that the rate limit refuses isn't measured.
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

/** Creates one monitor after another, each followed by `beside`; gives how long both took, milliseconds. */
export async function createOneByOne(options: {
  port: number;
  keys: readonly string[];
  warmUp: number;
  count: number;
  body: (number: number) => unknown;
  /** The reference for creating a monitor. */
  beside?: () => Promise<void>;
}): Promise<{ createdMs: number[]; besideMs: number[] }> {
  const { port, keys, warmUp, count, body, beside = async () => {} } = options;
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 });
  const createdMs: number[] = [];
  const besideMs: number[] = [];
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
      const answeredMs = performance.now();
      await beside();
      if (at < warmUp) continue;
      createdMs.push(answeredMs - startMs);
      besideMs.push(performance.now() - answeredMs);
    }
  } finally {
    await pool.close();
  }
  return { createdMs, besideMs };
}

/**
 * Writes the bytes of a monitor's document into a folder of its own, as a durable write is at least: a new file, synced,
 * renamed, and the folder synced.
 */
export async function bareWriter(dataFolder: string, ownFolder: string) {
  const documents = join(dataFolder, 'monitors');
  const [name = ''] = await readdir(documents);
  const bytes = await readFile(join(documents, name));
  await mkdir(ownFolder, { recursive: true });
  let written = 0;
  return async () => {
    written += 1;
    const path = join(ownFolder, `${written}.json`);
    const file = await open(`${path}.tmp`, 'w');
    await file.writeFile(bytes);
    await file.datasync();
    await file.close();
    await rename(`${path}.tmp`, path);
    const folder = await open(ownFolder, 'r');
    await folder.sync();
    await folder.close();
  };
}

/** Keys that so many requests in a minute need. */
export const keysFor = (requests: number) =>
  Math.ceil(requests / MONITORING_REQUESTS_PER_MINUTE) + 1;
