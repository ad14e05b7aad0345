/** Figures of an answer in words of three languages, with the units and the rounding that people use. */

const MS = 1;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Longest units first. */
const UNITS: ReadonlyArray<readonly [ms: number, words: string]> = [
  [7 * DAY_MS, 'weeks?|wochen?|semanas?'],
  [DAY_MS, 'days?|d|tage?n?|días?|dias?'],
  [HOUR_MS, 'hours?|hrs?|h|stunden?|std\\.?|horas?'],
  [MINUTE_MS, 'minutes?|mins?|min\\.|m|minuten?|minutos?'],
  [SECOND_MS, 'seconds?|secs?|s|sekunden?|sek\\.?|segundos?|seg\\.?'],
  [MS, 'milliseconds?|msecs?|ms|millisekunden?|milisegundos?'],
];
const UNIT = UNITS.map(([, words]) => words).join('|');

const NUMBER_WORDS: ReadonlyArray<readonly string[]> = [
  ['zero', 'null', 'cero'],
  ['one', 'eine?[nrms]?', 'un[oa]?'],
  ['two', 'zwei', 'dos'],
  ['three', 'drei', 'tres'],
  ['four', 'vier', 'cuatro'],
  ['five', 'fünf', 'cinco'],
  ['six', 'sechs', 'seis'],
  ['seven', 'sieben', 'siete'],
  ['eight', 'acht', 'ocho'],
  ['nine', 'neun', 'nueve'],
  ['ten', 'zehn', 'diez'],
  // Spanish for it is an English word, too.
  ['eleven', 'elf'],
  ['twelve', 'zwölf', 'doce'],
];

/** Digits, perhaps in groups, perhaps with decimals: which of the two a point or comma is, languages differ. */
const NUMBER = "\\d+(?:[.,'’\\u00a0\\u202f]\\d+)*";

/** A text without marks of Markdown, as a reader sees it. Pure. */
export const plainOf = (markdown: string): string =>
  markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(
      /\\([^\w\s])|\*\*|__|`+|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)/g,
      (_, escaped: string | undefined) => escaped ?? '',
    );

/** True if a text states a percentage, rounded or truncated precisely enough to tell it from its neighbours. */
export function saysPercent(text: string, percent: number): boolean {
  const found = plainOf(text).matchAll(
    new RegExp(`(${NUMBER})\\s*(?:%|percent|per cent|prozent|por ciento)`, 'giu'),
  );
  return [...found].some(([, said = '']) =>
    readings(said).some((reading) => isPercent(reading, percent)),
  );
}

/** The service has hours and minutes in place of moments. */
const PERCENT_SLACK = 0.01;
/** A figure further away says something else, however few digits it has. */
const PERCENT_ROUNDED = 0.1;

function isPercent({ value, decimals }: Reading, percent: number): boolean {
  // A monitor that was down briefly wasn't up 100 % of the time.
  if (value === 100) return percent > 99.9995;
  if (Math.abs(value - percent) > PERCENT_ROUNDED) return false;
  return [percent - PERCENT_SLACK, percent, percent + PERCENT_SLACK].some((near) =>
    isRounded(value, near, 10 ** -decimals),
  );
}

/** True if a value is `exact`, rounded or truncated to a step. */
const isRounded = (value: number, exact: number, step: number) =>
  Math.abs(value - Math.round(exact / step) * step) < step / 1_000 ||
  Math.abs(value - Math.floor(exact / step) * step) < step / 1_000;

/** True if a text states a duration; `share` is the tolerance for a rounded one. */
export function saysDuration(text: string, ms: number, { share = 0.05 } = {}): boolean {
  const allowedMs = Math.max(share * ms, Math.min(30 * SECOND_MS, ms / 3));
  return durationsIn(text).some(({ saidMs, stepMs }) => {
    const awayMs = Math.abs(saidMs - ms);
    return awayMs <= stepMs && awayMs <= allowedMs;
  });
}

/** Every duration in a text, with its precision. */
function durationsIn(text: string): Array<{ saidMs: number; stepMs: number }> {
  const parts = [
    ...inDigits(text).matchAll(
      new RegExp(`(?<![\\d.,:_]|\\p{L}{2})(${NUMBER})[\\s-]*(${UNIT})(?!\\p{L})`, 'giu'),
    ),
  ].map(({ 0: { length }, 1: said = '', 2: word = '', index }) => ({
    said,
    unitMs: unitOf(word),
    from: index,
    to: index + length,
  }));
  const found: Array<Array<(typeof parts)[number]>> = [];
  for (const part of parts) {
    const before = found.at(-1)?.at(-1);
    const isNext =
      before !== undefined &&
      before.unitMs > part.unitMs &&
      /^[\s,.]*(?:and|und|y|e)?\s*$/iu.test(inDigits(text).slice(before.to, part.from));
    if (isNext) found.at(-1)?.push(part);
    else found.push([part]);
  }
  return found.flatMap((whole) => combined(whole));
}

function combined(parts: ReadonlyArray<{ said: string; unitMs: number }>) {
  let sums = [{ saidMs: 0, stepMs: 0 }];
  for (const { said, unitMs } of parts) {
    sums = sums.flatMap(({ saidMs }) =>
      readings(said).map(({ value, decimals }) => ({
        saidMs: saidMs + value * unitMs,
        stepMs: unitMs * 10 ** -decimals,
      })),
    );
  }
  return sums;
}

const unitOf = (word: string) =>
  UNITS.find(([, words]) => new RegExp(`^(?:${words})$`, 'iu').test(word))?.[0] ?? Number.NaN;

/** True if a text states a point in time in UTC, with its day unless that is today. */
export function saysMoment(text: string, atMs: number, nowMs: number): boolean {
  const isToday = dayOf(atMs) === dayOf(nowMs);
  return saysClock(text, atMs) && (isToday || saysDay(text, atMs, nowMs));
}

const dayOf = (ms: number) => Math.floor(ms / DAY_MS);

function saysClock(text: string, atMs: number): boolean {
  const found = plainOf(text).matchAll(
    /(?<![\d:.])(\d{1,2})(?::(\d{2})(?::(\d{2}))?|\.(\d{2})(?=\s*uhr))(?!\d|:)(?:\.\d+)?(?:\s*(am|pm|a\.m\.|p\.m\.)(?!\w))?/giu,
  );
  return [...found].some(([, hour, colon, second, dot, half]) => {
    const isPm = half?.toLowerCase().startsWith('p');
    const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (isPm ? 12 : 0);
    const saidMs = hours * HOUR_MS + Number(colon ?? dot) * MINUTE_MS;
    const exactMs = atMs % DAY_MS;
    if (second !== undefined)
      return Math.abs(saidMs + Number(second) * SECOND_MS - exactMs) <= 1_000;
    return isRounded(saidMs, exactMs, MINUTE_MS);
  });
}

const MONTHS = [
  'jan(?:uary|uar)?|ene(?:ro)?',
  'feb(?:ruary|ruar|rero)?',
  'mar(?:ch|zo)?|märz',
  'apr(?:il)?|abr(?:il)?',
  'may|mai|mayo',
  'june?|juni|junio',
  'july?|juli|julio',
  'aug(?:ust)?|ago(?:sto)?',
  'sept?(?:ember|iembre)?',
  'oct(?:ober|ubre)?|okt(?:ober)?',
  'nov(?:ember|iembre)?',
  'dec(?:ember)?|dez(?:ember)?|dic(?:iembre)?',
];
const WEEKDAYS = [
  'sun(?:day)?|sonntag|domingo',
  'mon(?:day)?|montag|lunes',
  'tue(?:s|sday)?|dienstag|martes',
  'wed(?:nesday)?|mittwoch|miércoles',
  'thu(?:r|rs|rsday)?|donnerstag|jueves',
  'fri(?:day)?|freitag|viernes',
  'sat(?:urday)?|samstag|sonnabend|sábado',
];

/** True if a text states the day of a point in time, in any common form. */
export function saysDay(text: string, atMs: number, nowMs: number): boolean {
  const date = new Date(atMs);
  const [day, month] = [date.getUTCDate(), date.getUTCMonth()];
  const two = (number: number) => String(number).padStart(2, '0');
  const name = `(?:${MONTHS[month]})`;
  const daysAgo = dayOf(nowMs) - dayOf(atMs);
  const forms = [
    `${date.getUTCFullYear()}-${two(month + 1)}-${two(day)}`,
    `0?${day}(?:st|nd|rd|th|\\.)?\\s*(?:of\\s+|de\\s+)?${name}(?!\\p{L})`,
    `${name}\\.?\\s+(?:the\\s+)?0?${day}(?:st|nd|rd|th)?(?!\\d)`,
    `0?${day}\\.\\s?0?${month + 1}\\.`,
    `0?${day}/0?${month + 1}(?!\\d)|0?${month + 1}/0?${day}(?!\\d)`,
    ...(daysAgo < 7 ? [`(?:${WEEKDAYS[date.getUTCDay()]})(?!\\p{L})`] : []),
    ...(daysAgo === 0 ? ['(?:today|heute|hoy)(?!\\p{L})'] : []),
    ...(daysAgo === 1 ? ['(?:yesterday|gestern|ayer)(?!\\p{L})'] : []),
  ];
  return new RegExp(`(?<![\\p{L}\\d])(?:${forms.join('|')})`, 'iu').test(plainOf(text));
}

/** True if a text states a number next to one of its words; `words` is a pattern. */
export function saysCount(text: string, count: number, words: string): boolean {
  const plain = inDigits(text);
  const noun = `(?<!\\p{L})(?:${words})(?!\\p{L})`;
  const of = '(?:\\s+(?:of|out of|von|de|aus)(?:\\s+(?:the|los|las|den))?\\s+\\d+)?';
  // Not a part of a time, a date, a decimal, or with a unit of its own.
  const number = `(?<![\\w.,:/-])(\\d+)(?![\\d%]|[.,:/-]\\d|\\s*(?:%|(?:${UNIT})(?!\\p{L})))`;
  const forms = [
    `${number}${of}[^\\d\\n.;:|]{0,40}?${noun}`,
    `${noun}[^\\d\\n\\p{L}.;]{1,6}${number}`,
    `${noun}\\s+(?:is|are|was|were|sind|ist|waren|es|son|fueron|hay)\\s+(?:\\p{L}+\\s+){0,2}${number}`,
  ];
  const said = forms.flatMap((form) =>
    [...plain.matchAll(new RegExp(form, 'giu'))].map(([, digits]) => Number(digits)),
  );
  if (said.includes(count)) return true;
  const none = `(?<!\\p{L})(?:no|none|not any|keine?[nr]?|ning[uú]na?|ningún)\\s(?:\\p{L}+\\s){0,2}?${noun}`;
  return count === 0 && new RegExp(none, 'iu').test(plain);
}

interface Reading {
  value: number;
  decimals: number;
}

/** Possible values of a written number: a comma separates thousands or decimals. */
function readings(said: string): Reading[] {
  const groups = said.split(/[^\d]/);
  const [first = '', ...rest] = groups;
  if (rest.length === 0) return [{ value: Number(said), decimals: 0 }];
  const last = rest.at(-1) ?? '';
  const decimal = {
    value: Number(`${groups.slice(0, -1).join('')}.${last}`),
    decimals: last.length,
  };
  const isGrouped = first.length <= 3 && rest.every((group) => group.length === 3);
  const whole = { value: Number(groups.join('')), decimals: 0 };
  return isGrouped ? [whole, decimal] : [decimal];
}

/** A text with its small numbers in digits. */
function inDigits(text: string): string {
  let plain = plainOf(text);
  for (const [number, words] of NUMBER_WORDS.entries()) {
    // `a`, `eine` and `una` are articles, too, but before a unit they count.
    const [english, ...others] = words;
    const isArticle = number === 1;
    const articles = isArticle
      ? [`(?:${others.join('|')}|an?)(?=\\s+(?:${UNIT})(?!\\p{L}))`]
      : others;
    const one = `(?<![\\p{L}\\d])(?:${[english, ...articles].join('|')})(?![\\p{L}\\d])`;
    plain = plain.replace(new RegExp(one, 'giu'), String(number));
  }
  return plain;
}
