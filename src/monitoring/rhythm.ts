import { createHash } from 'node:crypto';

/** Where in its interval a job's rhythm lies: even over the ids, and always the same for one id. */
export function phaseOf(id: string, intervalMs: number): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) % intervalMs;
}

/** The first time after `afterMs` that lies at `phaseMs` in an interval. */
export function nextOnGrid(afterMs: number, intervalMs: number, phaseMs: number): number {
  return (Math.floor((afterMs - phaseMs) / intervalMs) + 1) * intervalMs + phaseMs;
}
