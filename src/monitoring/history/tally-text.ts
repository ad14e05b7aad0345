import type { Span, Tally } from './uptime-accounting.ts';

const COLUMNS = 8;
const SPAN_COLUMNS = 2;

/**
 * A tally as text, `489123,60,1,3540000,60000,11.5,2000.1,80`: start in lengths since 1970, checks, failures, up, down, and of the
 * response times least, sum and most. Where it was not one thing all the while, its spans follow: begin in the tally, and twice the
 * length, plus 1 for down. One string, because a year of a monitor as objects takes five times the memory and fifty times the
 * checking.
 */
export function tallyToText(tally: Tally, lengthMs: number): string {
  const { startMs, checks, failures, upMs, downMs, minMs, sumMs, maxMs } = tally;
  const numbers = [startMs / lengthMs, checks, failures, upMs, downMs];
  numbers.push(tenths(minMs), tenths(sumMs), tenths(maxMs));
  for (const { fromMs, toMs, as } of isOneThing(tally, lengthMs) ? [] : (tally.spans ?? [])) {
    numbers.push(fromMs - startMs, 2 * (toMs - fromMs) + (as === 'down' ? 1 : 0));
  }
  return numbers.join(',');
}

/** Undefined for what is no such text. */
export function tallyFromText(text: string, lengthMs: number): Tally | undefined {
  const numbers = text.split(',').map(Number);
  const [start = 0, checks = 0, failures = 0, upMs = 0, downMs = 0] = numbers;
  const [minMs = 0, sumMs = 0, maxMs = 0, ...rest] = numbers.slice(COLUMNS - 3);
  const isWhole = numbers.length >= COLUMNS && rest.length % SPAN_COLUMNS === 0;
  if (!isWhole || numbers.some(Number.isNaN)) return undefined;
  const startMs = start * lengthMs;
  const spans = spansOf({ startMs, upMs, downMs }, rest);
  return { startMs, spans, checks, failures, upMs, downMs, minMs, sumMs, maxMs };
}

const isOneThing = ({ upMs, downMs }: Tally, lengthMs: number) =>
  upMs + downMs === 0 || upMs === lengthMs || downMs === lengthMs;

function spansOf(
  { startMs, upMs, downMs }: Pick<Tally, 'startMs' | 'upMs' | 'downMs'>,
  numbers: readonly number[],
): Span[] | undefined {
  if (upMs + downMs === 0) return [];
  // Of one thing all the while, any part is in proportion.
  if (numbers.length === 0) return undefined;
  return Array.from({ length: numbers.length / SPAN_COLUMNS }, (_, at) => {
    const [fromMs = 0, coded = 0] = numbers.slice(at * SPAN_COLUMNS);
    const isDown = coded % 2 === 1;
    const spanMs = (coded - (isDown ? 1 : 0)) / 2;
    return {
      fromMs: startMs + fromMs,
      toMs: startMs + fromMs + spanMs,
      as: isDown ? ('down' as const) : ('up' as const),
    };
  });
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10;
