import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Upstream } from '../monitoring/hosts.ts';
import { upstreamAt } from '../monitoring/server.ts';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';
import { CERTIFICATE, DIST } from './fleet.ts';

/** A target process that records the time of each check. */
export interface Sink {
  pid: number;
  asks: ReturnType<typeof upstreamAt>;
  upstream: Upstream;
  close(): Promise<void>;
}

const STEP_MS = 200;
const SEEN_LIMIT_MS = 120_000;

export async function openSink(): Promise<Sink> {
  const started = await startProcess({
    name: 'What is monitored',
    args: [join(DIST, 'bench/monitoring-upstream.js'), CERTIFICATE],
    ready: /listening on (\d+)\./,
    // Several processes check, and share the machine as it comes.
    core: undefined,
  });
  const asks = upstreamAt(started.port);
  return { pid: started.pid, asks, upstream: await asks.addresses(), close: () => started.stop() };
}

/** Resolves when every monitor has been checked. */
export async function untilAllSeen(
  { asks }: Sink,
  members: readonly TargetProcess[],
  count: number,
): Promise<void> {
  const endMs = performance.now() + SEEN_LIMIT_MS;
  for (;;) {
    const { monitors } = await asks.seen();
    if (monitors >= count) return;
    for (const member of members) member.checkAlive();
    if (performance.now() > endMs) {
      throw new Error(`Only ${monitors} of ${count} monitors were checked in time.`);
    }
    await pause(STEP_MS);
  }
}
