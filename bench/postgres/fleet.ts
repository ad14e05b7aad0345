import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { openKeys } from '../../src/http/keys.ts';
import { openSharedHistory } from '../../src/monitoring/history/shared-history.ts';
import { openMonitors } from '../../src/monitoring/monitors/monitors.ts';
import { STATES } from '../../src/monitoring/monitors/state-store.ts';
import { applyResult } from '../../src/monitoring/state/state.ts';
import { lastOnGrid, phaseOf } from '../../src/monitoring/time/rhythm.ts';
import { keyOf } from '../../src/store/postgres/document-changes.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { query } from '../../test/helpers/postgres/server.ts';
import type { Gridded } from '../monitoring/arrivals.ts';
import { definitionsOf } from '../monitoring/definitions.ts';
import type { Upstream } from '../monitoring/hosts.ts';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';

// This runs from dist/bench/, beside the program that it measures.
export const DIST = fileURLToPath(new URL('..', import.meta.url));
const PROGRAM = join(DIST, 'main.js');
export const CERTIFICATE = fileURLToPath(
  new URL('../../test/fixtures/tls/bench.pem', import.meta.url),
);
const READY = /Services +http:\S+?:(\d+)\/v1 /;

export const SCHEMA = 'askwatch';

/** Rows in one statement. */
const BATCH_COUNT = 1_000;

/** Time limit for the first counted result. */
const COUNTED_LIMIT_MS = 10_000;

/** The stored form of one monitor. */
interface Template {
  version: number;
  body: { definition: { name: string; target: string } };
  stored: { state: { lastCheckedMs: number } };
  extra: string | null;
}

/**
 * Writes monitors that have been checked in time until now, and a key. One is made and checked by the program's own modules;
 * the others are its rows with other names, since one create after another would take an hour.
 */
export async function fillDatabase(
  url: string,
  options: { upstream: Upstream; count: number; seconds: number },
): Promise<{ monitors: Gridded[]; key: string }> {
  const { upstream, count, seconds } = options;
  const intervalMs = seconds * 1000;
  const definitions = definitionsOf('page', { upstream, count, seconds });
  const { key, template, made } = await makeOne(url, { definition: definitions[0], intervalMs });
  const monitors: Gridded[] = [made];
  for (let from = 1; from < count; from += BATCH_COUNT) {
    const nowMs = Date.now();
    const batch = definitions.slice(from, from + BATCH_COUNT).map((definition, at) => {
      const id = `mon_${randomBytes(8).toString('hex')}`;
      const phaseMs = phaseOf(id, intervalMs);
      monitors.push({ id, number: from + at, intervalMs, phaseMs });
      const { name, target } = definition;
      const { state } = template.stored;
      const lastCheckedMs = lastOnGrid(nowMs, intervalMs, phaseMs);
      return {
        id,
        body: { ...template.body, definition: { ...template.body.definition, name, target } },
        stored: { ...template.stored, state: { ...state, lastCheckedMs } },
      };
    });
    await query(
      url,
      `insert into ${SCHEMA}.document (collection, key, id, version, revision, body)
        select 'monitors', decode(key, 'hex'), id::json, $4, gen_random_uuid(), body::json
        from unnest($1::text[], $2::text[], $3::text[]) as sent (key, id, body)`,
      [
        batch.map(({ id }) => keyOf(id).toString('hex')),
        batch.map(({ id }) => JSON.stringify(id)),
        batch.map(({ body }) => JSON.stringify(body)),
        template.version,
      ],
    );
    await query(
      url,
      `insert into ${SCHEMA}.shared_value (name, id, revision, value, extra)
        select 'monitor-states', id, gen_random_uuid(), value::json, $3::json
        from unnest($1::text[], $2::text[]) as sent (id, value)`,
      [
        batch.map(({ id }) => id),
        batch.map(({ stored }) => JSON.stringify(stored)),
        template.extra,
      ],
    );
  }
  await query(url, `vacuum (analyze) ${SCHEMA}.document, ${SCHEMA}.shared_value`);
  await query(url, 'checkpoint');
  return { monitors, key };
}

/** Makes a monitor and gives it a result; gives what is stored of it then. */
async function makeOne(
  url: string,
  { definition, intervalMs }: { definition: unknown; intervalMs: number },
): Promise<{ key: string; template: Template; made: Gridded }> {
  const log = pino({ level: 'silent' });
  const store = await openPostgresStore({ url, schema: SCHEMA, version: 'bench', log });
  try {
    const { key } = await (await openKeys(store, 'monitoring')).create('bench');
    const wallMs = Date.now;
    const { series } = store;
    const handed = store.extras(STATES);
    const history = openSharedHistory({ store, series, handed, owns: () => true, wallMs, log });
    const monitors = await openMonitors({ store, history, wallMs, log });
    const { monitor } = await monitors.add(definition as Parameters<typeof monitors.add>[0]);
    const { id } = monitor;
    const phaseMs = phaseOf(id, intervalMs);
    const nowMs = Date.now();
    const slotMs = lastOnGrid(nowMs, intervalMs, phaseMs);
    const result = { ok: true, outcome: 'ok', responseTimeMs: 20 } as const;
    const context = { found: 'UP', everyMs: intervalMs, covered: false, slotMs } as const;
    await history.add(id, nowMs, result, context);
    for (const endMs = nowMs + COUNTED_LIMIT_MS; history.openHours(id) === null; await pause(20)) {
      if (Date.now() > endMs) throw new Error('The first result was not counted.');
    }
    const confirmation = { toDown: 1, toUp: 1 };
    const happening = (state: Parameters<typeof applyResult>[0]) =>
      applyResult(state, result, confirmation, nowMs);
    await monitors.settle(id, happening, { always: true })?.saved;
    const [document] = await query(
      url,
      `select version, body from ${SCHEMA}.document where collection = 'monitors' and body is not null`,
    );
    const [stored] = await query(
      url,
      `select value, extra::text as extra from ${SCHEMA}.shared_value where name = 'monitor-states'`,
    );
    await monitors.close();
    await history.close();
    const template = {
      version: document?.version,
      body: document?.body,
      stored: stored?.value,
      extra: stored?.extra ?? null,
    } as Template;
    return { key, template, made: { id, number: 0, intervalMs, phaseMs } };
  } finally {
    await store.close();
  }
}

let starts = 0;

/** Starts one more process of the monitoring service on a database. */
export async function startMember(
  url: string,
  options: {
    folder: string;
    core?: number;
    nodeArgs?: string[];
    startLimitMs?: number;
  },
): Promise<TargetProcess> {
  const { folder, core, nodeArgs = [], startLimitMs } = options;
  starts += 1;
  // A working folder without an .env file.
  const cwd = join(folder, `member-${starts}`);
  await mkdir(cwd);
  return await startProcess({
    name: `Process ${starts} of Askwatch`,
    args: [...nodeArgs, PROGRAM],
    ready: READY,
    core,
    cwd,
    startLimitMs,
    env: {
      ...{ ASKWATCH_ROLES: 'monitoring', MONITOR_ALLOW_PRIVATE: '127.0.0.0/8' },
      ...{ DATABASE_URL: url, DATABASE_SCHEMA: SCHEMA, DATA_DIR: cwd },
      ...{ PORT: '0', LOG_LEVEL: 'warn' },
    },
  });
}

/** The parts of the monitors that each living process has, by its process id. */
export async function holders(url: string): Promise<Map<number, number[]>> {
  const rows = await query(
    url,
    `select l.no, split_part(m.name, ':', 2)::int as pid from ${SCHEMA}.lease l
      join ${SCHEMA}.member m on m.id = l.holder
      where l.kind = 'checks' and m.until > clock_timestamp()`,
  );
  const parts = new Map<number, number[]>();
  for (const { no, pid } of rows) {
    parts.set(Number(pid), [...(parts.get(Number(pid)) ?? []), Number(no)]);
  }
  return parts;
}

/** Resolves when these processes have all parts between them, evenly. */
export async function untilSpread(
  url: string,
  members: readonly TargetProcess[],
  limitMs = 60_000,
): Promise<void> {
  const endMs = Date.now() + limitMs;
  const most = Math.ceil(256 / members.length);
  for (;;) {
    const parts = await holders(url);
    const counts = members.map(({ pid }) => parts.get(pid)?.length ?? 0);
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total === 256 && counts.every((count) => count <= most)) return;
    for (const member of members) member.checkAlive();
    if (Date.now() > endMs) {
      throw new Error(`The monitors were not spread in time: ${counts.join(', ')} parts.`);
    }
    await pause(200);
  }
}
