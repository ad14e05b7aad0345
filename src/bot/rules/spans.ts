import { firstAtMs, wallMs } from '../../contracts/wall-time.ts';
import { MAX_SPAN_MS } from '../tools/time-span.ts';
import { listOf } from './languages/vocabulary.ts';
import { numberOf, type Term, type Word } from './words.ts';

/** A time in the past: Unix milliseconds. */
export interface Span {
  fromMs: number;
  toMs: number;
}

/** A span of a question; `isThan` if something else is compared with it: “slower than yesterday”. */
type FoundSpan = Span & { isThan: boolean };

export interface ZoneClock {
  nowMs: number;
  /** IANA name of the channel's time zone. */
  zone: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DAY_MINUTES = 1440;

const UNIT_MS: Record<string, number> = {
  second: 1000,
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  year: 365 * DAY_MS,
};
const UNIT = '(second|minute|hour|day|week|month|year)';

/** Hours of a part of a day; a night is the one that begins on it. */
const PARTS: Record<string, [from: number, to: number]> = {
  morning: [5, 12],
  afternoon: [12, 18],
  evening: [18, 24],
  night: [18, 30],
};
const PART = '(morning|afternoon|evening|night)';
const ANY_PART = '(?: (?:morning|afternoon|evening|night))?';

/**
 * A question is first written as a line of its times: `last`, `week`, `n7` for a number, `t840` for a minute of a day, and `D20418`
 * for a day, as a number since 1970 of the channel's calendar. `_` is any other word; fillers are left out.
 */
const WRITTEN = listOf(
  'today yesterday dayBefore night morning afternoon evening weekend tomorrow next last this since at until between ago recently ever second minute hour day week month quarter year oclock than',
);

type FormMatch = ReadonlyArray<string | undefined>;

/** Ways to write a time, the most telling first. */
const FORMS: Array<[form: RegExp, read: (found: FormMatch, clock: ZoneClock) => Span | undefined]> =
  [
    [
      form(
        '(?:D(\\d+) )?(?:(?:between|since|at) )?(?:D(\\d+) )?(?:at )?t(\\d+) (?:until|at|_) (?:at )?(?:D(\\d+) )?t(\\d+)(?: D(\\d+))?',
      ),
      ([a, b, from, c, to, d], clock) => {
        const day = Number(a ?? b ?? c ?? d ?? today(clock));
        const last = Number(c ?? day) + (c === undefined && Number(to) <= Number(from) ? 1 : 0);
        return between(at(day, from), at(last, to), clock);
      },
    ],
    [
      form(`D(\\d+) ${PART} until (?:this )?(?:D(\\d+) )?${PART}`),
      ([a, from, b, to], clock) => {
        const last = ofPart(b === undefined ? undefined : Number(b), to, clock);
        return last && { ...last, ...ofPart(Number(a), from, clock), toMs: last.toMs };
      },
    ],
    [
      form('(?:between |since )?D(\\d+) until D(\\d+)'),
      ([a, b], clock) => ofDays(Number(a), Number(b), clock),
    ],
    [
      form(`n(\\d+) (day|week) ago|ago n(\\d+) (day|week)`),
      ([a, b, c, d], clock) => {
        const day = today(clock) - Number(a ?? c) * ((b ?? d) === 'week' ? 7 : 1);
        return ofDays(day, day, clock);
      },
    ],
    [form(`(?:last|ago|since) n(\\d+) ${UNIT}`), ([n, unit], clock) => rolling(n, unit, clock)],
    [form(`n(\\d+) ${UNIT} (?:ago|last)`), ([n, unit], clock) => rolling(n, unit, clock)],
    [form('(?<!the )last week|week last(?! n)'), (_, clock) => ofWeek(-1, clock)],
    [form('(?<!the )last month|month last(?! n)'), (_, clock) => ofMonth(-1, clock)],
    [form(`(?:the )?(?:last|ago) ${UNIT}`), ([unit], clock) => rolling('1', unit, clock)],
    [form('this week'), (_, clock) => ofWeek(0, clock)],
    [form('this month'), (_, clock) => ofMonth(0, clock)],
    [form('last quarter|quarter last'), (_, clock) => ofQuarter(-1, clock)],
    [form('this quarter'), (_, clock) => ofQuarter(0, clock)],
    [form('q([1-4])'), ([quarter], clock) => ofNamedQuarter(Number(quarter), clock)],
    [
      form(`since(?: _)?(?: D(\\d+))?${ANY_PART}(?: at)? t(\\d+)(?: D(\\d+))?`),
      ([a, t, b], clock) => between(lastTime(a ?? b, t, clock), undefined, clock),
    ],
    // “We released it at 10:30, any errors since?”
    [
      form('(?:D(\\d+) )?at t(\\d+)(?: _)* since'),
      ([day, t], clock) => between(lastTime(day, t, clock), undefined, clock),
    ],
    [
      form(`(?:D(\\d+)${ANY_PART} (?:at )?|at )t(\\d+)(?: D(\\d+))?`),
      ([a, t, b], clock) => {
        const time = lastTime(a ?? b, t, clock);
        return between(time - 15 * MINUTE_MS, time + 30 * MINUTE_MS, clock);
      },
    ],
    [
      form(`since (?:(?:this|last) )?(?:D(\\d+) )?${PART}`),
      ([day, part], clock) =>
        untilNow(ofPart(day === undefined ? undefined : Number(day), part, clock), clock),
    ],
    [
      form('(?:(last|this) )?weekend(?: (last))?'),
      ([a, b], clock) => ofWeekend((a ?? b) === 'last', clock),
    ],
    [form(`D(\\d+) ${PART}`), ([day, part], clock) => ofPart(Number(day), part, clock)],
    [form(`${PART} (?:_ )?D(\\d+)`), ([part, day], clock) => ofPart(Number(day), part, clock)],
    [form(`(?:(?:last|this) )?${PART}`), ([part], clock) => ofPart(undefined, part, clock)],
    [form('since D(\\d+)'), ([day], clock) => between(at(Number(day)), undefined, clock)],
    [form('D(\\d+)'), ([day], clock) => ofDays(Number(day), Number(day), clock)],
    [form('mon(\\d+)'), ([month], clock) => ofNamedMonth(Number(month), clock)],
    [form('recently'), (_, clock) => rolling('24', 'hour', clock)],
    [form('ever'), (_, { nowMs }) => ({ fromMs: nowMs - MAX_SPAN_MS, toMs: nowMs })],
  ];

function form(source: string): RegExp {
  return new RegExp(`(?<= )(?:${source})(?= )`);
}

/** “Than yesterday”, “this week and last week”. */
const THAN = / (?:than|this (?:week|month)) $/;

/** The time that a question is about; `undefined` if it names none. Pure. */
export function spanIn(
  terms: readonly Term[],
  words: readonly Word[],
  clock: ZoneClock,
): FoundSpan | undefined {
  const line = lineOf(terms, words, clock);
  for (const [pattern, read] of FORMS) {
    const found = pattern.exec(line);
    const span = found && read(found.slice(1), clock);
    if (!span || !(span.fromMs < Math.min(span.toMs, clock.nowMs))) continue;
    const toMs = Math.min(span.toMs, clock.nowMs);
    const isThan = THAN.test(line.slice(0, found.index));
    return { fromMs: Math.max(span.fromMs, toMs - MAX_SPAN_MS), toMs, isThan };
  }
  return undefined;
}

/** The time of the same length behind a span, as far as it is over; the span itself if there is none. Pure. */
export function spanBehind(span: Span, nowMs: number): Span {
  const { fromMs, toMs } = span;
  return toMs < nowMs ? { fromMs: toMs, toMs: Math.min(nowMs, toMs + (toMs - fromMs)) } : span;
}

const UNTIL = form(
  'until (?:(tomorrow|morning) |wd(\\d) )?(?:morning )?(?:at )?t(\\d+)(?: (tomorrow))?|until (?:(tomorrow|morning)|wd(\\d))',
);
/** “Until tomorrow” and “until Monday” mean 9:00. */
const WORK_BEGINS = 9 * 60;

const LENGTHS = new RegExp(`(?<= )n(\\d+) ${UNIT}(?= )`, 'g');
const ONE = form(UNIT);
const AHEAD = form(`next (?:n(\\d+) )?${UNIT}`);
const REST = form('this (week|month|year)');
const WHOLE: Record<string, typeof ofWeek> = { week: ofWeek, month: ofMonth, year: ofYear };

/** The end of a time that begins now, such as “for 2 hours” or “until tomorrow 9:00”. Pure. */
export function endIn(
  terms: readonly Term[],
  words: readonly Word[],
  clock: ZoneClock,
): number | undefined {
  const line = writtenLine(terms, words);
  const found = UNTIL.exec(line);
  if (!found) {
    const lengths = [...line.matchAll(LENGTHS)].map(([, n, unit]) => Number(n) * unitMs(unit));
    // “For an hour”, but not “for half an hour”.
    const isHalf = words.some(({ text }) => /^(?:half|halbe|media|quarter)/.test(text));
    const [, one] = (isHalf ? undefined : ONE.exec(line)) ?? [];
    const ms = lengths.length > 0 ? lengths.reduce((sum, length) => sum + length, 0) : unitMs(one);
    return ms > 0 ? clock.nowMs + ms : undefined;
  }
  const [, a, wdA, t, b, c, wdB] = found;
  const weekday = wdA ?? wdB;
  const now = today(clock);
  const ahead =
    weekday === undefined
      ? Number((a ?? b ?? c) !== undefined)
      : ((Number(weekday) - weekdayOf(now) + 6) % 7) + 1;
  const endMs = firstAtMs(clock.zone, at(now + ahead, t ?? WORK_BEGINS));
  return endMs > clock.nowMs ? endMs : endMs + DAY_MS;
}

const FROM_TO = form('t\\d+ (?:until|_) (?:at )?t\\d+|(?:since|between) t\\d+');
const LATER = form('(?<!until (?:at )?(?:t\\d+ |next |morning )?)(?:tomorrow|wd\\d)');

/** True for “from 18:00 to 20:00” and “tomorrow for 2 hours”. Pure. */
export const beginsLater = (terms: readonly Term[], words: readonly Word[]) =>
  [FROM_TO, LATER].some((one) => one.test(writtenLine(terms, words)));

/** A length of time ahead, such as “in the next 2 weeks”. Pure. */
export function aheadIn(
  terms: readonly Term[],
  words: readonly Word[],
  clock: ZoneClock,
): number | undefined {
  const line = writtenLine(terms, words);
  const [, n = '1', unit] = AHEAD.exec(line) ?? [];
  if (unit !== undefined) return Number(n) * unitMs(unit);
  const [, whole = ''] = REST.exec(line) ?? [];
  const span = WHOLE[whole]?.(0, clock);
  return span ? span.toMs - clock.nowMs : undefined;
}

const unitMs = (unit = '') => UNIT_MS[unit] ?? 0;

function writtenLine(terms: readonly Term[], words: readonly Word[]): string {
  // “The last week”, but not “the Shop last week”, whose name is no term.
  const isNext = (at: number) => terms[at + 1]?.from === terms[at]?.to;
  const texts = terms.flatMap((term, at) =>
    written(term, words).filter(
      (one) => one !== 'the' || term.concepts.includes('last') || isNext(at),
    ),
  );
  const line = ` ${texts.join(' ')} `;
  return withClocks(line.replace(/ the(?! last)/g, '').replace(THIS_TO_LAST, '$2 $1'));
}

/** “This week compared to last”. */
const THIS_TO_LAST = /(?<= this (week|month|quarter) )(than last)(?! (?:week|month|quarter))/g;

const DAY_BEHIND = '(?= (?:$|this|morning|night|today|yesterday|tomorrow|wd\\d|date|_))';
/** “At 9 in the evening”, “yesterday evening at 9”. */
const LATE =
  / t(\d+)(?=(?: until t\d+)?(?: (?:this|today|yesterday|wd\d))* (?:afternoon|evening|night))|(?<= (?:afternoon|evening|night)(?: at)?) t(\d+)/g;
const HOURS = new RegExp(` (between|since) n(\\d{1,2}) until n(\\d{1,2})${DAY_BEHIND}`, 'g');
const HOUR = new RegExp(` (since|until|at|tomorrow|morning|until wd\\d) n(\\d+)${DAY_BEHIND}`, 'g');

/** Writes hours as times of day: “14 Uhr”, “between 2 and 4pm”, “since 9”. */
function withClocks(line: string): string {
  const clock = (hour: string) => `t${Number(hour) * 60}`;
  return line
    .replace(/ n(\d\d?)(?= (?:until|at|_) n\d\d? oclock)/g, ' n$1 oclock')
    .replace(/ n(\d\d?) oclock/g, (_, hour) => (hour < 24 ? ` ${clock(hour)}` : ' _'))
    .replaceAll(' oclock', '')
    .replace(/ n(\d{1,2}) (until|_) t(\d+)(?= )/g, (all, hour, word, to) => {
      if (Number(hour) > 12) return all;
      const minute =
        (Number(hour) % 12) * 60 + (Number(to) >= DAY_MINUTES / 2 ? DAY_MINUTES / 2 : 0);
      return ` t${minute < Number(to) ? minute : minute - DAY_MINUTES / 2} ${word} t${to}`;
    })
    .replace(HOURS, (all, word, a, b) =>
      Number(b) > 24 ? all : ` ${word} ${clock(a)} until ${clock(b)}`,
    )
    .replace(HOUR, (all, word, hour) => (Number(hour) > 24 ? all : ` ${word} ${clock(hour)}`))
    .replace(LATE, (all, before, behind) => {
      const minute = Number(before ?? behind);
      return minute < DAY_MINUTES / 2 ? ` t${minute + DAY_MINUTES / 2}` : all;
    });
}

/** A term as the forms read it. */
function written(term: Term, words: readonly Word[]): string[] {
  const { from, to, concepts, group } = term;
  const text = words[from]?.text ?? '';
  const minute = minuteOf(text);
  if (minute !== undefined) return [`t${minute}`];
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return [`iso${text}`];
  const [, day, month, year = ''] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})?$/.exec(text) ?? [];
  if (month !== undefined)
    return [`n${day}`, `mon${Number(month) - 1}`, ...(year ? [`n${year}`] : [])];
  if (/^\d+(?:st|nd|rd|th)$/.test(text)) return [`date${Number.parseInt(text, 10)}`];
  if (/^q[1-4]$/.test(text)) return [text];
  if (/^\d{4}$/.test(text)) return [`n${text}`];
  const number = numberOf(term, words);
  if (number !== undefined) return [`n${number}`];
  if (concepts.includes('months')) return [`mon${group}`];
  if (text === 'the' && to - from === 1) return ['the'];
  // “The past week” and “the last week” are seven days, “last week” is Monday to Sunday.
  if (concepts.includes('last') && /^(?:past|ultim|vergang)/.test(text)) return ['the', 'last'];
  const isFiller = concepts.includes('filler');
  // “De” begins a range in Spanish, and is everywhere else, too.
  if (isFiller && concepts.includes('between')) return [];
  const word = WRITTEN.find((one) => concepts.includes(one));
  const day2 = concepts.includes('weekdays') ? [`wd${group}`] : [];
  if (word !== undefined || day2.length > 0)
    return [...day2, ...(word === undefined ? [] : [word])];
  return isFiller ? [] : ['_'];
}

const CLOCKS: Record<string, string> = { midnight: '0:00', noon: '12:00' };

/** Minute of the day. */
function minuteOf(word: string): number | undefined {
  const text = CLOCKS[word] ?? word;
  const [, hours, minutes = '0', half] = /^(\d{1,2})(?::(\d{2}))?\s?([ap]m)?$/.exec(text) ?? [];
  if (hours === undefined || (half === undefined && !text.includes(':'))) return undefined;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half === 'pm' ? 12 : 0);
  return hour < 24 && Number(minutes) < 60 ? hour * 60 + Number(minutes) : undefined;
}

/** The written line with each day as its number. */
function lineOf(terms: readonly Term[], words: readonly Word[], clock: ZoneClock): string {
  const now = today(clock);
  const relative: Record<string, number> = { today: now, yesterday: now - 1, dayBefore: now - 2 };
  const weekday = (wd: string) => now - ((weekdayOf(now) - Number(wd) + 7) % 7);
  const date = (day: string, month: string, year: string | undefined) => {
    const thisYear = new Date(now * DAY_MS).getUTCFullYear();
    const found = dayNumber(Number(year ?? thisYear), Number(month), Number(day));
    return year === undefined && found > now
      ? dayNumber(thisYear - 1, Number(month), Number(day))
      : found;
  };
  const ofThisMonth = (day: string) => {
    const month = new Date(now * DAY_MS).getUTCMonth();
    const year = new Date(now * DAY_MS).getUTCFullYear();
    return dayNumber(
      year,
      Number(day) > new Date(now * DAY_MS).getUTCDate() ? month - 1 : month,
      Number(day),
    );
  };
  return writtenLine(terms, words)
    .replace(/ (?:n|date)(\d+)(?= (?:until|_) (?:n|date)\d+ mon(\d+))/g, ' n$1 mon$2')
    .replace(
      / iso(\d+)-(\d+)-(\d+)/g,
      (_, y, m, d) => ` D${dayNumber(Number(y), m - 1, Number(d))}`,
    )
    .replace(/ (?:n|date)(\d+) mon(\d+)(?: n(\d{4}))?/g, (_, d, m, y) => ` D${date(d, m, y)}`)
    .replace(
      / mon(\d+) (?:n|date)(\d{1,2})(?= )(?: n(\d{4}))?/g,
      (_, m, d, y) => ` D${date(d, m, y)}`,
    )
    .replace(/ date(\d+)/g, (_, d) => ` D${ofThisMonth(d)}`)
    .replace(/ wd\d(?= D\d)|(?<= D\d+) wd\d/g, '')
    .replace(
      / (?:last wd(\d)|wd(\d) last(?! (?:n\d|week|month)))/g,
      (_, a, b) => ` D${weekday(a ?? b) === now ? now - 7 : weekday(a ?? b)}`,
    )
    .replace(/ wd(\d)(?: last)?/g, (_, wd) => ` D${weekday(wd)}`)
    .replace(/ (today|yesterday|dayBefore)(?= )/g, (_, word) => ` D${relative[word]}`);
}

/** Months from 0; NaN if there is no such day. */
function dayNumber(year: number, month: number, day: number): number {
  const ms = Date.UTC(year, month, day);
  return new Date(ms).getUTCDate() === day ? ms / DAY_MS : Number.NaN;
}

const weekdayOf = (day: number) => (((day + 4) % 7) + 7) % 7;

/** Today in the channel's calendar. */
const today = ({ zone, nowMs }: ZoneClock) => Math.floor(wallMs(zone, nowMs) / DAY_MS);

/** A minute of a day on the channel's clocks, as `wallMs` writes it. */
const at = (day: number, minute: string | number = 0) => day * DAY_MS + Number(minute) * MINUTE_MS;

/** A span between two times of the channel's clocks; without an end, until now. */
function between(
  from: number,
  to: number | undefined,
  { zone, nowMs }: ZoneClock,
): Span | undefined {
  if (Number.isNaN(from) || Number.isNaN(to)) return undefined;
  return { fromMs: firstAtMs(zone, from), toMs: to === undefined ? nowMs : firstAtMs(zone, to) };
}

const ofDays = (first: number, last: number, clock: ZoneClock) =>
  between(at(first), at(last + 1), clock);

function rolling(count: string | undefined, unit = '', { nowMs }: ZoneClock): Span | undefined {
  const ms = unitMs(unit) * Number(count);
  return ms > 0 ? { fromMs: nowMs - ms, toMs: nowMs } : undefined;
}

/** Monday to Sunday. */
function ofWeek(weeks: number, clock: ZoneClock): Span | undefined {
  const now = today(clock);
  const monday = now - ((weekdayOf(now) + 6) % 7) + 7 * weeks;
  return ofDays(monday, monday + 6, clock);
}

function ofMonth(months: number, clock: ZoneClock): Span | undefined {
  const date = new Date(today(clock) * DAY_MS);
  const first = (add: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + add, 1);
  return between(first(months), first(months + 1), clock);
}

function ofYear(years: number, clock: ZoneClock): Span | undefined {
  const year = new Date(today(clock) * DAY_MS).getUTCFullYear() + years;
  return between(Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1), clock);
}

function ofQuarter(quarters: number, clock: ZoneClock): Span | undefined {
  const date = new Date(today(clock) * DAY_MS);
  const month = 3 * (Math.floor(date.getUTCMonth() / 3) + quarters);
  return between(
    Date.UTC(date.getUTCFullYear(), month, 1),
    Date.UTC(date.getUTCFullYear(), month + 3, 1),
    clock,
  );
}

/** This year's, or last year's if it hasn't begun. */
function ofNamedQuarter(quarter: number, clock: ZoneClock): Span | undefined {
  const now = 1 + Math.floor(new Date(today(clock) * DAY_MS).getUTCMonth() / 3);
  return ofQuarter(quarter - now - (quarter > now ? 4 : 0), clock);
}

/** This year's, or last year's if it hasn't begun. */
function ofNamedMonth(month: number, clock: ZoneClock): Span | undefined {
  const now = new Date(today(clock) * DAY_MS).getUTCMonth();
  return ofMonth(month - now - (month > now ? 12 : 0), clock);
}

/** The current weekend or else the last one. */
function ofWeekend(isLast: boolean, clock: ZoneClock): Span | undefined {
  const now = today(clock);
  const sinceSaturday = (weekdayOf(now) + 1) % 7;
  const saturday = now - sinceSaturday - (isLast && sinceSaturday < 2 ? 7 : 0);
  return ofDays(saturday, saturday + 1, clock);
}

const untilNow = (span: Span | undefined, { nowMs }: ZoneClock): Span | undefined =>
  span && { ...span, toMs: nowMs };

/** Without a day, today's part if it has begun, otherwise yesterday's. */
function ofPart(day: number | undefined, part = '', clock: ZoneClock): Span | undefined {
  const [from = Number.NaN, to = Number.NaN] = PARTS[part] ?? [];
  const on = (one: number) => between(at(one) + from * HOUR_MS, at(one) + to * HOUR_MS, clock);
  const found = on(day ?? today(clock));
  const hasBegun = found !== undefined && found.fromMs < clock.nowMs;
  return day !== undefined || hasBegun ? found : on(today(clock) - 1);
}

/** A minute of a day; without a day, of today or yesterday, whichever was last. */
function lastTime(day: string | undefined, minute: string | undefined, clock: ZoneClock): number {
  const found = at(Number(day ?? today(clock)), minute);
  return day === undefined && found >= wallMs(clock.zone, clock.nowMs) ? found - DAY_MS : found;
}

/** `on 26 Nov 2026 (UTC)`, `from 20 Nov 2026 to 26 Nov 2026 (UTC)`, with times if it isn't whole days. Pure. */
export function spanInWords({ fromMs, toMs }: Span, { zone, nowMs }: ZoneClock): string {
  const [from, to] = [wallMs(zone, fromMs), wallMs(zone, toMs)];
  const isWhole = from % DAY_MS === 0 && (to % DAY_MS === 0 || toMs === nowMs);
  if (!isWhole) return `from ${timeInWords(fromMs)} to ${timeInWords(toMs)}`;
  const [first, last] = [dayInWords(from), dayInWords(to - 1)];
  return `${first === last ? `on ${first}` : `from ${first} to ${last}`} (${zone})`;
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** `26 Nov 2026`. */
export function dayInWords(ms: number): string {
  const date = new Date(ms);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

/** Platforms show it in the reader's zone. */
const timeInWords = (ms: number) =>
  `${dayInWords(ms)} ${new Date(ms).toISOString().slice(11, 16)} UTC`;
