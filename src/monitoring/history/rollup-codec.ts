import { z } from 'zod';
import type { Tally } from './uptime-accounting.ts';

/**
 * Tallies as text, `7:489123,60,1,3540000,60000,11.5,2000.1,80;…` without the `7:`: start in lengths since 1970, checks,
 * failures, up, down, and of the response times least, sum and most. One string, because a year of a monitor as objects
 * takes five times the memory and fifty times the checking.
 */
export const RollupText = z.string().regex(/^[\d.,;]*$/);

const COLUMNS = 8;

export function toText(tallies: readonly Tally[], lengthMs: number): string {
  return tallies
    .map((tally) =>
      [
        Math.round(tally.startMs / lengthMs),
        tally.checks,
        tally.failures,
        tally.upMs,
        tally.downMs,
        tenths(tally.minMs),
        tenths(tally.sumMs),
        tenths(tally.maxMs),
      ].join(','),
    )
    .join(';');
}

/** The tallies of a text. Throws when it is none; its checksum has been verified already. */
export function fromText(text: string, lengthMs: number): Tally[] {
  if (text === '') return [];
  return text.split(';').map((row) => {
    const numbers = row.split(',').map(Number);
    if (numbers.length !== COLUMNS || numbers.some(Number.isNaN)) {
      throw new Error(`'${row}' is no hour or day of results.`);
    }
    const [start = 0, checks = 0, failures = 0, upMs = 0, downMs = 0] = numbers;
    const [, , , , , minMs = 0, sumMs = 0, maxMs = 0] = numbers;
    return { startMs: start * lengthMs, checks, failures, upMs, downMs, minMs, sumMs, maxMs };
  });
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
