import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { addedPath } from '../../src/contracts/monitoring-additions.ts';
import { type Finding, findingOfOne } from '../shared/finding.ts';
import { cpuNs, residentMiB } from '../shared/proc.ts';
import { figure } from '../shared/table.ts';
import type { Bed } from './bed.ts';
import { startMeter } from './meter.ts';

const HOUR_MS = 3_600_000;

const PAST = {
  full: { count: 10_000, windowMs: 45_000 },
  quick: { count: 1_000, windowMs: 10_000 },
};
/** A start reads back two hours and what has passed of a third. */
const PAST_MS = 4 * HOUR_MS;
const SECONDS = 60;

const LOOK_EVERY_MS = 100;

/** The cost of a restart after hours: reading the results, beside the first checks of all monitors. */
export async function measureRestart(bed: Bed): Promise<Finding[]> {
  const { quick, cores, note } = bed.context;
  const { count, windowMs } = PAST[quick ? 'quick' : 'full'];
  const started = await bed.start({ kind: 'page', count, seconds: SECONDS, pastMs: PAST_MS });
  const { server, data } = started;
  const meter = startMeter({ ...bed, target: server.pid, cores });
  const [first] = data.gridded;
  const restored = untilRestored(server.port, first?.id ?? '', data.keys[0] ?? '').then(() =>
    cpuNs(server.pid),
  );
  const mostMiB = await mostResidentMiB(server.pid, windowMs);
  const cpuSeconds = (await restored) / 1e9;
  const { foreignCores } = meter();
  await bed.end(started);
  note(
    `restart: at this time of the hour a start reads back ${figure(resultsRead(count))} results.`,
  );
  return [
    findingOfOne(
      {
        name: 'restart-cpu',
        title: `CPU from a start until the results of ${count} monitors are read back`,
        ...{ unit: 's', goal: { atMost: 10 } },
      },
      cpuSeconds,
      foreignCores,
    ),
    findingOfOne(
      {
        name: 'restart-memory',
        title: `most memory in the ${windowMs / 1000} s after it`,
        ...{ unit: 'MiB', goal: { atMost: 120 } },
      },
      mostMiB,
      foreignCores,
    ),
  ];
}

/** Resolves when the service answers what is known of a monitor: it waits until all is read back. */
async function untilRestored(port: number, monitor: string, key: string): Promise<void> {
  const path = addedPath('results', { id: monitor });
  const answer = await request(`http://127.0.0.1:${port}${path}?limit=1`, {
    headers: { authorization: `Bearer ${key}` },
    headersTimeout: 120_000,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) {
    throw new Error(`${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
  }
}

async function mostResidentMiB(pid: number, windowMs: number): Promise<number> {
  const endMs = performance.now() + windowMs;
  let most = 0;
  while (performance.now() < endMs) {
    most = Math.max(most, residentMiB(pid));
    await pause(LOOK_EVERY_MS);
  }
  return most;
}

function resultsRead(count: number): number {
  const nowMs = Date.now();
  const fromMs = Math.floor((nowMs - 2 * HOUR_MS) / HOUR_MS) * HOUR_MS;
  return (count * (nowMs - fromMs)) / (SECONDS * 1000);
}
