import { DAY_MS, dateOf, dayOf, isoDay, weekdayOf } from './days.ts';
import type { DayKind, Grammar, SpanKind, Unit } from './languages/grammar.ts';
import {
  createTemplates,
  matchOf,
  oneOf,
  oneWord,
  type Template,
  wordLike,
  wordsOf,
} from './templates.ts';

/** A time to look at, as tools take it. */
export interface AskedSpan {
  last?: string;
  from?: string;
  to?: string;
}

/** A day that was read; `guessed` where its year was not said and is not this one. */
interface ReadDay {
  day: number;
  kind: DayKind;
  guessed?: boolean;
}

/** Days that anything is kept. */
const MAX_DAYS = 400;

const DAYS_OF: Partial<Record<Unit, number>> = { m: 1 / 1440, h: 1 / 24, d: 1, w: 7 };

/** Spans for a unit without a number, such as “the past week”. */
const LAST_ONE: Partial<Record<Unit, string>> = {
  m: '1m',
  h: '1h',
  d: '24h',
  w: '7d',
  month: '30d',
};

/** Creates the reader of times in one language. */
export function createSpanReader(grammar: Grammar) {
  const { macros } = grammar;
  const months = grammar.months.map(wordsOf);
  const weekdays = grammar.weekdays.map(wordsOf);
  const units = (Object.entries(grammar.units) as Array<[Unit, string]>).map(
    ([unit, words]) => [unit, wordsOf(words)] as const,
  );
  const numbers = Object.entries(grammar.numbers).map(
    ([word, value]) => [value, wordsOf(word)] as const,
  );
  const unit = oneWord(Object.values(grammar.units).join('|'));
  const n = oneOf([wordLike(/^\d{1,3}$/), oneWord(Object.keys(grammar.numbers).join('|'))]);
  const slots = {
    ...{ n, unit },
    weekday: oneWord(grammar.weekdays.join('|')),
    d: wordLike(/^\d{1,2}(?:\.|st|nd|rd|th)?$/),
    month: oneWord(grammar.months.join('|')),
    year: wordLike(/^\d{4}$/),
    iso: wordLike(/^\d{4}-\d{2}-\d{2}$/),
    dm: wordLike(grammar.dayAndMonth),
    time: wordLike(/^\d{1,2}:\d{2}$/),
  };
  const dayTemplates = templates(grammar.days, createTemplates({ macros, slots }));
  const day = oneOf(dayTemplates.map(([, template]) => template));
  const spanTemplates = templates(
    grammar.spans,
    createTemplates({ macros, slots: { ...slots, day, day2: day } }),
  );

  /** A number in figures or as a word. */
  function readNumber(text: string): number | undefined {
    if (/^\d+$/.test(text)) return Number(text);
    return numbers.find(([, words]) => words.has(text))?.[0];
  }

  const readUnit = (text: string) => units.find(([, words]) => words.has(text))?.[0];

  function readDay(text: string, nowMs: number): ReadDay | undefined {
    const today = dayOf(nowMs);
    for (const [kind, template] of dayTemplates) {
      const match = textsOf(template, text.split(' '));
      if (!match) continue;
      const found = match.slots;
      if (kind === 'today') return { kind, day: today };
      if (kind === 'yesterday') return { kind, day: today - 1 };
      if (kind === 'beforeYesterday') return { kind, day: today - 2 };
      const named = found.weekday;
      if (named !== undefined) {
        const back = (weekdayOf(today) - weekdays.findIndex((words) => words.has(named)) + 7) % 7;
        // On a Monday, “Monday” can be today or a week ago.
        if (back === 0 && kind === 'weekday') continue;
        return { kind, day: today - (back || 7) };
      }
      const read = readDate(found, today, months);
      if (read) return { kind, ...read };
    }
    return undefined;
  }

  /** The longest time that words begin with, and how many of them it takes. */
  function spanAt(words: readonly { folded: string }[], nowMs: number) {
    const line = words.map((word) => word.folded);
    let longest: { span: AskedSpan; length: number } | undefined;
    for (const [kind, template] of spanTemplates) {
      const found = textsOf(template, line, { isWhole: false });
      if (!found || found.length <= (longest?.length ?? 0)) continue;
      const span = spanOf(kind, found.slots, nowMs);
      if (span) longest = { span, length: found.length };
    }
    return longest;
  }

  function spanOf(
    kind: SpanKind,
    found: Record<string, string>,
    nowMs: number,
  ): AskedSpan | undefined {
    const today = dayOf(nowMs);
    const monday = today - ((weekdayOf(today) + 6) % 7);
    const now = new Date(nowMs);
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
    const firstOf = (months: number) => dayOf(Date.UTC(year, month + months, 1));
    const unitOf = readUnit(found.unit ?? '');
    if (kind === 'lastOne')
      return unitOf && LAST_ONE[unitOf] ? { last: LAST_ONE[unitOf] } : undefined;
    if (kind === 'lastCount') {
      const count = readNumber(found.n ?? '') ?? 0;
      if (count === 0 || unitOf === undefined) return undefined;
      if (unitOf === 'month') {
        const from = dateOf(...monthsBefore(year, month, count), now.getUTCDate());
        return from !== undefined && today - from <= MAX_DAYS ? { from: text(from) } : undefined;
      }
      const days = (DAYS_OF[unitOf] ?? Number.NaN) * count;
      return days <= MAX_DAYS ? { last: `${count}${unitOf}` } : undefined;
    }
    if (kind === 'thisWeek') return { from: text(monday) };
    if (kind === 'lastWeek') return { from: text(monday - 7), to: text(monday - 1) };
    if (kind === 'thisMonth') return { from: text(firstOf(0)) };
    if (kind === 'lastMonth') return { from: text(firstOf(-1)), to: text(firstOf(0) - 1) };
    if (kind === 'sinceTime') return sinceTime(found.time ?? '', nowMs);
    const first = readDay(found.day ?? '', nowMs);
    if (kind === 'on' || kind === 'since') {
      if (!first) return undefined;
      const from = text(first.day);
      return kind === 'since' || first.day === today ? { from } : { from, to: from };
    }
    const last = readDay(found.day2 ?? '', nowMs);
    const from = found.d === undefined ? first?.day : sameMonth(found.d, last);
    if (from === undefined || !last || from >= last.day) return undefined;
    return { from: text(from), to: text(last.day) };
  }

  return { slots: { n, unit }, spanAt, readNumber, readUnit };
}

/** Reads a date in figures, or as a day and the name of a month. */
function readDate(
  { iso, dm, d, month, year }: Record<string, string>,
  today: number,
  months: ReadonlyArray<ReadonlySet<string>>,
): { day: number; guessed?: boolean } | undefined {
  const figures = (iso ?? dm)?.match(/\d+/g)?.map(Number);
  const [first = 0, second = 0, third] = figures ?? [
    Number.parseInt(d ?? '', 10),
    months.findIndex((words) => words.has(month ?? '')) + 1,
    ...(year === undefined ? [] : [Number(year)]),
  ];
  if (iso !== undefined) return past(dateOf(first, second, third ?? 0), today);
  if (third !== undefined) return past(dateOf(third, second, first), today);
  const thisYear = new Date(today * DAY_MS).getUTCFullYear();
  return (
    past(dateOf(thisYear, second, first), today) ??
    past(dateOf(thisYear - 1, second, first), today, { guessed: true })
  );
}

/** The words of each slot of a template that matches, and of how many words it is. */
function textsOf(template: Template, words: readonly string[], options?: { isWhole: boolean }) {
  const match = matchOf(template, words, options);
  if (!match) return undefined;
  const slots: Record<string, string> = Object.fromEntries(
    match.slots.map(({ name, from, to }) => [name, words.slice(from, to).join(' ')]),
  );
  return { slots, length: match.length };
}

const templates = <K extends string>(
  byKind: Record<K, string[]>,
  parse: (text: string) => Template,
) =>
  (Object.entries(byKind) as Array<[K, string[]]>).flatMap(([kind, all]) =>
    all.map((one) => [kind, parse(one)] as const),
  );

const text = (day: number) => isoDay(day * DAY_MS);

const past = (day: number | undefined, today: number, more: { guessed?: boolean } = {}) =>
  day !== undefined && day <= today ? { day, ...more } : undefined;

/** A day of the month in which another is, which must be a date of a year that is sure. */
function sameMonth(d: string, last: ReadDay | undefined): number | undefined {
  if (last?.kind !== 'date' || last.guessed) return undefined;
  const date = new Date(last.day * DAY_MS);
  return dateOf(date.getUTCFullYear(), date.getUTCMonth() + 1, Number.parseInt(d, 10));
}

/** Year and month, from 1. */
function monthsBefore(year: number, month: number, count: number): [number, number] {
  const all = year * 12 + month - count;
  return [Math.floor(all / 12), (all % 12) + 1];
}

function sinceTime(time: string, nowMs: number): AskedSpan | undefined {
  const [hours = Number.NaN, minutes = Number.NaN] = time.split(':').map(Number);
  const fromMs = dayOf(nowMs) * DAY_MS + (hours * 60 + minutes) * 60_000;
  if (hours > 23 || minutes > 59 || !(fromMs < nowMs)) return undefined;
  return { from: new Date(fromMs).toISOString() };
}
