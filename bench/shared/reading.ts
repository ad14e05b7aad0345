import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cores } from './cores.ts';
import { type LoadOptions, startLoad } from './load.ts';
import { median } from './passes.ts';
import { busyNs, cpuNs, residentMiB } from './proc.ts';
import { figure } from './table.ts';

/** Figures of one window of load. */
export interface Reading {
  perSecond: number;
  /** CPU time of the target for each answer, microseconds. */
  cpuUs: number;
  p50Ms: number;
  /** Median time to the first byte of the body. */
  firstByteP50Ms: number;
  /** Cores that the target kept busy; near 1 when it was the limit. */
  targetCores: number;
  /** Cores that others kept busy, on the cores in use. */
  foreignCores: number;
  /** Memory of the target afterwards. */
  residentMiB: number;
}

/** A window of load: so long to warm up, so long to measure. */
export interface Window extends LoadOptions {
  warmUpMs: number;
  windowMs: number;
  /** The window is made longer to have so many, within a limit; at least one for each connection when not given. */
  leastAnswers?: number;
  /** Before the memory is read; no garbage collection is forced. */
  settleMs?: number;
}

/** Fewer answers than this are worth no figure. */
const LEAST_ANSWERS = 20;
const LONGEST_WINDOW_MS = 15_000;
const STEP_MS = 50;

/** Loads the target at `window.port` and reads what it costs. `helpers` are the processes that load and answer it. */
export async function read(
  window: Window,
  processes: { target: number; helpers: readonly number[]; cores: Cores },
): Promise<Reading> {
  const { target, helpers, cores } = processes;
  const own = [...new Set([target, ...helpers])];
  const { target: targetCore, load: loadCore } = cores;
  const used =
    targetCore === undefined || loadCore === undefined
      ? [...cpus().keys()]
      : [targetCore, loadCore];
  const look = () => ({
    atNs: performance.now() * 1e6,
    targetNs: cpuNs(target),
    ownNs: own.reduce((total, pid) => total + cpuNs(pid), 0),
    busyNs: busyNs(used),
  });

  const load = await startLoad(window);
  await pause(window.warmUpMs);
  load.take();
  const before = look();
  await pause(window.windowMs);
  // If other programs use the cores, there may be no response at all by then.
  const enough = window.leastAnswers ?? Math.max(LEAST_ANSWERS, window.connections);
  const latestMs = before.atNs / 1e6 + LONGEST_WINDOW_MS;
  while (load.answered() < enough && performance.now() < latestMs) await pause(STEP_MS);
  const after = look();
  const { answered, latenciesMs, firstBytesMs } = load.take();
  await load.close();
  const wallNs = after.atNs - before.atNs;
  const targetNs = after.targetNs - before.targetNs;
  const foreignNs = after.busyNs - before.busyNs - (after.ownNs - before.ownNs);
  if (answered === 0) {
    throw new Error(
      `No answer came in ${Math.round(wallNs / 1e9)} s, while the target used ${figure(targetNs / wallNs)} cores and others ${figure(foreignNs / wallNs)}.`,
    );
  }
  await pause(window.settleMs ?? 0);

  return {
    perSecond: answered / (wallNs / 1e9),
    cpuUs: targetNs / answered / 1e3,
    p50Ms: median(latenciesMs),
    firstByteP50Ms: median(firstBytesMs),
    targetCores: targetNs / wallNs,
    foreignCores: Math.max(0, foreignNs / wallNs),
    residentMiB: residentMiB(target),
  };
}

/** Formats a reading as one line. */
export function inWords(reading: Reading): string {
  const { perSecond, cpuUs, p50Ms, firstByteP50Ms, targetCores, foreignCores } = reading;
  return [
    `${figure(perSecond)}/s`,
    `CPU ${figure(cpuUs)} µs`,
    `p50 ${figure(p50Ms)} ms`,
    `first byte ${figure(firstByteP50Ms)} ms`,
    `${figure(reading.residentMiB)} MiB`,
    `${figure(targetCores)} cores, others ${figure(foreignCores)}`,
  ].join(', ');
}
