import { cpus } from 'node:os';
import type { Cores } from '../shared/cores.ts';
import { busyNs, cpuNs } from '../shared/proc.ts';

/** Resources used between two readings. */
export interface Used {
  wallSeconds: number;
  /** CPU time of the target. */
  cpuSeconds: number;
  /** Cores that the target kept busy. */
  targetCores: number;
  /** Cores that others kept busy, on the cores in use. */
  foreignCores: number;
}

/** Starts to measure the target; the call that it gives ends it. `helpers` are the processes that load and answer it. */
export function startMeter(processes: {
  target: number;
  helpers: readonly number[];
  cores: Cores;
}): () => Used {
  const { target, helpers, cores } = processes;
  const own = [...new Set([target, ...helpers])];
  const used =
    cores.target === undefined || cores.load === undefined
      ? [...cpus().keys()]
      : [cores.target, cores.load];
  const look = () => ({
    atNs: performance.now() * 1e6,
    targetNs: cpuNs(target),
    ownNs: own.reduce((total, pid) => total + cpuNs(pid), 0),
    busyNs: busyNs(used),
  });
  const before = look();
  return () => {
    const after = look();
    const wallNs = after.atNs - before.atNs;
    const targetNs = after.targetNs - before.targetNs;
    const foreignNs = after.busyNs - before.busyNs - (after.ownNs - before.ownNs);
    return {
      wallSeconds: wallNs / 1e9,
      cpuSeconds: targetNs / 1e9,
      targetCores: targetNs / wallNs,
      foreignCores: Math.max(0, foreignNs / wallNs),
    };
  };
}
