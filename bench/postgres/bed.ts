import { pino } from 'pino';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { BenchContext } from '../shared/area.ts';
import type { PassFigures } from '../shared/finding.ts';
import { inTurn } from '../shared/passes.ts';
import { SCHEMA } from './fleet.ts';
import type { BenchServer } from './server.ts';

/** Shared set-up of all measures. */
export interface Bed {
  context: BenchContext;
  server: BenchServer;
  /** Opens the store of one process; it is closed with the bed. */
  open(url: string): Promise<PostgresStore>;
  close(): Promise<void>;
}

export function makeBed(context: BenchContext, server: BenchServer): Bed {
  const stores: PostgresStore[] = [];
  return {
    context,
    server,
    async open(url) {
      const log = pino({ level: 'silent' });
      const store = await openPostgresStore({ url, schema: SCHEMA, version: 'bench', log });
      stores.push(store);
      return store;
    },
    async close() {
      for (const store of stores.splice(0)) await store.close();
      await server.close();
    },
  };
}

/** Time and CPU of some work. */
export interface Took {
  wallMs: number;
  /** CPU time of this process. */
  ownMs: number;
  /** CPU time of the server; undefined on another machine. */
  serverMs: number | undefined;
}

/** Does the work of both in passes, each of them first in every other one, after one pass that does not count. */
export async function alternate(
  { server }: Bed,
  passes: number,
  work: Record<'askwatch' | 'reference', (pass: number) => Promise<unknown>>,
): Promise<Array<Record<'askwatch' | 'reference', Took>>> {
  const took: Array<Record<'askwatch' | 'reference', Took>> = [];
  for (let pass = 0; pass <= passes; pass += 1) {
    const both: Partial<Record<'askwatch' | 'reference', Took>> = {};
    for (const name of inTurn(pass, ['askwatch', 'reference'] as const)) {
      both[name] = await meter(server, () => work[name](pass));
    }
    if (pass > 0) took.push(both as Record<'askwatch' | 'reference', Took>);
  }
  return took;
}

async function meter(server: BenchServer, work: () => Promise<unknown>): Promise<Took> {
  const before = { ns: server.cpuNs(), own: process.cpuUsage(), ms: performance.now() };
  await work();
  const wallMs = performance.now() - before.ms;
  const { user, system } = process.cpuUsage(before.own);
  const serverNs = server.cpuNs();
  return {
    wallMs,
    ownMs: (user + system) / 1000,
    serverMs:
      serverNs === undefined || before.ns === undefined ? undefined : (serverNs - before.ns) / 1e6,
  };
}

/** Figures of each pass from what both took in it. */
export const figuresOf = (
  took: ReadonlyArray<Record<'askwatch' | 'reference', Took>>,
  figure: (took: Took) => number,
): PassFigures[] =>
  took.map(({ askwatch, reference }) => ({
    askwatch: figure(askwatch),
    reference: figure(reference),
  }));

/** All that is counted, one lane after another takes the next of it. */
export async function inLanes(
  count: number,
  lanes: number,
  work: (number: number) => Promise<unknown>,
): Promise<void> {
  let number = 0;
  async function lane() {
    while (number < count) {
      const own = number;
      number += 1;
      await work(own);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Runs `work` sequentially and returns each duration in milliseconds. */
export async function timesOf(
  count: number,
  work: (number: number) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  for (let number = 0; number < count; number += 1) {
    const startMs = performance.now();
    await work(number);
    times.push(performance.now() - startMs);
  }
  return times;
}
