import { createHash } from 'node:crypto';

/** Overdue checks are spread over this time after a start or a sleep, or over their interval if that is shorter. */
const CATCH_UP_MS = 30_000;

/** Position of a job's rhythm within its interval: evenly spread over ids, and always the same for one id. */
export function phaseOf(id: string, intervalMs: number): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) % intervalMs;
}

/** The first time after `afterMs` that lies at `phaseMs` in an interval. */
export function nextOnGrid(afterMs: number, intervalMs: number, phaseMs: number): number {
  return (Math.floor((afterMs - phaseMs) / intervalMs) + 1) * intervalMs + phaseMs;
}

/** A check may begin a little early, because its clock and the wall clock drift apart within an interval. */
const EARLY_MS = 1_000;

/** Time of the rhythm for a check that begins at `atMs`. */
export function timeOfRhythm(atMs: number, intervalMs: number, phaseMs: number): number {
  return lastOnGrid(atMs + Math.min(EARLY_MS, intervalMs / 10), intervalMs, phaseMs);
}

/** The time of the grid at or before a moment. */
export function lastOnGrid(atMs: number, intervalMs: number, phaseMs: number): number {
  return Math.floor((atMs - phaseMs) / intervalMs) * intervalMs + phaseMs;
}

/** Delay of the job at `index` of `count` overdue ones, so that they don't all start at once. */
export function catchUpAfterMs(index: number, count: number, intervalMs: number): number {
  return (index / count) * Math.min(intervalMs, CATCH_UP_MS);
}
