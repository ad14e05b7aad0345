const MAX_NAMED = 5;

/** Limits of the work: each figure of the answer is compared with all numbers of the sources. */
const MAX_READ = 20_000;
const MAX_SOURCE = 60_000;
const MAX_FIGURES = 50;
const MAX_NUMBERS = 2_000;
const MAX_MOMENTS = 80;

/** Units of time in seconds. */
const UNITS: Array<[RegExp, number]> = [
  [/^(ms|milli\w*|milisegundos?)$/i, 0.001],
  [/^(s|secs?|seconds?|sekunden?|segundos?)$/i, 1],
  [/^(min|mins|minutes?|minuten?|minutos?)$/i, 60],
  [/^(h|hrs?|hours?|stunden?|horas?)$/i, 3_600],
  [/^(d|days?|tagen?|tage|tag|d[ií]as?)$/i, 86_400],
  [/^(weeks?|wochen?|semanas?)$/i, 7 * 86_400],
];

const NUMBER = String.raw`\d{1,3}(?:,\d{3})+(?:\.\d{1,4})?|\d{1,9}(?:[.,]\d{1,4})?`;
const PERCENT = new RegExp(String.raw`(?<![\w.,])(${NUMBER})\s?%`, 'g');
const DURATION = new RegExp(
  String.raw`(?<![\w.,:])(?:(?:${NUMBER})\s?\p{L}{1,13}(?:,| and| und| y)?\s?){1,3}`,
  'gu',
);
const PART = new RegExp(String.raw`(${NUMBER})\s?(\p{L}{1,13})`, 'gu');
const CLOCK = /(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?(?![\d:])/g;
const ID = /\bmon_[0-9a-f]{6,32}\b/g;
const TIMESTAMP = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z| UTC)?/g;
const ANY_NUMBER = /(?<![\w.])\d{1,12}(?:\.\d{1,9})?(?![\w.]*\w)/g;

/** Figures of the sources. */
interface SourceFigures {
  text: string;
  numbers: number[];
  /** Seconds since 1970, and the distances between any two of them. */
  moments: number[];
  spans: number[];
}

/**
 * Figures of an answer that aren't in its sources: percentages, durations, times of day and ids of monitors, as the answer writes
 * them. A figure may be rounded, converted to another unit, or the difference of two times or percentages. Plain counts aren't
 * checked. Pure.
 */
export function unfoundedFigures(answer: string, sources: readonly string[]): string[] {
  const sourceFigures = figuresOf(sources.join('\n'));
  const prose = answer.slice(0, MAX_READ).replace(/```[\s\S]*?(?:```|$)|`[^`\n]*`/g, ' ');
  const found = [
    ...figures(prose, PERCENT).filter(([, digits]) => !isPercentOf(digits, sourceFigures)),
    ...durations(prose).filter(
      ({ seconds, least }) => !isDurationOf(seconds, least, sourceFigures),
    ),
    ...figures(prose, CLOCK).filter(([, hour, minute]) => !isTimeOf(hour, minute, sourceFigures)),
    ...figures(prose, ID).filter(([id]) => !sourceFigures.text.includes(id)),
  ];
  const written = found.map((one) => ('written' in one ? one.written : one[0]).trim());
  return [...new Set(written)].slice(0, MAX_NAMED);
}

type Figure = [written: string, first: string, second: string];

const figures = (text: string, pattern: RegExp): Figure[] =>
  [...text.matchAll(pattern)]
    .slice(0, MAX_FIGURES)
    .map(([written, first = '', second = '']) => [written, first, second]);

/** A duration as it is written; `least` is the value of its smallest digit in seconds. */
interface WrittenDuration {
  written: string;
  seconds: number;
  least: number;
}

/** Durations; descending units in a row are one. */
function durations(text: string): WrittenDuration[] {
  return [...text.matchAll(DURATION)].slice(0, MAX_FIGURES).flatMap(([all]) => {
    const lengths: Array<WrittenDuration & { from: number }> = [];
    for (const { 0: piece, 1: digits = '', 2: word = '', index } of all.matchAll(PART)) {
      const unit = UNITS.find(([name]) => name.test(word))?.[1];
      if (unit === undefined) continue;
      const seconds = numberOf(digits) * unit;
      const least = unit * stepOf(digits);
      const before = lengths.at(-1);
      if (before && unit < before.least) {
        const written = all.slice(before.from, index + piece.length);
        lengths.splice(-1, 1, {
          written,
          least,
          from: before.from,
          seconds: before.seconds + seconds,
        });
      } else lengths.push({ written: piece, seconds, least, from: index });
    }
    return lengths;
  });
}

function figuresOf(text: string): SourceFigures {
  const read = text.slice(0, MAX_SOURCE);
  const times = new Set([...read.matchAll(TIMESTAMP)].map(([time]) => time));
  const moments = [...times]
    .slice(0, MAX_MOMENTS)
    .map((time) => Date.parse(`${time.replace(/Z| UTC/, '').replace(' ', 'T')}Z`) / 1000);
  const numbers = [...read.replace(TIMESTAMP, ' ').matchAll(ANY_NUMBER)].map(([digits]) =>
    Number(digits),
  );
  return {
    text: read,
    numbers: [...new Set(numbers)].slice(0, MAX_NUMBERS),
    moments,
    spans: moments.flatMap((one, at) =>
      moments.slice(at + 1).map((other) => Math.abs(one - other)),
    ),
  };
}

/** `1,234.5` and `99,9` as a number. */
function numberOf(digits: string): number {
  const plain = /^\d{1,3}(,\d{3})+(\.|$)/.test(digits)
    ? digits.replaceAll(',', '')
    : digits.replace(',', '.');
  return Number(plain);
}

/** Value of the last digit. A comma before three digits groups thousands. */
const stepOf = (digits: string) =>
  10 ** -(/(?:\.(\d{1,4})|,(\d{1,2}|\d{4}))$/.exec(digits)?.slice(1).join('').length ?? 0);

function isPercentOf(digits: string, { numbers }: SourceFigures): boolean {
  // In 99,954 % the comma is a decimal one, as in German and Spanish.
  const percent = digits.replace(/^(\d{1,3}),(\d{3})$/, '$1.$2');
  const value = numberOf(percent);
  const isSame = (number: number) => Math.abs(number - value) <= stepOf(percent);
  const percents = numbers.filter((number) => number >= 0 && number <= 100);
  return (
    numbers.some((number) => isSame(number) || isSame(100 * number) || isSame(100 - number)) ||
    percents
      .slice(0, MAX_FIGURES)
      .some((one, at) => percents.slice(at + 1).some((other) => isSame(Math.abs(one - other))))
  );
}

/** People round: a twentieth or half of the last unit is no difference. */
function isDurationOf(seconds: number, least: number, { numbers, spans }: SourceFigures): boolean {
  const isSame = (other: number) =>
    Math.abs(other - seconds) <= Math.max(least * 0.55, seconds / 20);
  // Sources count in seconds, milliseconds, or the unit of the answer.
  const units = [1, 0.001, least];
  return (
    numbers.some((number) => units.some((unit) => isSame(number * unit))) || spans.some(isSame)
  );
}

/** In any time zone with whole hours. */
function isTimeOf(hour: string, minute: string, { moments, text }: SourceFigures): boolean {
  if (text.includes(`${hour}:${minute}`)) return true;
  return moments.some((moment) => {
    const minutes = Math.floor(moment / 60) % 60;
    return Math.abs(minutes - Number(minute)) <= 1;
  });
}
