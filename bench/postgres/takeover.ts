import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { nowMs } from '../monitoring/arrivals.ts';
import { type Finding, findingsOfTimes } from '../shared/finding.ts';
import type { TargetProcess } from '../shared/target-process.ts';
import type { Bed } from './bed.ts';
import { fillDatabase, holders, startMember, untilSpread } from './fleet.ts';
import { openSink, untilAllSeen } from './sink.ts';

const PROCESSES = 3;
const SIZES = {
  full: { count: 1_000, seconds: 5, kills: 6 },
  quick: { count: 200, seconds: 5, kills: 2 },
};

/** Requests of a killed process arrive within this time. */
const SENT_BEFORE_MS = 100;

/** Others hold a process for alive for 5 s, and are to have taken over 3 s later. */
const GOAL_MS = 8_000;

/** Longer than any takeover, so that the checks that follow it are seen. */
const WATCHED_MS = 20_000;

/** Kills one process after another that watches over a third, and sees when its monitors are checked again. */
export async function measureTakeover(bed: Bed): Promise<Finding[]> {
  const { context, server } = bed;
  const { count, seconds, kills } = SIZES[context.quick ? 'quick' : 'full'];
  const { folder, progress } = context;
  const sink = await openSink();
  const living = new Set<TargetProcess>();
  try {
    const { upstream } = sink;
    const url = await server.database('takeover');
    const { monitors } = await fillDatabase(url, { upstream, count, seconds });
    const start = async () => void living.add(await startMember(url, { folder }));
    for (let at = 0; at < PROCESSES; at += 1) await start();
    const firstMs: number[] = [];
    const allMs: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      progress(`  kill ${kill + 1} of ${kills}`);
      await untilSpread(url, [...living]);
      await sink.asks.forget();
      await untilAllSeen(sink, [...living], count);
      const [killed] = living;
      if (!killed) throw new Error('No process lives.');
      const parts = new Set((await holders(url)).get(killed.pid));
      const own = monitors.filter(({ id }) => parts.has(partOf(id)));
      living.delete(killed);
      const killedMs = nowMs();
      process.kill(killed.pid, 'SIGKILL');
      await pause(WATCHED_MS);
      const times = await sink.asks.arrivals();
      const afterMs = own.map(({ number }) => {
        const next = times[number]?.find((ms) => ms > killedMs + SENT_BEFORE_MS);
        if (next === undefined) throw new Error('A monitor was not checked after the kill.');
        return next - killedMs;
      });
      firstMs.push(Math.min(...afterMs));
      allMs.push(...afterMs);
      await start();
    }
    return [
      ...findingsOfTimes({
        ...{ name: 'takeover-first', title: 'from kill -9 to the first check by another' },
        ...{ timesMs: [firstMs], shares: { p50: undefined, most: { atMost: GOAL_MS } } },
      }),
      ...findingsOfTimes({
        ...{ name: 'takeover', title: `until each monitor, of ${seconds} s, is checked again` },
        ...{ timesMs: [allMs], shares: { p50: undefined, p95: undefined, most: undefined } },
      }),
    ];
  } finally {
    await Promise.all([...living].map((each) => each.stop()));
    await sink.close();
  }
}

/** The part that a monitor belongs to. */
const partOf = (id: string) => createHash('sha256').update(id).digest()[0] ?? 0;
