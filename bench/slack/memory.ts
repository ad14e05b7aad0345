import { setTimeout as pause } from 'node:timers/promises';
import type { BenchContext } from '../shared/area.ts';
import { type Finding, findingOfOne } from '../shared/finding.ts';
import { IN_FLIGHT, takeOff } from '../shared/flight.ts';
import { residentMiB } from '../shared/proc.ts';
import { startSlackBed } from './bed.ts';

const WINDOW_MS = { full: 10_000, quick: 3_000 };
const SETTLE_MS = { full: 5_000, quick: 2_000 };
const STEP_MS = 200;

/** The memory of the program, in which no garbage collection is forced. */
export async function measureMemory(context: BenchContext): Promise<Finding[]> {
  const size = context.quick ? 'quick' : 'full';
  const bed = await startSlackBed(context);
  await pause(SETTLE_MS[size]);
  const idleMiB = residentMiB(bed.pid);
  const flight = await takeOff(bed);
  const mostMiB = await mostWithin(bed.pid, WINDOW_MS[size]);
  flight.check();
  await flight.land();
  await pause(SETTLE_MS[size]);
  const afterMiB = residentMiB(bed.pid);
  await bed.stop();
  return [
    findingOfOne({ name: 'memory-idle', title: 'memory, idle', unit: 'MiB' }, idleMiB),
    findingOfOne(
      { name: 'memory-busy', title: `memory, ${IN_FLIGHT} answers in flight, most`, unit: 'MiB' },
      mostMiB,
    ),
    findingOfOne({ name: 'memory-after', title: 'memory, after them', unit: 'MiB' }, afterMiB),
  ];
}

async function mostWithin(pid: number, windowMs: number): Promise<number> {
  const endMs = performance.now() + windowMs;
  let most = residentMiB(pid);
  while (performance.now() < endMs) {
    await pause(STEP_MS);
    most = Math.max(most, residentMiB(pid));
  }
  return most;
}
