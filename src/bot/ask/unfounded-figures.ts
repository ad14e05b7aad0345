/** Figures named at most; more say no more. */
const MAX_NAMED = 5;

/** An answer, and what it was made from, are read no further: both are bounded, and each figure is held against all. */
const MAX_READ = 20_000;
const MAX_SOURCE = 60_000;
const MAX_FIGURES = 50;
const MAX_NUMBERS = 2_000;
const MAX_MOMENTS = 80;

/** Seconds of what people count time in. */
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

/** What an answer may tell figures from. */
interface Ground {
  text: string;
  numbers: number[];
  /** Seconds since 1970, and how many lie between any two of them. */
  moments: number[];
  spans: number[];
}

/**
 * Figures of an answer that stand in nothing it was made from: percentages, lengths of time, times of day, and ids of monitors, as
 * they are written there. What follows from the sources by rounding, by another unit, or as the time between two moments or the
 * difference of two percentages is none; plain counts are not looked at. Pure.
 */
export function unfoundedFigures(answer: string, sources: readonly string[]): string[] {
  const ground = groundOf(sources.join('\n'));
  const prose = answer.slice(0, MAX_READ).replace(/```[\s\S]*?(?:```|$)|`[^`\n]*`/g, ' ');
  const found = [
    ...figures(prose, PERCENT).filter(([, digits]) => !isPercentOf(digits, ground)),
    ...durations(prose).filter(({ seconds, least }) => !isDurationOf(seconds, least, ground)),
    ...figures(prose, CLOCK).filter(([, hour, minute]) => !isTimeOf(hour, minute, ground)),
    ...figures(prose, ID).filter(([id]) => !ground.text.includes(id)),
  ];
  const written = found.map((one) => ('written' in one ? one.written : one[0]).trim());
  return [...new Set(written)].slice(0, MAX_NAMED);
}

type Figure = [written: string, first: string, second: string];

const figures = (text: string, pattern: RegExp): Figure[] =>
  [...text.matchAll(pattern)]
    .slice(0, MAX_FIGURES)
    .map(([written, first = '', second = '']) => [written, first, second]);

/** A length of time as it is written, and how much the last of its units is worth. */
interface Length {
  written: string;
  seconds: number;
  least: number;
}

/** Lengths of time; units that follow one another from the larger to the smaller are one. */
function durations(text: string): Length[] {
  return [...text.matchAll(DURATION)].slice(0, MAX_FIGURES).flatMap(([all]) => {
    const lengths: Array<Length & { from: number }> = [];
    for (const { 0: piece, 1: digits = '', 2: word = '', index } of all.matchAll(PART)) {
      const unit = UNITS.find(([name]) => name.test(word))?.[1];
      if (unit === undefined) continue;
      const seconds = numberOf(digits) * unit;
      const least = unit * stepOf(digits);
      const before = lengths.at(-1);
      if (before && unit < before.least) {
        const written = all.slice(before.from, index + piece.length);
        lengths.splice(-1, 1, {
          ...{ written, least, from: before.from },
          seconds: before.seconds + seconds,
        });
      } else lengths.push({ written: piece, seconds, least, from: index });
    }
    return lengths;
  });
}

function groundOf(text: string): Ground {
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

/** How much the last digit is worth. A comma before three digits groups thousands. */
const stepOf = (digits: string) =>
  10 ** -(/(?:\.(\d{1,4})|,(\d{1,2}|\d{4}))$/.exec(digits)?.slice(1).join('').length ?? 0);

function isPercentOf(digits: string, { numbers }: Ground): boolean {
  // No uptime is 99,954 %: there the comma is that of German or Spanish.
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

/** What is a twentieth off, or half of its last unit, is the same as people say it. */
function isDurationOf(seconds: number, least: number, { numbers, spans }: Ground): boolean {
  const isSame = (other: number) =>
    Math.abs(other - seconds) <= Math.max(least * 0.55, seconds / 20);
  // As the source may count: seconds, milliseconds, or the unit of the answer.
  const units = [1, 0.001, least];
  return (
    numbers.some((number) => units.some((unit) => isSame(number * unit))) || spans.some(isSame)
  );
}

/** In whatever time zone of whole hours. */
function isTimeOf(hour: string, minute: string, { moments, text }: Ground): boolean {
  if (text.includes(`${hour}:${minute}`)) return true;
  return moments.some((moment) => {
    const minutes = Math.floor(moment / 60) % 60;
    return Math.abs(minutes - Number(minute)) <= 1;
  });
}
