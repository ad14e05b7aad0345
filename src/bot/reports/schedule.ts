import { firstAtMs, wallMs, wallWords } from '../../contracts/wall-time.ts';
import type { ReportSchedule } from '../channels/channel-settings.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;

/** A report that is later than this is skipped: the next one comes soon. */
export const MAX_LATE_MS = DAY_MS;

type Every = ReportSchedule['every'];

/** The span of a report. */
export interface ReportSpan {
  every: Every;
  zone: string;
  /** Only on monitors with any of them. */
  tags?: string[];
  /** True for the time up to now, instead of a period of the calendar. */
  isSoFar?: boolean;
  /** Start of the span before, which ends where this one begins. */
  beforeMs: number;
  /** Starts of its hours or days in order, then its end. */
  cuts: readonly [number, ...number[]];
}

export const fromMsOf = ({ cuts }: ReportSpan) => cuts[0];
export const toMsOf = ({ cuts }: ReportSpan) => cuts.at(-1) ?? cuts[0];

/** A report and its time. */
export interface DueReport {
  dueMs: number;
  span: ReportSpan;
}

/** The last report that is due by now; `undefined` if it was due before the schedule was set, or too long ago. Pure. */
export function dueReport(schedule: ReportSchedule, nowMs: number): DueReport | undefined {
  const dues = duesAround(schedule, nowMs).filter(({ dueMs }) => dueMs <= nowMs);
  const last = dues.at(-1);
  if (!last || last.dueMs <= schedule.setAtMs || nowMs - last.dueMs >= MAX_LATE_MS)
    return undefined;
  return { dueMs: last.dueMs, span: spanOf(schedule, last) };
}

export function nextDueMs(schedule: ReportSchedule, nowMs: number): number {
  const next = duesAround(schedule, nowMs).find(({ dueMs }) => dueMs > nowMs);
  // There always is one: `duesAround` returns two after now.
  return next?.dueMs ?? nowMs + DAY_MS;
}

/** The last 24 hours, 7 or 30 days. Pure. */
export function spanSoFar(every: Every, zone: string, nowMs: number): ReportSpan {
  const stepMs = every === 'daily' ? HOUR_MS : DAY_MS;
  const count = { daily: 24, weekly: 7, monthly: 30 }[every];
  const fromMs = nowMs - count * stepMs;
  const later = Array.from({ length: count }, (_, at) => fromMs + (at + 1) * stepMs);
  return {
    every,
    zone,
    isSoFar: true,
    beforeMs: fromMs - count * stepMs,
    cuts: [fromMs, ...later],
  };
}

/** A report of the calendar around now. */
interface CalendarReport {
  dueMs: number;
  /** Wall time of its day; see `wallMs`. */
  day: number;
  /** Number of periods after the current one. */
  turn: number;
}

/** Reports around now, in order. A day that a zone skips has none. */
function duesAround({ every, minute, zone }: ReportSchedule, nowMs: number): CalendarReport[] {
  const today = dayOf(wallMs(zone, nowMs));
  const days = [-2, -1, 0, 1, 2].map((turn) => ({ turn, day: turned(every, today, turn) }));
  return days
    .filter(({ day }) => firstAtMs(zone, day) < firstAtMs(zone, day + DAY_MS))
    .map(({ turn, day }) => ({ turn, day, dueMs: firstAtMs(zone, day + minute * MINUTE_MS) }));
}

/** The period of the calendar that ends with the start of the report's day. */
function spanOf(
  { every, zone, tags }: ReportSchedule,
  { day }: Pick<CalendarReport, 'day'>,
): ReportSpan {
  const begins = (one: number) => firstAtMs(zone, one);
  const from = turned(every, day, -1);
  const fromMs = begins(from);
  const toMs = begins(day);
  const inside =
    every === 'daily'
      ? steps(fromMs, toMs, HOUR_MS)
      : steps(from, day, DAY_MS)
          .map(begins)
          .filter((atMs) => atMs > fromMs);
  const later = [...new Set([...inside, toMs])];
  return { every, zone, tags, beforeMs: begins(turned(every, from, -1)), cuts: [fromMs, ...later] };
}

/** Moments between two others, at equal steps from the first. */
const steps = (fromMs: number, toMs: number, stepMs: number) =>
  Array.from(
    { length: Math.ceil((toMs - fromMs) / stepMs) - 1 },
    (_, at) => fromMs + (at + 1) * stepMs,
  );

const dayOf = (wall: number) => Math.floor(wall / DAY_MS) * DAY_MS;

/** First day of the period that is `turns` after the one with this day; days as `wallMs` returns them. */
function turned(every: Every, day: number, turns: number): number {
  if (every === 'daily') return day + turns * DAY_MS;
  const date = new Date(day);
  if (every === 'monthly') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + turns, 1);
  const sinceMonday = (date.getUTCDay() + 6) % 7;
  return day + (7 * turns - sinceMonday) * DAY_MS;
}

/** Time of the next report: `2026-11-30 09:00 (Europe/Berlin)`. Pure. */
export const nextInWords = (schedule: ReportSchedule, nowMs: number) =>
  `${wallWords(schedule.zone, nextDueMs(schedule, nowMs))} (${schedule.zone})`;
