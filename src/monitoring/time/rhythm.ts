import { createHash } from 'node:crypto';

/** After a start, and after a sleep, all that is overdue is checked within this time, or within its interval. */
const CATCH_UP_MS = 30_000;

/** Where in its interval a job's rhythm lies: even over the ids, and always the same for one id. */
export function phaseOf(id: string, intervalMs: number): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) % intervalMs;
}

/** The first time after `afterMs` that lies at `phaseMs` in an interval. */
export function nextOnGrid(afterMs: number, intervalMs: number, phaseMs: number): number {
  return (Math.floor((afterMs - phaseMs) / intervalMs) + 1) * intervalMs + phaseMs;
}

/** A check may begin a little before its time: the clock that it waits by and the wall clock go apart within an interval. */
const EARLY_MS = 1_000;

/** The time of the grid that a check is for which begins at a moment. */
export function timeOfRhythm(atMs: number, intervalMs: number, phaseMs: number): number {
  return lastOnGrid(atMs + Math.min(EARLY_MS, intervalMs / 10), intervalMs, phaseMs);
}

/** The time of the grid at or before a moment. */
export function lastOnGrid(atMs: number, intervalMs: number, phaseMs: number): number {
  return Math.floor((atMs - phaseMs) / intervalMs) * intervalMs + phaseMs;
}

/** How long the job at `index` of `count` overdue ones waits, so that they do not come all at once. */
export function catchUpAfterMs(index: number, count: number, intervalMs: number): number {
  return (index / count) * Math.min(intervalMs, CATCH_UP_MS);
}
