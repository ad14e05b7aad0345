import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openKeys } from '../../../src/http/keys.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { rage, startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { query, startPostgres } from '../../helpers/postgres/server.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

const MONITORS = '/api/v1/public/monitors';
const PER_MINUTE = 120;

/** Within this time a change of keys counts in every process. */
const KEY_KNOWN_MS = 2_000;

/** The rhythm that is judged: a whole take-over and one more fault fit into it. */
const INTERVAL_SECONDS = long ? 60 : 30;
const INTERVAL_MS = INTERVAL_SECONDS * 1000;

/** Acknowledged changes of a monitor. */
interface Told {
  id: string;
  /** The only writer of the monitor, so that the order of its changes is known. */
  key: string;
  name: string;
  /** Path of its push endpoint, of a heartbeat. */
  push: string | undefined;
  pingedMs: number;
  /** The deletion was acknowledged. */
  removed: boolean;
}

/** When a request that was let through was sent, and when its answer had come. */
interface Passed {
  sentMs: number;
  gotMs: number;
}

test(
  'three processes keep every promise over kills, freezes, ended connections and crashes of the database',
  async () => {
    const random = createRandom(seed());
    const server = await startPostgres({ durable: true });
    onTestFinished(() => server.remove());
    const schema = `chaos_${randomBytes(4).toString('hex')}`;
    const site = createServer((_, response) => response.end('ok'));
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void site.close());
    const target = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;

    const processes = await startProcesses(3, {
      database: server.url,
      schema,
      env: { ASKWATCH_ROLES: 'gateway,monitoring', MONITOR_ALLOW_PRIVATE: '127.0.0.0/8' },
    });
    const operator = await openPostgresStore({
      ...{ url: server.url, schema, version: 'test' },
      log: pino({ level: 'silent' }),
    });
    onTestFinished(() => operator.close());
    const keys = {
      gateway: await openKeys(operator, 'gateway'),
      monitoring: await openKeys(operator, 'monitoring'),
    };
    const faults: string[] = [];
    let isOver = false;

    const anyUrl = () => {
      const urls = processes.urls();
      return urls[Math.floor(random() * urls.length)] ?? '';
    };

    /** The answer of some process; undefined when none came, or it says that nothing was done. */
    async function call(
      method: string,
      path: string,
      {
        key,
        json,
        headers = {},
        url = anyUrl(),
      }: { key?: string; json?: unknown; headers?: Record<string, string>; url?: string },
    ) {
      try {
        const answer = await fetch(url + path, {
          method,
          headers: {
            ...(key === undefined ? {} : { 'x-api-key': key }),
            ...(json === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(json === undefined ? {} : { body: JSON.stringify(json) }),
          signal: AbortSignal.timeout(8_000),
        });
        const text = await answer.text();
        if (
          answer.status === 503 &&
          !answer.headers.has('retry-after') &&
          !path.includes('check')
        ) {
          faults.push(`a 503 without Retry-After: ${method} ${path} ${text}`);
        }
        if (answer.status >= 500) return undefined;
        return {
          status: answer.status,
          body: (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>,
        };
      } catch {
        return undefined;
      }
    }

    /** Tried at one process after another until it is acknowledged. */
    async function until(
      method: string,
      path: string,
      options: Parameters<typeof call>[2] & { done: number[] },
    ) {
      for (let left = 400; left > 0; left -= 1) {
        const answer = await call(method, path, options);
        if (answer && options.done.includes(answer.status)) return answer;
        if (answer && answer.status !== 429)
          faults.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
        await pause(answer?.status === 429 ? 300 : 100);
      }
      throw new Error(`${method} ${path} was never acknowledged`);
    }

    const ownKey = async () => (await keys.monitoring.create('chaos')).key;
    const writers = await Promise.all([ownKey(), ownKey(), ownKey(), ownKey()]);
    await pause(KEY_KNOWN_MS);
    const book = new Map<string, Told>();

    async function create(
      key: string,
      { isJob, interval = 86_400 }: { isJob: boolean; interval?: number },
    ) {
      const name = `n${book.size} ${randomUUID()}`;
      const config = isJob ? { grace_seconds: 86_400 } : { interval_seconds: interval };
      const json = { name, check_type: isJob ? 'HEARTBEAT' : 'HTTP', target, config };
      // Repeated with its key, it is one create.
      const headers = { 'idempotency-key': randomUUID() };
      const { body } = await until('POST', MONITORS, { key, json, headers, done: [201] });
      const id = String(body.id);
      const push = isJob ? new URL(String(body.push_url)).pathname : undefined;
      book.set(id, { id, key, name, push, pingedMs: 0, removed: false });
      return id;
    }

    /** The monitors whose rhythm is judged afterwards. */
    const watched: string[] = [];
    for (let at = 0; at < 20; at += 1) {
      watched.push(
        await create(writers[at % 4] ?? '', { isJob: false, interval: INTERVAL_SECONDS }),
      );
    }
    const watchedFromMs = Date.now();
    const limited = await ownKey();
    // A key counts everywhere within that time.
    await pause(KEY_KNOWN_MS);

    async function write(key: string) {
      while (!isOver) {
        await pause(100 + 400 * random());
        const own = [...book.values()].filter(
          (one) => one.key === key && !one.removed && !watched.includes(one.id),
        );
        const one = own[Math.floor(random() * own.length)];
        const dice = random();
        if (!one || (dice < 0.3 && own.length < 30)) {
          await create(key, { isJob: random() < 0.5 });
        } else if (dice < 0.6 && one.push) {
          const sentMs = Date.now();
          await until('POST', one.push, { done: [200] });
          one.pingedMs = Math.max(one.pingedMs, sentMs);
        } else if (dice < 0.9) {
          const name = `${one.name}+`.slice(-150);
          one.name = name;
          await until('PATCH', `${MONITORS}/${one.id}`, { key, json: { name }, done: [200, 404] });
        } else {
          one.removed = true;
          await until('DELETE', `${MONITORS}/${one.id}`, { key, done: [204, 404] });
        }
      }
    }

    /** Far more requests than a key may make, at all processes. */
    async function flood(path: string, passed: Passed[], headers: Record<string, string>) {
      while (!isOver) {
        const sentMs = Date.now();
        const answer = await call('GET', path, { headers });
        if (answer?.status === 200) passed.push({ sentMs, gotMs: Date.now() });
        else if (answer && answer.status !== 429) faults.push(`flood: ${answer.status}`);
        await pause(250);
      }
    }

    /** Makes a key, uses it everywhere, revokes it; two seconds after that nobody takes it. */
    async function revoke() {
      while (!isOver) {
        try {
          const { key, id } = await keys.monitoring.create('revoked');
          await eventually(
            async () => {
              const answers = await Promise.all(
                processes.urls().map((url) => call('GET', `${MONITORS}?limit=1`, { key, url })),
              );
              return answers.some((answer) => answer?.status === 200) || isOver;
            },
            { withinMs: 30_000, everyMs: 200 },
          );
          await keys.monitoring.revoke(id);
          const revokedMs = Date.now();
          await pause(KEY_KNOWN_MS);
          for (const url of processes.urls()) {
            const sentMs = Date.now();
            const answer = await call('GET', `${MONITORS}?limit=1`, { key, url });
            if (answer?.status === 200) {
              faults.push(`a key was taken ${sentMs - revokedMs} ms after its revocation`);
            }
          }
        } catch {
          // The database was away: nothing was acknowledged.
          await pause(500);
        }
      }
    }

    const passed: Passed[] = [];
    const working = [
      ...writers.map(write),
      flood(`${MONITORS}?limit=1`, passed, { 'x-api-key': limited }),
      flood(`${MONITORS}?limit=1`, passed, { 'x-api-key': limited }),
      revoke(),
    ];

    await rage(
      long
        ? {
            ...{ kills: 60, freezes: 10, terminations: 5, crashes: 2 },
            freezeMs: () => 6_000 + 3_000 * random(),
            betweenMs: () => 4_000 + 4_000 * random(),
          }
        : {
            ...{ kills: 2, freezes: 1, terminations: 1, crashes: 1 },
            freezeMs: () => 7_000,
            betweenMs: () => 8_000 + 4_000 * random(),
          },
      { processes, server, random },
    );
    // The last ones are taken over, and the rhythm has a time after that.
    await pause(long ? 70_000 : 20_000);
    isOver = true;
    await Promise.all(working);
    await processes.allReady();

    for (const url of processes.urls()) {
      const key = await ownKey();
      await pause(KEY_KNOWN_MS);
      const { body } = await until('GET', `${MONITORS}?include_paused=true`, {
        key,
        url,
        done: [200],
      });
      const listed = new Map(
        (body.monitors as Array<{ id: string; name: string; last_checked_at: string | null }>).map(
          (one) => [one.id, one],
        ),
      );
      for (const { id, name, removed, pingedMs } of book.values()) {
        const found = listed.get(id);
        if (removed) expect(found, `removed ${id}`).toBeUndefined();
        else expect(found, `${id} ${name}`).toMatchObject({ name });
        if (!removed && pingedMs > 0) {
          expect(Date.parse(found?.last_checked_at ?? ''), `ping of ${id}`).toBeGreaterThanOrEqual(
            pingedMs,
          );
        }
      }
      expect(listed.size).toBe([...book.values()].filter(({ removed }) => !removed).length);
    }

    // No window of a minute holds more than the limit, however the processes shared it.
    const most = Math.max(
      ...passed.map(
        ({ sentMs }) =>
          passed.filter((one) => one.sentMs >= sentMs && one.gotMs <= sentMs + 60_000).length,
      ),
    );
    expect(most).toBeLessThanOrEqual(PER_MINUTE);
    expect(passed.length).toBeGreaterThan(PER_MINUTE / 2);

    const rows = await query(
      server.url,
      `select monitor, (extract(epoch from slot) * 1000)::float8 as slot_ms from "${schema}".check_result
     where monitor = any($1) order by monitor, slot`,
      [watched],
    );
    const slots = new Map(watched.map((id) => [id, [] as number[]]));
    for (const { monitor, slot_ms } of rows) slots.get(String(monitor))?.push(Number(slot_ms));
    for (const [id, times] of slots) {
      // Scheduled checks; first and requested ones have other times.
      const [phaseMs] = times.slice(-1).map((ms) => ms % INTERVAL_MS);
      const onGrid = times.filter(
        (ms) => ms % INTERVAL_MS === phaseMs && ms > watchedFromMs + 1.5 * INTERVAL_MS,
      );
      expect(new Set(onGrid).size).toBe(onGrid.length);
      const gaps = onGrid.slice(1).map((ms, at) => ms - (onGrid[at] ?? 0));
      expect(
        gaps.filter((gap) => gap !== INTERVAL_MS),
        `slots of ${id}`,
      ).toEqual([]);
    }
    expect(faults).toEqual([]);
    process.stdout.write(
      `chaos: ${book.size} monitors, ${passed.length} passed the limit (most in a minute ${most}), ${rows.length} results, nothing lost (seed ${seed()})\n`,
    );
  },
  long ? 1_800_000 : 300_000,
);
