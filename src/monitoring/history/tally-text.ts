import type { Tally, UpSpan } from './uptime-accounting.ts';

const COLUMNS = 8;
const SPAN_COLUMNS = 2;

/**
 * A tally as text, `489123,60,1,3540000,60000,11.5,2000.1,80`: start in lengths since 1970, checks, failures, up, down, and the
 * minimum, sum and maximum of the response times. If the monitor was up for a part of it only, spans follow: their start within the
 * tally, and twice their length, plus 1 for down. A year of a monitor as objects takes five times the memory.
 */
export function tallyToText(tally: Tally, lengthMs: number): string {
  const { startMs, checks, failures, upMs, downMs, minMs, sumMs, maxMs } = tally;
  const numbers = [startMs / lengthMs, checks, failures, upMs, downMs];
  numbers.push(tenths(minMs), tenths(sumMs), tenths(maxMs));
  for (const { fromMs, toMs, as } of isUniform(tally, lengthMs) ? [] : (tally.spans ?? [])) {
    numbers.push(fromMs - startMs, 2 * (toMs - fromMs) + (as === 'down' ? 1 : 0));
  }
  return numbers.join(',');
}

/** Undefined if it isn't such a text. */
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

const isUniform = ({ upMs, downMs }: Tally, lengthMs: number) =>
  upMs + downMs === 0 || upMs === lengthMs || downMs === lengthMs;

function spansOf(
  { startMs, upMs, downMs }: Pick<Tally, 'startMs' | 'upMs' | 'downMs'>,
  numbers: readonly number[],
): UpSpan[] | undefined {
  if (upMs + downMs === 0) return [];
  // A uniform tally: any part of it is in proportion.
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
